// What the daemon does by itself, on a thread of its own: refreshes, audits, counts.
#include <spdlog/spdlog.h>

#include <algorithm>

#include "fs/daemon.h"

namespace winnow {

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kTick = 1s;
constexpr auto kAuditEvery = 2s;    // while the page cache holds half of what it may, or more
constexpr auto kAuditSeldom = 10s;  // else
constexpr std::size_t kAuditSamples = 512;
constexpr int kAuditRounds = 64;
constexpr double kOftenWrong = 0.25;
constexpr auto kCountSharesEvery = 2s;  // of what holds so many files that counting takes long, less often
constexpr int kSharesRest = 20;         // times as long as counting took

bool is_half_full(const Residency& residency) {
  return residency.total_bytes() > residency.budget_bytes() / 2;
}

}  // namespace

void Daemon::keep_house() {
  auto next_refresh =
      options_.refresh.count() > 0 ? Clock::now() + options_.refresh : Clock::time_point::max();
  auto next_audit = Clock::now() + kAuditEvery;
  tell_kernel_the_rest();
  tiers_->adopt();
  take_up_hints();
  prefetch_->wake();
  auto next_count = Clock::now() + count_shares();
  std::unique_lock lock(house_mutex_);
  while (!house_changed_.wait_for(lock, kTick, [this] { return house_stop_; })) {
    lock.unlock();
    device_->pass_long_turn();
    forget_ended_order();
    if (Clock::now() >= next_count) next_count = Clock::now() + count_shares();
    if (Clock::now() >= next_audit) {
      audit();
      watch_disk();
      next_audit = Clock::now() + (is_half_full(pages_->residency()) ? kAuditEvery : kAuditSeldom);
    }
    if (Clock::now() >= next_refresh) {
      try {
        refresh();
      } catch (const StartupError&) {  // logged and counted
      }
      next_refresh = Clock::now() + options_.refresh;
    }
    lock.lock();
  }
}

void Daemon::audit() {
  if (!options_.page_cache) return;
  // While the ledger turns out wrong, go on: the kernel must have reclaimed a lot.
  bool is_often_wrong = true;
  for (int i = 0; i < kAuditRounds && is_often_wrong; ++i) {
    const PageTier::Audit found = pages_->audit(kAuditSamples);
    if (!found.lost.empty()) prefetch_->on_lost(found.lost);
    is_often_wrong = found.wrong > kOftenWrong;
  }
}

// One line when the disk stops taking anything, and one when that is over, whatever else goes wrong meanwhile.
void Daemon::watch_disk() {
  if (tiers_->disk() == nullptr) return;
  const std::string trouble = tiers_->disk()->counts().why_not_writing;
  if (trouble.empty() == !disk_in_trouble_) return;
  if (trouble.empty()) {
    spdlog::info("the disk tier is written to again");
  } else {
    spdlog::warn("{}; reads go on, and writing is tried again", trouble);
  }
  disk_in_trouble_ = !trouble.empty();
}

// Looks at every file, which no request may wait for; not if nothing has come or gone. Gives the time until the next.
// For the house and for a warm that has ended: one at a time, or the older count could be the last to be told.
Clock::duration Daemon::count_shares() {
  const std::lock_guard alone(count_mutex_);
  const auto began = Clock::now();
  const auto tree = snapshots_->tree();
  const DiskCounts disk = tiers_->disk() != nullptr ? tiers_->disk()->counts() : DiskCounts{};
  const SharesOf now{tree.get(), pages_->residency().total_bytes(), pages_->residency().samples(),
                     disk.bytes_stored, disk.writes, disk.samples};
  if (now == shares_of_) return kCountSharesEvery;
  const TierShares shares = tiers_->shares();
  shares_of_ = now;
  {
    const std::lock_guard lock(shares_mutex_);
    shares_ = shares;
  }
  return std::max<Clock::duration>(kCountSharesEvery, kSharesRest * (Clock::now() - began));
}

}  // namespace winnow
