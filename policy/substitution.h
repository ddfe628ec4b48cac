// The substitution contract of training mounts: may a read of X be answered with Y? A pure function of facts.
// The answer is the first clause that forbids it, so that it can be counted and logged.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace winnow {

enum class SubstituteFrom { group, same_class };

struct SubstitutionOptions {
  SubstituteFrom from = SubstituteFrom::group;
  double budget = 0.1;             // of each class's reads of an epoch
  std::int64_t recall_epochs = 5;  // within how many X must have been served exactly
};

struct AskedSample {
  bool scored = false;
  bool important = true;  // by the vote; a sample without a score is important
  bool cached = false;    // locally
  std::optional<std::int64_t> label;
  std::uint64_t size = 0;
  bool ends_itself = false;  // its format ignores what follows: JPEG, PNG, GIF, WebP, BMP
  std::optional<std::int64_t> epochs_since_exact;  // nullopt: never served exactly
};

struct OfferedSample {
  bool cached = false;
  bool important = true;
  std::optional<std::int64_t> label;
  std::uint64_t size = 0;
  bool same_group = false;  // as the asked one
  bool ends_itself = false;
};

// The asked class in this epoch; the read being answered counts among `reads`.
struct ClassReads {
  std::uint64_t reads = 0;
  std::uint64_t substituted = 0;
};

enum class SubstitutionVerdict {
  allowed,
  asked_is_important,
  asked_is_cached,
  offered_is_not_cached,
  labels_differ,
  not_in_group,
  offered_is_important,
  offered_is_larger,
  format_does_not_end_itself,
  budget_is_used_up,
  not_exact_for_too_long,
};

SubstitutionVerdict judge_substitution(const AskedSample& asked, const OfferedSample& offered,
                                       const ClassReads& class_reads, const SubstitutionOptions& options);

std::string_view name_of(SubstitutionVerdict verdict);

}  // namespace winnow
