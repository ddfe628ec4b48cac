#include "fs/control.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <future>

#include "cache/result.h"
#include "tests/cache/temporary_folder.h"

namespace winnow {
namespace {

using nlohmann::json;

struct ControlTest : testing::Test {
  std::string path() const { return folder / "control"; }
  std::unique_ptr<ControlServer> serve(ControlServer::Handler handler) {
    return std::make_unique<ControlServer>(path(), std::move(handler));
  }
  FileDescriptor connect_plainly() const {
    FileDescriptor fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path().copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    return fd;
  }
  static std::string say(int fd, const std::string& line) {
    EXPECT_EQ(send(fd, line.data(), line.size(), MSG_NOSIGNAL), static_cast<ssize_t>(line.size()));
    std::string answer;
    for (char c = 0; ::read(fd, &c, 1) == 1 && c != '\n';) answer += c;
    return answer;
  }
  TemporaryFolder folder;
};

TEST_F(ControlTest, ACallReachesTheHandlerAndItsAnswerTheCaller) {
  const auto server = serve([](const json& request) { return json{{"echo", request["word"]}}; });
  const json answer = call_daemon(path(), {{"word", "hello"}});
  EXPECT_EQ(answer["echo"], "hello");
  EXPECT_EQ(answer["ok"], true);
}

TEST_F(ControlTest, WhatTheHandlerThrowsIsWhatTheCallerThrows) {
  const auto server = serve([](const json&) -> json { throw StartupError("the roof is on fire; leave"); });
  try {
    call_daemon(path(), {{"command", "x"}});
    FAIL() << "answered";
  } catch (const StartupError& error) {
    EXPECT_STREQ(error.what(), "the roof is on fire; leave");
  }
}

TEST_F(ControlTest, RubbishGetsAnErrorAndHarmsNobody) {
  const auto server = serve([](const json& request) { return json{{"n", request.value("n", 0)}}; });
  for (const char* line : {"not json\n", "\n", "[1,2]\n", "{\"n\": \"text\"}\n", "\xff\xfe\n"}) {
    const FileDescriptor fd = connect_plainly();
    const json answer = json::parse(say(fd.get(), line), nullptr, false);
    ASSERT_TRUE(answer.is_object()) << line;
    EXPECT_EQ(answer["ok"], false) << line;
    EXPECT_TRUE(answer.contains("error")) << line;
  }
  EXPECT_EQ(call_daemon(path(), {{"n", 5}})["n"], 5);
}

TEST_F(ControlTest, OnlyTheOwnerMayConnect) {
  const auto server = serve([](const json&) { return json::object(); });
  struct stat found {};
  ASSERT_EQ(stat(path().c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600u);
}

TEST_F(ControlTest, NobodyThereIsToldWithWhatToDo) {
  try {
    call_daemon(path(), {{"command", "x"}}, std::chrono::milliseconds(0));
    FAIL() << "answered";
  } catch (const StartupError& error) {
    EXPECT_NE(std::string(error.what()).find(path()), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("; "), std::string::npos);
  }
}

TEST_F(ControlTest, LeavesNoSocketBehindAndTakesOverADeadOne) {
  serve([](const json&) { return json::object(); }).reset();
  EXPECT_TRUE(folder.empty());
  folder.file("control", "left by a crash");
  const auto server = serve([](const json&) { return json{{"n", 1}}; });
  EXPECT_EQ(call_daemon(path(), json::object())["n"], 1);
}

TEST_F(ControlTest, WorksInAPathLongerThanASocketsNameMayBe) {
  const std::string deep = std::string(100, 'd') + "/" + std::string(100, 'e');
  folder.folder(deep);
  const ControlServer server(folder / (deep + "/control"), [](const json&) { return json{{"n", 1}}; });
  EXPECT_EQ(call_daemon(folder / (deep + "/control"), json::object())["n"], 1);
}

TEST_F(ControlTest, CallsDoNotWaitForEachOther) {
  std::promise<void> second_came;
  const auto server = serve([&](const json& request) {
    if (request.value("n", 0) == 1) second_came.get_future().wait();
    if (request.value("n", 0) == 2) second_came.set_value();
    return json::object();
  });
  auto first = std::async(std::launch::async, [&] { return call_daemon(path(), {{"n", 1}}); });
  call_daemon(path(), {{"n", 2}});
  EXPECT_EQ(first.get()["ok"], true);
}

TEST_F(ControlTest, ACallerWhoSaysNothingDoesNotKeepTheDaemonFromEnding) {
  auto server = serve([](const json&) { return json::object(); });
  FileDescriptor silent = connect_plainly();
  call_daemon(path(), json::object());  // by now the silent one has been accepted
  auto ended = std::async(std::launch::async, [&] { server.reset(); });
  EXPECT_EQ(ended.wait_for(std::chrono::milliseconds(900)), std::future_status::ready)
      << "the daemon waits for a caller who says nothing";
  silent.reset();
  ended.wait();
}

}  // namespace
}  // namespace winnow
