#include "policy/substitution.h"

#include "policy/error.h"

namespace winnow {
namespace {

bool budget_left(const ClassReads& class_reads, double budget) {
  return static_cast<double>(class_reads.substituted + 1) <= budget * static_cast<double>(class_reads.reads);
}

}  // namespace

SubstitutionVerdict judge_substitution(const AskedSample& asked, const OfferedSample& offered,
                                       const ClassReads& class_reads, const SubstitutionOptions& options) {
  using enum SubstitutionVerdict;
  require("substitute", options.budget, kUnit);
  require("recall_epochs", static_cast<double>(options.recall_epochs), kNotNegative);
  if (!asked.scored || asked.important) return asked_is_important;
  if (asked.cached) return asked_is_cached;
  if (!offered.cached) return offered_is_not_cached;
  if (!asked.label || asked.label != offered.label) return labels_differ;
  if (options.from == SubstituteFrom::group && !offered.same_group) return not_in_group;
  if (options.from == SubstituteFrom::same_class && offered.important) return offered_is_important;
  if (offered.size > asked.size) return offered_is_larger;
  if (!asked.ends_itself || !offered.ends_itself) return format_does_not_end_itself;
  if (!budget_left(class_reads, options.budget)) return budget_is_used_up;
  if (!asked.epochs_since_exact || *asked.epochs_since_exact > options.recall_epochs)
    return not_exact_for_too_long;
  return allowed;
}

std::string_view name_of(SubstitutionVerdict verdict) {
  constexpr std::string_view kNames[] = {"allowed",
                                         "asked is important",
                                         "asked is cached",
                                         "offered is not cached",
                                         "labels differ",
                                         "not in group",
                                         "offered is important",
                                         "offered is larger",
                                         "format does not end itself",
                                         "budget is used up",
                                         "not exact for too long"};
  return kNames[static_cast<std::size_t>(verdict)];
}

}  // namespace winnow
