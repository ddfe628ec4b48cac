#include "fs/read_path.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <future>
#include <latch>

#include "tests/fs/mount_fixture.h"

namespace winnow {
namespace {

class ReadPathTest : public MountFixture {
 protected:
  void SetUp() override {
    data.file("d/small", small);
    data.file("d/large", large);
    data.file("empty", "");
  }
  void ask(NodeId which, std::uint64_t offset, std::size_t size, Answer& answer) {
    const auto tree = snapshots->tree();
    reads->read(*tree, *tree->find(which), offset, size, answer.waiter());
  }
  const std::string small = pattern(50'000);
  const std::string large = pattern(500'000);
  Answer first;
  Answer second;
};

TEST_F(ReadPathTest, GivesTheBytesOfTheRange) {
  start();
  ask(id("d/small"), 100, 1000, first);
  EXPECT_EQ(first.text(), small.substr(100, 1000));
  ask(id("d/small"), 49'000, 4096, second);
  EXPECT_EQ(second.text(), small.substr(49'000));
}

TEST_F(ReadPathTest, AtAndBehindTheEndThereIsNothingAndNoFetch) {
  start();
  ask(id("empty"), 0, 4096, first);
  EXPECT_EQ(first.text(), "");
  ask(id("d/small"), 50'000, 4096, second);
  EXPECT_EQ(second.text(), "");
  EXPECT_EQ(source.reads(), 0);
}

TEST_F(ReadPathTest, TheRestOfAFileIsPushedBehindTheAnswer) {
  start();
  ask(id("d/small"), 0, 4096, first);
  EXPECT_EQ(first.text(), small.substr(0, 4096));
  wait_until([&] { return !kernel.stores().empty(); });
  const auto stores = kernel.stores();
  ASSERT_EQ(stores.size(), 1u);
  EXPECT_EQ(stores[0].id, id("d/small"));
  EXPECT_EQ(stores[0].offset, 4096u);
  EXPECT_EQ(stores[0].bytes, small.substr(4096));
  EXPECT_EQ(source.reads(), 1);
  drain(*notifications);
  EXPECT_EQ(pages->residency().bytes(sample_of(id("d/small"))), 13u * 4096);
}

TEST_F(ReadPathTest, AFileReadInOneGoIsNotPushed) {
  start();
  EXPECT_EQ(read("d/small"), small);
  reads->stop();
  drain(*notifications);
  EXPECT_TRUE(kernel.stores().empty());
  EXPECT_EQ(reads->counts().misses, 1u);
}

TEST_F(ReadPathTest, NothingIsPushedWhileAReaderWaitsForOtherBytesOfTheFile) {
  start(1 << 30, {.whole_file_bytes = 4096, .threads = 8});
  // The first window lands while the notification thread is held up; then a reader waits for another window.
  std::latch go(1);
  notifications->submit(WorkerPool::Urgency::kDemand, 0, [&] { go.wait(); });
  data.file("odd", pattern(100'000));
  snapshots->refresh(progress);
  ask(id("odd"), 100, 10, first);  // fetches the page around it: the rest of the page is for pushing
  EXPECT_EQ(first.text(), pattern(100'000).substr(100, 10));
  wait_until([&] { return notifications->waiting() > 0; });
  source.stall();
  ask(id("odd"), 50'000, 10, second);
  ASSERT_TRUE(source.wait_for_stalled(1));
  go.count_down();
  drain(*notifications);
  EXPECT_TRUE(kernel.stores().empty()) << "stored into a file whose pages a READ has locked";
  source.release();
  EXPECT_EQ(second.text(), pattern(100'000).substr(50'000, 10));
}

TEST_F(ReadPathTest, ReadBytesAreAccountedForBeforeTheAnswer) {
  start();
  const auto seen = std::make_shared<std::promise<std::uint64_t>>();
  const auto tree = snapshots->tree();
  const SampleId sample = sample_of(id("d/small"));
  reads->read(*tree, node("d/small"), 0, 4096,
              [&, seen](Result<Bytes>) { seen->set_value(pages->residency().bytes(sample)); });
  EXPECT_GE(seen->get_future().get(), 4096u);
}

TEST_F(ReadPathTest, AChangedFileIsStaleOnlyAfterTheKernelWasTold) {
  start();
  const NodeId old = id("d/small");
  const NodeId folder = id("d");
  data.replace("d/small", pattern(50'000, 2));
  const auto answered = std::make_shared<std::promise<std::error_code>>();
  const auto tree = snapshots->tree();
  reads->read(*tree, *tree->find(old), 0, 4096, [&, answered](Result<Bytes> bytes) {
    kernel.note("answer");
    answered->set_value(bytes ? std::error_code() : bytes.error());
  });
  EXPECT_EQ(answered->get_future().get(), errno_error(ESTALE));
  EXPECT_EQ(kernel.events().back(), "answer");
  for (const NodeId view : {folder, in_exact_view(folder)}) {
    EXPECT_EQ(kernel.count("name " + std::to_string(value(view)) + " small"), 1u);
    EXPECT_EQ(kernel.count("node " + std::to_string(value(view))), 1u);
  }
  EXPECT_EQ(reads->counts().stale, 1u);
  EXPECT_NE(id("d/small"), old);
  EXPECT_EQ(read("d/small"), pattern(50'000, 2)) << "the next open sees the new file";
}

TEST_F(ReadPathTest, EveryReaderOfAChangedFileIsToldOnlyAfterTheKernel) {
  start(1 << 30, {.threads = 8}, 2);
  const NodeId old = id("d/small");
  // Two readers wait for one fetch, which finds the file changed; the kernel is slow to take the news.
  std::atomic<int> telling{0};
  std::latch go(1);
  kernel.on_event = [&](const std::string& event) {
    if (!event.starts_with("name")) return;
    ++telling;
    go.wait();
  };
  source.stall();
  ask(old, 0, 4096, first);
  ask(old, 4096, 4096, second);
  ASSERT_TRUE(source.wait_for_stalled(1));
  data.replace("d/small", pattern(50'000, 2));
  source.release();
  wait_until([&] { return telling == 2 || first.arrived() || second.arrived(); });
  EXPECT_FALSE(first.arrived()) << "told before the kernel was";
  EXPECT_FALSE(second.arrived()) << "told before the kernel was";
  go.count_down();
  EXPECT_EQ(first.error(), errno_error(ESTALE));
  EXPECT_EQ(second.error(), errno_error(ESTALE));
}

TEST_F(ReadPathTest, ARemovedFileIsStaleAndItsNameInvalidated) {
  start();
  const std::string folder = std::to_string(value(id("d")));
  const NodeId old = id("d/small");
  data.remove("d/small");
  ask(old, 0, 4096, first);
  EXPECT_EQ(first.error(), errno_error(ESTALE));
  EXPECT_EQ(kernel.count("name " + folder + " small"), 1u);
  EXPECT_FALSE(at_path(*snapshots->tree(), "d/small"));
}

TEST_F(ReadPathTest, EveryNameOfAHardLinkIsInvalidated) {
  data.file("one", "12345");
  data.hard_link("one", "d/two");
  start();
  const NodeId old = id("one");
  data.file("one", "54321!");  // in place: both names lead to it
  ask(old, 0, 10, first);
  EXPECT_EQ(first.error(), errno_error(ESTALE));
  EXPECT_EQ(kernel.count("name 1 one"), 1u);
  EXPECT_EQ(kernel.count("name " + std::to_string(value(id("d"))) + " two"), 1u);
  EXPECT_EQ(id("one"), id("d/two"));
  EXPECT_EQ(read("one"), "54321!");
}

TEST_F(ReadPathTest, AFileWhoseModeChangedBeforeItWasEverReadIsSimplyRead) {
  start();
  const NodeId old = id("d/small");
  data.change_mode("d/small", 0600);
  EXPECT_EQ(read("d/small"), small);
  EXPECT_EQ(id("d/small"), old);
  EXPECT_EQ(reads->counts().stale, 0u);
  drain(*notifications);
  EXPECT_EQ(kernel.count("attributes " + std::to_string(value(old))), 1u) << "the kernel keeps the old mode";
}

TEST_F(ReadPathTest, AFileWhoseCtimeMovedAfterItWasReadIsStale) {
  start();
  ask(id("d/small"), 0, 4096, first);
  EXPECT_EQ(first.text(), small.substr(0, 4096));
  wait_until([&] { return pages->counts().pushed_files == 1; });
  drain(*notifications);  // the flight is retired: the next read asks the source
  const NodeId old = id("d/small");
  data.change_mode("d/small", 0600);
  ask(old, 8192, 4096, second);
  EXPECT_EQ(second.error(), errno_error(ESTALE));
  EXPECT_EQ(read("d/small"), small);
}

TEST_F(ReadPathTest, AFileThatNeverHoldsStillEndsInStale) {
  start();
  source.before_read([&] {
    static std::atomic<unsigned> mode{0};
    data.change_mode("d/small", 0600 | (++mode % 2));
  });
  ask(id("d/small"), 0, 4096, first);
  EXPECT_EQ(first.error(), errno_error(ESTALE));
  EXPECT_LE(source.reads(), 8);
}

TEST_F(ReadPathTest, ABrokenSourceIsNotMistakenForAChangedFile) {
  start(1 << 30, {.threads = 2, .source_timeout = std::chrono::milliseconds(150)});
  const NodeId old = id("d/small");
  source.fail_every_read(ENOTCONN);
  ask(old, 0, 4096, first);
  EXPECT_EQ(first.error(), errno_error(EIO));
  EXPECT_EQ(id("d/small"), old);
  EXPECT_TRUE(kernel.events().empty());
}

TEST_F(ReadPathTest, WithoutPagesNothingIsPushedOrAccounted) {
  start();
  ReadPath bare(source, tier, *snapshots, kernel, *notifications, nullptr, {.threads = 2});
  const auto tree = snapshots->tree();
  bare.read(*tree, node("d/small"), 0, 4096, first.waiter());
  EXPECT_EQ(first.text(), small.substr(0, 4096));
  bare.stop();
  drain(*notifications);
  EXPECT_TRUE(kernel.stores().empty());
  EXPECT_EQ(pages->residency().total_bytes(), 0u);
}

TEST_F(ReadPathTest, StoppingAnswersReadersThatWait) {
  start();
  source.stall();
  ask(id("d/small"), 0, 4096, first);
  ASSERT_TRUE(source.wait_for_stalled(1));
  std::thread stopper([&] { reads->stop(); });
  EXPECT_EQ(first.error(), errno_error(EIO));
  source.release();
  stopper.join();
}

TEST_F(ReadPathTest, AStaleReaderIsAnsweredThoughTheNotificationsHaveStopped) {
  start();
  const NodeId old = id("d/small");
  data.replace("d/small", pattern(50'000, 2));
  notifications->stop();
  ask(old, 0, 4096, first);
  reads->stop();
  EXPECT_EQ(first.times(), 1) << "the reply is called once, always";
}

TEST_F(ReadPathTest, ReadersRefreshesAndWritersAtOnceNeverSeeMixedBytes) {
  data.file("mix", std::string(20'000, 'a'));
  start(256 << 10, {.threads = 8}, 2);
  std::atomic<bool> done{false};
  std::vector<std::thread> readers;
  for (unsigned t = 0; t < 3; ++t) {
    readers.emplace_back([&, t] {
      for (unsigned i = 0; !done; ++i) {
        const auto tree = snapshots->tree();
        const auto at = at_path(*tree, (i + t) % 2 == 0 ? "mix" : "d/small");
        if (!at) continue;
        Answer answer;
        reads->read(*tree, *at, 0, 20'000, answer.waiter());
        const auto bytes = answer.wait();
        if (!bytes) {
          ASSERT_EQ(bytes.error(), errno_error(ESTALE));
        } else if ((i + t) % 2 == 0) {
          const std::string text = to_text(bytes.value());
          ASSERT_EQ(text.size(), std::min<std::uint64_t>(20'000, at->stat.version.size));
          ASSERT_EQ(text.find_first_not_of(text.empty() ? 'a' : text[0]), std::string::npos);
        } else {
          ASSERT_EQ(to_text(bytes.value()), small.substr(0, 20'000));
        }
      }
    });
  }
  for (int i = 0; i < 40; ++i) {
    data.replace("mix", std::string(20'000 + static_cast<std::size_t>(i), static_cast<char>('b' + i % 20)));
    if (i % 4 == 0) snapshots->refresh(progress);
  }
  done = true;
  for (auto& reader : readers) reader.join();
}

}  // namespace
}  // namespace winnow
