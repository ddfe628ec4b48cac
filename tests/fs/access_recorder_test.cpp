#include "fs/access_recorder.h"

#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "fs/trace.h"
#include "tests/fs/mount_fixture.h"

namespace winnow {
namespace {

class AccessRecorderTest : public MountFixture {
 protected:
  void SetUp() override {
    data.file("cat/a.jpg", pattern(100));
    data.file("dog/b,\"b\".jpg", pattern(200));
    start();
    recorder = std::make_unique<AccessRecorder>(*snapshots, state.recording_path());
    recorder->set_opens_seen(true);
    filesystem->on_access([this](NodeId id, int reader) { recorder->note_open(id, reader); },
                          [this](NodeId id) { recorder->note_read(id); });
  }
  std::string file() const { return place / "trace.csv"; }
  std::string text() const {
    std::ifstream in(file(), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  // As after a death: what waits is lost, or written, and another one comes.
  void replace_recorder() {
    recorder = std::make_unique<AccessRecorder>(*snapshots, state.recording_path());
    recorder->set_opens_seen(true);
    recorder->resume();
  }
  std::unique_ptr<AccessRecorder> recorder;
  template <typename Action>
  static std::string refusal(Action action) {
    try {
      action();
    } catch (const StartupError& error) {
      return error.what();
    }
    return "nothing was refused";
  }
};

TEST_F(AccessRecorderTest, WritesWhatIsNotedInOrderBetweenStartAndStop) {
  recorder->note_open(id("cat/a.jpg"), 1);
  recorder->start(file(), 1 << 20);
  recorder->note_open(id("dog/b,\"b\".jpg"), 41);
  recorder->note_open(id("cat/a.jpg"), 42);
  recorder->note_open(id("dog/b,\"b\".jpg"), 41);
  const RecordingFacts facts = recorder->stop();
  recorder->note_open(id("cat/a.jpg"), 1);
  EXPECT_EQ(facts.written, 3U);
  EXPECT_EQ(facts.lost, 0U);
  EXPECT_FALSE(facts.active);
  EXPECT_EQ(facts.bytes, text().size());
  EXPECT_TRUE(text().starts_with(kTraceHeader));
  EXPECT_NE(text().find(",\"dog/b,\"\"b\"\".jpg\",200,41\n"), std::string::npos) << text();
  const AccessTrace trace = read_trace(file(), {});
  EXPECT_EQ(trace.reads, (std::vector<SampleId>{SampleId{1}, SampleId{2}, SampleId{1}}));
  EXPECT_EQ(trace.total_bytes(), 300U);
}

TEST_F(AccessRecorderTest, ReadsCountOnlyWhereOpensAreNotSeen) {
  recorder->start(file(), 1 << 20);
  recorder->note_read(id("cat/a.jpg"));
  EXPECT_EQ(recorder->stop().written, 0U);
  recorder->set_opens_seen(false);
  recorder->start(place / "reads.csv", 1 << 20);
  recorder->note_open(id("cat/a.jpg"), 1);
  read("cat/a.jpg");  // at 0
  read("cat/a.jpg", 50);
  EXPECT_EQ(recorder->stop().written, 1U);
}

TEST_F(AccessRecorderTest, WhatCannotBeNamedIsCountedAsLost) {
  recorder->start(file(), 1 << 20);
  recorder->note_open(NodeId{987654}, 1);
  recorder->note_open(id("cat"), 1);
  recorder->note_open(id("cat/a.jpg"), 1);
  const RecordingFacts facts = recorder->stop();
  EXPECT_EQ(facts.written, 1U);
  EXPECT_EQ(facts.lost, 2U);
}

TEST_F(AccessRecorderTest, AFullQueueLosesAndCounts) {
  recorder->start(file(), std::uint64_t{1} << 30);
  const NodeId node = id("cat/a.jpg");
  // Naming and writing takes longer than noting, so the queue fills up sooner or later.
  std::uint64_t noted = 0;
  while (recorder->facts().lost == 0 && noted < 64 * AccessRecorder::kQueue) {
    for (std::size_t i = 0; i < AccessRecorder::kQueue; ++i, ++noted) recorder->note_open(node, 1);
  }
  const RecordingFacts facts = recorder->stop();
  EXPECT_GT(facts.lost, 0U);
  EXPECT_EQ(facts.written + facts.lost, noted);
  EXPECT_EQ(facts.bytes, text().size());
}

TEST_F(AccessRecorderTest, TheNextWorkerGoesOnAfterTheLastWholeLine) {
  recorder->start(file(), 1 << 20);
  recorder->note_open(id("cat/a.jpg"), 1);
  replace_recorder();
  wait_until([&] { return recorder->facts().written == 1; });
  EXPECT_TRUE(recorder->facts().active);
  recorder->note_open(id("dog/b,\"b\".jpg"), 2);
  replace_recorder();
  wait_until([&] { return recorder->facts().written == 2; });
  recorder.reset();
  std::ofstream(file(), std::ios::app) << "1700000000.5,\"dog/b,\"\"b\"\".j\n";  // a quoted line end, torn
  replace_recorder();
  wait_until([&] { return recorder->facts().written == 2; });
  recorder->note_open(id("cat/a.jpg"), 3);
  EXPECT_EQ(recorder->stop().written, 3U);
  EXPECT_EQ(read_trace(file(), {}).reads, (std::vector<SampleId>{SampleId{1}, SampleId{2}, SampleId{1}}));
  replace_recorder();
  EXPECT_FALSE(recorder->facts().active);  // the wish ended with stop()
}

TEST_F(AccessRecorderTest, AFileThatIsGoneEndsTheRecordingOfTheNextWorker) {
  recorder->start(file(), 1 << 20);
  unlink(file().c_str());
  replace_recorder();
  wait_until([&] { return !recorder->facts().active; });
  EXPECT_EQ(recorder->facts().ended, "the next worker did not find it as it was left");
  EXPECT_NE(access(state.recording_path().c_str(), F_OK), 0);
  recorder->note_open(id("cat/a.jpg"), 1);
  EXPECT_EQ(recorder->stop().written, 0U);
}

TEST_F(AccessRecorderTest, TheLimitEndsItAndTheFileStaysReadable) {
  recorder->start(file(), 2000);
  for (int i = 0; i < 5000; ++i) recorder->note_open(id("cat/a.jpg"), 1);
  wait_until([&] { return !recorder->facts().active; });
  const RecordingFacts facts = recorder->facts();
  EXPECT_EQ(facts.ended, "it has reached its limit");
  EXPECT_EQ(read_trace(file(), {}).reads.size(), facts.written);
  EXPECT_LT(facts.bytes, 2000U + (1 << 17));
  recorder->start(place / "second.csv", 1 << 20);  // and another may begin
  recorder->note_open(id("cat/a.jpg"), 1);
  EXPECT_EQ(recorder->stop().written, 1U);
}

TEST_F(AccessRecorderTest, AFullDiskEndsItWithoutAHalfLine) {
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, SIG_IGN);
  recorder->start(file(), 1 << 20);
  const rlimit tight{1000, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &tight);
  for (int i = 0; i < 100; ++i) recorder->note_open(id("cat/a.jpg"), 1);
  wait_until([&] { return !recorder->facts().active; });
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, SIG_DFL);
  EXPECT_EQ(recorder->facts().ended, "File too large");
  EXPECT_EQ(recorder->facts().lost, 100U);
  EXPECT_EQ(text(), kTraceHeader);
}

TEST_F(AccessRecorderTest, RefusalsSayWhatToDo) {
  EXPECT_EQ(refusal([&] { recorder->stop(); }),
            "nothing is being recorded; begin with winnow status --record FILE");
  recorder->start(file(), 1 << 20);
  EXPECT_EQ(refusal([&] { recorder->start(place / "b", 1); }),
            "the mount records to " + file() + " already; end that with winnow status --record-stop");
  recorder->stop();
  EXPECT_EQ(refusal([&] { recorder->start(file(), 1); }),
            file() + " is there already; name a new file, or remove it");
  EXPECT_EQ(refusal([&] { recorder->start("/proc/none/x", 1); }),
            "the daemon cannot make /proc/none/x: No such file or directory; name a file where it may write");
}

}  // namespace
}  // namespace winnow
