#include "cache/worker_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <future>
#include <latch>
#include <random>

namespace winnow {
namespace {

using namespace std::chrono_literals;
using Urgency = WorkerPool::Urgency;

// Occupies a thread of the pool until it is opened.
class Gate {
 public:
  std::function<void()> job() {
    return [this] {
      entered_.count_down();
      open_.wait();
    };
  }
  void wait_until_entered() { entered_.wait(); }
  void open() { open_.count_down(); }

 private:
  std::latch entered_{1};
  std::latch open_{1};
};

TEST(WorkerPool, RunsWhatIsSubmitted) {
  std::latch done(100);
  WorkerPool pool({.name = "test", .max_threads = 3});
  for (int i = 0; i < 100; ++i) pool.submit(Urgency::kDemand, 0, [&] { done.count_down(); });
  done.wait();
}

TEST(WorkerPool, UrgentWorkGoesBeforeTheRestAndEachKindInOrder) {
  Gate gate;
  std::vector<int> order;
  std::latch done(4);
  WorkerPool pool({.name = "test", .max_threads = 1});
  pool.submit(Urgency::kBackground, 0, gate.job());
  gate.wait_until_entered();
  const auto note = [&](int number) {
    return [&, number] {
      order.push_back(number);
      done.count_down();
    };
  };
  pool.submit(Urgency::kBackground, 0, note(3));
  pool.submit(Urgency::kDemand, 0, note(1));
  pool.submit(Urgency::kBackground, 0, note(4));
  pool.submit(Urgency::kDemand, 0, note(2));
  EXPECT_EQ(pool.waiting(), 4u);
  gate.open();
  done.wait();
  EXPECT_EQ(order, (std::vector{1, 2, 3, 4}));
}

TEST(WorkerPool, StartsAsManyThreadsAsWorkNeeds) {
  std::barrier all_at_once(5);
  WorkerPool pool({.name = "test", .max_threads = 4});
  for (int i = 0; i < 4; ++i) pool.submit(Urgency::kDemand, 0, [&] { all_at_once.arrive_and_wait(); });
  all_at_once.arrive_and_wait();  // would hang if any of the four waited for another
  pool.stop();
}

TEST(WorkerPool, RunsNoMoreJobsAtOnceThanItHasThreads) {
  std::atomic<int> running{0};
  std::atomic<int> most{0};
  std::latch done(200);
  WorkerPool pool({.name = "test", .max_threads = 2});
  for (int i = 0; i < 200; ++i) {
    pool.submit(Urgency::kDemand, 0, [&] {
      most = std::max(most.load(), ++running);
      std::this_thread::yield();
      --running;
      done.count_down();
    });
  }
  done.wait();
  EXPECT_LE(most, 2);
}

TEST(WorkerPool, RunningJobsTogetherStayBelowTheWeight) {
  constexpr std::uint64_t kMost = 10;
  std::mutex mutex;
  std::uint64_t weight = 0;
  std::uint64_t heaviest = 0;
  std::latch done(300);
  WorkerPool pool({.name = "test", .max_threads = 4, .max_weight = kMost});
  std::mt19937 random(1);
  for (int i = 0; i < 300; ++i) {
    const std::uint64_t mine = random() % kMost + 1;
    pool.submit(i % 2 == 0 ? Urgency::kDemand : Urgency::kBackground, mine, [&, mine] {
      {
        const std::lock_guard lock(mutex);
        weight += mine;
        heaviest = std::max(heaviest, weight);
      }
      std::this_thread::yield();
      const std::lock_guard lock(mutex);
      weight -= mine;
      done.count_down();
    });
  }
  done.wait();
  EXPECT_LE(heaviest, kMost);
}

TEST(WorkerPool, AJobHeavierThanAllRunsAlone) {
  Gate heavy;
  std::promise<void> light;
  auto light_ran = light.get_future();
  WorkerPool pool({.name = "test", .max_threads = 4, .max_weight = 10});
  pool.submit(Urgency::kDemand, 20, heavy.job());
  heavy.wait_until_entered();
  pool.submit(Urgency::kDemand, 5, [&] { light.set_value(); });
  EXPECT_EQ(light_ran.wait_for(100ms), std::future_status::timeout)
      << "a job of weight 5 began beside one of 20, where 10 are allowed";
  heavy.open();
  light_ran.wait();
  pool.stop();
}

TEST(WorkerPool, AJobHeavierThanAllWaitsForItsTurnAndRuns) {
  Gate light;
  std::latch done(1);
  WorkerPool pool({.name = "test", .max_threads = 4, .max_weight = 10});
  pool.submit(Urgency::kDemand, 1, light.job());
  light.wait_until_entered();
  pool.submit(Urgency::kDemand, 100, [&] { done.count_down(); });
  EXPECT_EQ(pool.waiting(), 1u);
  light.open();
  done.wait();
}

TEST(WorkerPool, BackgroundDoesNotOvertakeDemandThatWaitsForRoom) {
  Gate gate;
  std::mutex mutex;
  std::vector<int> order;
  std::latch done(2);
  const auto note = [&](int number) {
    return [&, number] {
      const std::lock_guard lock(mutex);
      order.push_back(number);
      done.count_down();
    };
  };
  WorkerPool pool({.name = "test", .max_threads = 1, .max_weight = 10});
  pool.submit(Urgency::kDemand, 8, gate.job());
  gate.wait_until_entered();
  pool.submit(Urgency::kBackground, 1, note(2));
  pool.submit(Urgency::kDemand, 8, note(1));
  gate.open();
  done.wait();
  EXPECT_EQ(order, (std::vector{1, 2}));
}

TEST(WorkerPool, BackgroundLeavesThreadsForDemand) {
  Gate first, second, demand;
  std::promise<void> third;
  auto third_ran = third.get_future();
  WorkerPool pool({.name = "test", .max_threads = 3, .background_threads = 2});
  pool.submit(Urgency::kBackground, 0, first.job());
  pool.submit(Urgency::kBackground, 0, second.job());
  first.wait_until_entered();
  second.wait_until_entered();
  pool.submit(Urgency::kBackground, 0, [&] { third.set_value(); });
  pool.submit(Urgency::kDemand, 0, demand.job());
  demand.wait_until_entered();  // would hang if background held all threads
  EXPECT_EQ(third_ran.wait_for(50ms), std::future_status::timeout) << "background took more than its share";
  first.open();
  third_ran.wait();
  second.open();
  demand.open();
}

TEST(WorkerPool, BackgroundLeavesWeightForDemand) {
  Gate first, demand;
  std::promise<void> second;
  auto second_ran = second.get_future();
  WorkerPool pool({.name = "test", .max_threads = 4, .max_weight = 10, .background_weight = 5});
  pool.submit(Urgency::kBackground, 4, first.job());
  first.wait_until_entered();
  pool.submit(Urgency::kBackground, 4, [&] { second.set_value(); });
  pool.submit(Urgency::kDemand, 6, demand.job());
  demand.wait_until_entered();  // would hang if both background jobs had begun
  demand.open();
  EXPECT_EQ(second_ran.wait_for(50ms), std::future_status::timeout) << "background took more than its share";
  first.open();
  second_ran.wait();
}

TEST(WorkerPool, StoppingDropsWhatHasNotBegunAndWaitsForWhatHas) {
  Gate gate;
  std::atomic<bool> second_ran{false};
  std::atomic<bool> stopped{false};
  WorkerPool pool({.name = "test", .max_threads = 1});
  pool.submit(Urgency::kDemand, 0, gate.job());
  gate.wait_until_entered();
  pool.submit(Urgency::kDemand, 0, [&] { second_ran = true; });
  pool.submit(Urgency::kBackground, 0, [&] { second_ran = true; });
  std::thread stopper([&] {
    pool.stop();
    stopped = true;
  });
  while (pool.waiting() > 0) std::this_thread::yield();
  EXPECT_FALSE(stopped);
  gate.open();
  stopper.join();
  EXPECT_FALSE(second_ran);
}

TEST(WorkerPool, ADroppedJobLetsGoOfWhatItHolds) {
  Gate gate;
  auto held = std::make_shared<int>(1);
  const std::weak_ptr<int> watched = held;
  WorkerPool pool({.name = "test", .max_threads = 1});
  pool.submit(Urgency::kDemand, 0, gate.job());
  gate.wait_until_entered();
  for (const Urgency urgency : {Urgency::kDemand, Urgency::kBackground})
    pool.submit(urgency, 0, [held] { (void)held; });
  held.reset();
  std::thread stopper([&] { pool.stop(); });
  while (pool.waiting() > 0) std::this_thread::yield();
  gate.open();
  stopper.join();
  EXPECT_TRUE(watched.expired());
}

TEST(WorkerPool, TakesNothingAfterItStopped) {
  WorkerPool pool({.name = "test", .max_threads = 1});
  pool.stop();
  bool ran = false;
  pool.submit(Urgency::kDemand, 0, [&] { ran = true; });
  pool.stop();
  EXPECT_FALSE(ran);
  EXPECT_EQ(pool.waiting(), 0u);
}

TEST(WorkerPool, ThreadsMaySubmitWhileOthersWork) {
  std::latch done(4 * 250 * 2);
  WorkerPool pool({.name = "test", .max_threads = 3, .max_weight = 7});
  std::vector<std::thread> submitters;
  for (unsigned t = 0; t < 4; ++t) {
    submitters.emplace_back([&, t] {
      for (unsigned i = 0; i < 250; ++i) {
        pool.submit(Urgency::kBackground, (t + i) % 5, [&] {
          pool.submit(Urgency::kDemand, 1, [&] { done.count_down(); });
          done.count_down();
        });
      }
    });
  }
  for (auto& submitter : submitters) submitter.join();
  done.wait();
}

}  // namespace
}  // namespace winnow
