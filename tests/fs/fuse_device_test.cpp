// The device's own answers, with a socket in the kernel's place.
#include "fs/fuse_device.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cstring>

#include "fs/fuse_kernel_cache.h"
#include "fs/fuse_protocol.h"
#include "tests/fs/mount_fixture.h"

namespace winnow {
namespace {

// Two ends of a line that keeps messages whole, as the device does.
struct Line {
  Line() {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
      throw std::runtime_error("no sockets");
    device.reset(ends[0]);
    kernel.reset(ends[1]);
    const int room = 8 << 20;
    for (const int end : ends) setsockopt(end, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof room);
  }
  std::string receive() const {
    std::string message(2 << 20, '\0');
    const ssize_t got = recv(kernel.get(), message.data(), message.size(), MSG_DONTWAIT);
    message.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return message;
  }
  // Whether a message of `bytes` fits: an ordinary user may not have the room for large ones.
  bool holds(int bytes) const {
    int room = 0;
    socklen_t size = sizeof room;
    getsockopt(device.get(), SOL_SOCKET, SO_SNDBUF, &room, &size);
    return room > bytes;
  }
  FileDescriptor device;
  FileDescriptor kernel;
};

template <typename T>
T at(const std::string& message, std::size_t offset) {
  T value{};
  if (message.size() >= offset + sizeof value) std::memcpy(&value, message.data() + offset, sizeof value);
  return value;
}

class FuseDeviceTest : public MountFixture {
 protected:
  void SetUp() override {
    data.file("f", "12345");
    start();
    device = std::make_unique<FuseDevice>(std::move(line.device), *filesystem, true, *memory);
  }
  void send(std::uint32_t opcode, std::uint64_t unique, std::uint64_t node, const std::string& body = "") {
    fuse_in_header header{};
    header.len = static_cast<std::uint32_t>(sizeof header + body.size());
    header.opcode = opcode;
    header.unique = unique;
    header.nodeid = node;
    std::string message(reinterpret_cast<const char*>(&header), sizeof header);
    message += body;
    ASSERT_EQ(::send(line.kernel.get(), message.data(), message.size(), 0),
              static_cast<ssize_t>(message.size()));
  }
  void ask_for_init(std::uint32_t flags2, std::uint64_t unique = 41) {
    fuse_init_in init{};
    init.major = 7;
    init.minor = 42;
    init.flags = FUSE_INIT_EXT;
    init.flags2 = flags2;
    send(FUSE_INIT, unique, 0, {reinterpret_cast<const char*>(&init), sizeof init});
  }
  void answer_init() {
    fuse_out_header header{};
    header.unique = 41;
    header.len = sizeof header + sizeof(fuse_init_out);
    fuse_init_out out{};
    iovec parts[] = {{&header, sizeof header}, {&out, sizeof out}};
    device->send(parts, 2);
  }
  // The next request that is left to libfuse.
  fuse_in_header next() {
    std::string buffer(1 << 16, '\0');
    const ssize_t got = device->receive(buffer.data(), buffer.size());
    EXPECT_GE(got, static_cast<ssize_t>(sizeof(fuse_in_header)));
    return at<fuse_in_header>(buffer, 0);
  }
  Line line;
  std::unique_ptr<SurvivalMemory> memory = std::make_unique<SurvivalMemory>();
  std::unique_ptr<FuseDevice> device;
};

TEST_F(FuseDeviceTest, HandsRequestsOnAndCountsThem) {
  send(FUSE_LOOKUP, 11, 1);
  const fuse_in_header header = next();
  EXPECT_EQ(header.opcode, static_cast<std::uint32_t>(FUSE_LOOKUP));
  EXPECT_EQ(header.unique, 11u);
  EXPECT_EQ(device->requests().total(), 1u);
}

TEST_F(FuseDeviceTest, AnswersIoctlAndInterruptItself) {
  send(FUSE_IOCTL, 21, 2);
  send(FUSE_INTERRUPT, 22, 0);
  send(FUSE_GETATTR, 23, 1);
  EXPECT_EQ(next().unique, 23u);
  const auto ioctl = at<fuse_out_header>(line.receive(), 0);
  EXPECT_EQ(ioctl.unique, 21u);
  EXPECT_EQ(ioctl.error, -ENOTTY);
  EXPECT_EQ(ioctl.len, sizeof ioctl);
  EXPECT_EQ(at<fuse_out_header>(line.receive(), 0).error, -ENOSYS);
  EXPECT_EQ(device->requests().total(), 3u);
}

TEST_F(FuseDeviceTest, AnswersStatxWithTheBirthTime) {
  send(fuse_protocol::kStatx, 31, value(id("f")));
  send(FUSE_GETATTR, 32, 1);
  EXPECT_EQ(next().unique, 32u);
  const std::string reply = line.receive();
  const auto header = at<fuse_out_header>(reply, 0);
  EXPECT_EQ(header.unique, 31u);
  EXPECT_EQ(header.error, 0);
  EXPECT_EQ(header.len, reply.size());
  const auto out = at<fuse_protocol::StatxOut>(reply, sizeof header);
  const FileStat expected = node("f").stat;
  EXPECT_EQ(out.stat.ino, value(id("f")));
  EXPECT_EQ(out.stat.size, 5u);
  EXPECT_EQ(out.stat.mode, expected.mode);
  EXPECT_EQ(out.stat.blksize, 1u << 20);
  EXPECT_EQ(out.stat.mtime.seconds, expected.version.mtime.seconds);
  EXPECT_EQ(out.stat.btime.seconds, expected.birth.seconds);
  EXPECT_EQ((out.stat.mask & STATX_BTIME) != 0, expected.birth != Timestamp{});
  EXPECT_GT(out.attr_valid, 3600u);
}

TEST_F(FuseDeviceTest, AnswersStatxOfAnUnknownNodeWithStale) {
  send(fuse_protocol::kStatx, 31, 99'999);
  send(FUSE_GETATTR, 32, 1);
  next();
  EXPECT_EQ(at<fuse_out_header>(line.receive(), 0).error, -ESTALE);
}

TEST_F(FuseDeviceTest, AddsFlagsToTheInitReplyOnlyWhereTheKernelOffersThem) {
  for (const bool offers : {true, false}) {
    memory->init_reply_size = 0;  // another connection
    ask_for_init(offers ? fuse_protocol::kAllowIdmap2 : 0);
    EXPECT_EQ(next().opcode, static_cast<std::uint32_t>(FUSE_INIT));
    EXPECT_EQ(memory->init_size, sizeof(fuse_in_header) + sizeof(fuse_init_in)) << "kept for the next worker";
    answer_init();
    const auto sent = at<fuse_init_out>(line.receive(), sizeof(fuse_out_header));
    EXPECT_EQ(sent.flags2 == fuse_protocol::kAllowIdmap2, offers);
    EXPECT_EQ((sent.flags & FUSE_INIT_EXT) != 0, offers);
  }
}

TEST_F(FuseDeviceTest, LeavesOtherRepliesAsTheyAre) {
  fuse_out_header header{};
  header.unique = 77;
  char body[128];
  std::memset(body, 0x5a, sizeof body);
  header.len = sizeof header + sizeof body;
  iovec parts[] = {{&header, sizeof header}, {body, sizeof body}};
  EXPECT_EQ(device->send(parts, 2), static_cast<ssize_t>(header.len));
  EXPECT_EQ(line.receive().substr(sizeof header), std::string(sizeof body, 0x5a));
}

TEST_F(FuseDeviceTest, AnEndedDeviceEndsReceiving) {
  line.kernel.reset();
  char buffer[4096];
  EXPECT_LE(device->receive(buffer, sizeof buffer), 0);
}

TEST(FuseKernelCache, StoresBytesInSteps) {
  const Line line;
  if (!line.holds(2 << 20)) GTEST_SKIP() << "an ordinary user's sockets hold no message of a whole step";
  FuseKernelCache cache(line.device.get());
  const std::string bytes = pattern((1 << 20) + 100);
  ASSERT_FALSE(cache.store(NodeId{5}, 4096, std::as_bytes(std::span(bytes))));
  std::string stored;
  for (std::string message = line.receive(); !message.empty(); message = line.receive()) {
    const auto header = at<fuse_out_header>(message, 0);
    const auto out = at<fuse_notify_store_out>(message, sizeof header);
    EXPECT_EQ(header.error, FUSE_NOTIFY_STORE);
    EXPECT_EQ(header.unique, 0u);
    EXPECT_EQ(header.len, message.size());
    EXPECT_EQ(out.nodeid, 5u);
    EXPECT_EQ(out.offset, 4096 + stored.size());
    EXPECT_EQ(out.size, message.size() - sizeof header - sizeof out);
    stored += message.substr(sizeof header + sizeof out);
  }
  EXPECT_TRUE(stored == bytes);
}

TEST(FuseKernelCache, InvalidatesNamesAndNodes) {
  const Line line;
  FuseKernelCache cache(line.device.get());
  cache.invalidate_name(NodeId{7}, "caf\xe9");
  const std::string name = line.receive();
  EXPECT_EQ(at<fuse_out_header>(name, 0).error, FUSE_NOTIFY_INVAL_ENTRY);
  const auto entry = at<fuse_notify_inval_entry_out>(name, sizeof(fuse_out_header));
  EXPECT_EQ(entry.parent, 7u);
  EXPECT_EQ(entry.namelen, 4u);
  EXPECT_EQ(name.substr(sizeof(fuse_out_header) + sizeof entry), std::string("caf\xe9\0", 5));
  cache.invalidate_node(NodeId{8});
  const std::string node = line.receive();
  EXPECT_EQ(at<fuse_out_header>(node, 0).error, FUSE_NOTIFY_INVAL_INODE);
  EXPECT_EQ(at<fuse_notify_inval_inode_out>(node, sizeof(fuse_out_header)).ino, 8u);
  EXPECT_EQ(at<fuse_notify_inval_inode_out>(node, sizeof(fuse_out_header)).off, 0);
}

TEST(FuseKernelCache, TellsWhenTheKernelRefuses) {
  Line line;
  line.kernel.reset();
  signal(SIGPIPE, SIG_IGN);
  FuseKernelCache cache(line.device.get());
  const std::byte byte{};
  EXPECT_TRUE(static_cast<bool>(cache.store(NodeId{5}, 0, {&byte, 1})));
}

TEST(FuseKernelCache, DropsThroughADescriptorThatIsThereAlreadyAndLetsGoOfIt) {
  const TemporaryFolder folder;
  folder.file("f", pattern(8192));
  const Line line;
  FuseKernelCache cache(line.device.get());
  EXPECT_FALSE(cache.drop(NodeId{5}, "f")) << "it is not attached to a mount";
  FileDescriptor opened(open((folder / "f").c_str(), O_RDONLY | O_CLOEXEC));
  const int number = opened.get();
  cache.recent_opens().add(NodeId{5}, std::move(opened));
  EXPECT_FALSE(cache.drop(NodeId{6}, "f")) << "that is another file's";
  EXPECT_TRUE(cache.drop(NodeId{5}, "f"));
  EXPECT_EQ(fcntl(number, F_GETFD), -1) << "a descriptor keeps the mount busy";
  EXPECT_FALSE(cache.drop(NodeId{5}, "f"));
}

TEST(MountedPages, FindsNothingBeforeItIsAttachedAndAfterItIsDetached) {
  const TemporaryFolder folder;
  folder.file("f", pattern(8192));
  MountedPages pages;
  EXPECT_FALSE(pages.resident("f"));
  EXPECT_FALSE(pages.drop("f"));
  pages.attach(folder.path());
  EXPECT_TRUE(pages.drop("f"));
  EXPECT_FALSE(pages.drop("missing"));
  pages.detach();
  EXPECT_FALSE(pages.drop("f"));
}

TEST(MountedPages, StaysOnItsOwnFilesystem) {
  MountedPages pages;
  pages.attach("/");
  EXPECT_FALSE(pages.drop("proc/self/status")) << "another mount below ours is not ours";
}

TEST_F(FuseDeviceTest, ReplaysTheInitOfAPredecessorAndSwallowsItsAnswer) {
  EXPECT_TRUE(device->take_saved_init().empty());
  ask_for_init(0);
  next();
  answer_init();
  EXPECT_FALSE(line.receive().empty());
  EXPECT_FALSE(device->take_saved_init().empty());
  answer_init();
  EXPECT_EQ(line.receive(), "");
}

// Whether the answer reached the kernel before its worker was killed shows in whether it asks again.
TEST_F(FuseDeviceTest, AnInitThatComesAgainGetsTheSameAnswer) {
  ask_for_init(fuse_protocol::kAllowIdmap2);
  next();
  EXPECT_FALSE(device->take_saved_init().empty());  // by the next worker, in a replay
  answer_init();
  EXPECT_EQ(line.receive(), "");
  ask_for_init(fuse_protocol::kAllowIdmap2, 41 | kResentBit);
  send(FUSE_GETATTR, 44, 1);
  EXPECT_EQ(next().unique, 44u);
  const std::string answer = line.receive();
  EXPECT_EQ(at<fuse_out_header>(answer, 0).unique, 41 | kResentBit);
  EXPECT_EQ(at<fuse_init_out>(answer, sizeof(fuse_out_header)).flags2, fuse_protocol::kAllowIdmap2);
}

TEST_F(FuseDeviceTest, ARequestOfTwoCrashesGetsAnError) {
  memory->suspects[0].unique = 50;
  memory->suspects[0].crashes = 2;
  send(FUSE_GETATTR, 50 | kResentBit, 1);
  send(FUSE_GETATTR, 52, 1);
  EXPECT_EQ(next().unique, 52u);
  EXPECT_EQ(at<fuse_out_header>(line.receive(), 0).error, -EIO);
  EXPECT_EQ(memory->poisoned_answers, 1u);
}

TEST_F(FuseDeviceTest, SuspectsAreServedOneAtATime) {
  std::vector<std::uint64_t> released;
  device->on_released([&](FuseDevice::Request request) {
    released.push_back(reinterpret_cast<const fuse_in_header*>(request.data())->unique);
  });
  for (int i = 0; i < 2; ++i) {
    memory->suspects[i].unique = static_cast<std::uint64_t>(60 + 2 * i);
    memory->suspects[i].crashes = 1;
    send(FUSE_GETATTR, (60 + 2 * i) | kResentBit, 1);
  }
  send(FUSE_GETATTR, 64, 1);
  EXPECT_EQ(next().unique, 60 | kResentBit);
  EXPECT_EQ(next().unique, 64u) << "who is not suspected does not wait";
  EXPECT_TRUE(released.empty());
  fuse_out_header header{};
  header.unique = 60 | kResentBit;
  header.len = sizeof header;
  iovec parts[] = {{&header, sizeof header}};
  device->send(parts, 1);
  EXPECT_EQ(released, std::vector<std::uint64_t>{62 | kResentBit});
}

TEST_F(FuseDeviceTest, ASuspectThatIsAnsweredAtOnceIsOneNoMore) {
  memory->suspects[0].unique = 70;
  memory->suspects[0].crashes = 1;
  send(fuse_protocol::kStatx, 70 | kResentBit, 1);
  send(FUSE_GETATTR, 72, 1);
  EXPECT_EQ(next().unique, 72u);
  EXPECT_EQ(memory->suspects[0].unique, 0u);
}

TEST_F(FuseDeviceTest, WhoWaitsBehindASuspectIsNotLaidTheNextCrash) {
  device->on_released([](FuseDevice::Request) {});
  for (int i = 0; i < 2; ++i) {
    memory->suspects[i].unique = static_cast<std::uint64_t>(60 + 2 * i);
    memory->suspects[i].crashes = 1;
    send(FUSE_GETATTR, (60 + 2 * i) | kResentBit, 1);
  }
  send(FUSE_GETATTR, 64, 1);
  next();
  next();
  suspect_served(*memory, false);
  EXPECT_EQ(memory->suspects[0].crashes, 2u);
  EXPECT_EQ(memory->suspects[1].crashes, 1u);
}

}  // namespace
}  // namespace winnow
