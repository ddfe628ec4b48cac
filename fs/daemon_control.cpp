// The daemon's side of the commands that ask it for something.
#include <filesystem>
#include <spdlog/spdlog.h>

#include "fs/daemon.h"
#include "fs/order_file.h"
#include "fs/test_hooks.h"
#include "fs/version.h"

namespace winnow {

namespace {

// A hint outlives the worker that took it.
void keep_copy(const std::string& from, const std::string& to) {
  std::error_code error;
  const std::string beside = to + ".new";
  std::filesystem::copy_file(from, beside, std::filesystem::copy_options::overwrite_existing, error);
  if (!error) std::filesystem::rename(beside, to, error);
  if (error) spdlog::warn("{} cannot be kept for the next worker: {}", from, error.message());
}

}  // namespace

nlohmann::json Daemon::control(const nlohmann::json& request) {
  const std::string command = request.value("command", "");
  if (command == "refresh") return refresh();
  if (command == "record") return record(request);
  if (command == "record_stop") return to_json(recorder_->stop());
  if (command == "hint") return hint(request);
  if (command == "warm") return warm(request);
  if (command == "warm-cancel") {
    warm_->cancel();
    return nlohmann::json::object();
  }
  if (command == "invalidate" && test_hook("WINNOW_TEST_INVALIDATE") != nullptr) return invalidate(request);
  if (command == "unmount") {
    const std::string kind = request.value("kind", "plain");
    unmount(kind == "lazy"    ? UnmountKind::kLazy
            : kind == "force" ? UnmountKind::kForce
                              : UnmountKind::kPlain);
    return nlohmann::json::object();
  }
  throw StartupError("this daemon (" + std::string(kVersion) + ") does not know the command '" + command +
                     "'");
}

// For tests only: a notification for a page that a READ may have locked.
nlohmann::json Daemon::invalidate(const nlohmann::json& request) {
  const NodeId node{request.value("node", std::uint64_t{0})};
  notifications_->submit(WorkerPool::Urgency::kDemand, 0, [this, node] { kernel_->invalidate_node(node); });
  return nlohmann::json::object();
}

// A path may hold any bytes, so it comes as numbers.
nlohmann::json Daemon::record(const nlohmann::json& request) {
  const auto file = request.at("file").get<std::vector<std::uint8_t>>();
  recorder_->start({file.begin(), file.end()}, request.value("limit_bytes", AccessRecorder::kDefaultLimit));
  return nlohmann::json::object();
}

nlohmann::json Daemon::hint(const nlohmann::json& request) {
  const std::string kind = request.value("kind", "");
  const std::string file = request.value("file", "");
  if (kind == "scores") {
    const std::size_t files = take_scores(file);
    keep_copy(file, state_.scores_path());
    return {{"files", files}};
  }
  if (kind == "order" && options_.prefetch == 0)
    throw StartupError("this mount fetches nothing ahead (--prefetch 0), so no order can be followed; mount it with --prefetch 32");
  const std::lock_guard lock(order_mutex_);
  if (kind == "order") {
    const std::size_t files = follow_order(file);
    keep_copy(file, state_.order_path());
    return {{"files", files}};
  }
  prefetch_->declare({});
  std::error_code ignored;
  std::filesystem::remove(state_.order_path(), ignored);
  return {{"files", 0}};
}

std::size_t Daemon::follow_order(const std::string& file) {
  std::vector<SampleId> order = read_order(file, *snapshots_->tree(), options_.mountpoint);
  const std::size_t files = order.size();
  prefetch_->declare(std::move(order));
  return files;
}

// The next worker must not begin it again.
void Daemon::forget_ended_order() {
  const std::lock_guard lock(order_mutex_);
  std::error_code ignored;
  if (prefetch_->counts().declared == 0) std::filesystem::remove(state_.order_path(), ignored);
}

std::size_t Daemon::take_scores(const std::string& file) {
  const auto scores = read_scores(file, *snapshots_->tree(), options_.mountpoint);
  for (const auto& [id, importance] : scores) tiers_->set_importance(id, importance);
  return scores.size();
}

// Scores are the data set's; an order was for the mount that ended.
void Daemon::take_up_hints() {
  const std::lock_guard lock(order_mutex_);
  std::error_code ignored;
  if (!inheritance_.succeeds) std::filesystem::remove(state_.order_path(), ignored);
  try {
    if (std::filesystem::exists(state_.scores_path(), ignored)) take_scores(state_.scores_path());
    if (std::filesystem::exists(state_.order_path(), ignored)) follow_order(state_.order_path());
  } catch (const StartupError& error) {  // files went since
    spdlog::warn("an earlier hint no longer fits: {}", error.what());
  }
}

nlohmann::json Daemon::warm(const nlohmann::json& request) {
  WarmOptions options;
  options.order = parse_warm_order(request.value("order", "path"));
  options.fraction = request.value("fraction", 1.0);
  options.check = request.value("check", false);
  options.at_once = std::max(1u, options_.prefetch);
  options.source_timeout = options_.source_timeout;
  if (options.order == WarmOrder::kList)
    options.list = read_order(request.value("list", ""), *snapshots_->tree(), options_.mountpoint);
  const WarmProgress made = warm_->run(options);
  count_shares();  // who looks at the status next must find what was warmed
  return to_json(made);
}

}  // namespace winnow
