#include "fs/access_recorder.h"

#include <fcntl.h>
#include <pthread.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cache/result.h"
#include "fs/checked_file.h"
#include "fs/trace.h"

namespace winnow {

namespace {

using namespace std::chrono_literals;
using Json = nlohmann::json;

constexpr auto kGather = 200ms;  // how long an access may wait to be written
constexpr std::size_t kBlock = 1 << 16;
constexpr const char* kAtLimit = "it has reached its limit";

int write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return 0;
}

// JSON holds text only; a path may be any bytes.
std::vector<std::uint8_t> as_bytes(const std::string& text) { return {text.begin(), text.end()}; }

void save_wish(const std::string& path, const std::string& file, std::uint64_t limit_bytes) {
  CheckedFile wish(path);
  const std::string text = Json{{"file", as_bytes(file)}, {"limit_bytes", limit_bytes}}.dump();
  wish.write(text.data(), text.size());
  wish.commit();
}

// How far a trace holds whole records. Outside quotes a line end ends one; a doubled quote opens and closes.
struct Whole {
  std::uint64_t bytes = 0;
  std::uint64_t records = 0;
};

Whole whole_records(int fd) {
  Whole whole;
  std::vector<char> block(kBlock);
  std::uint64_t at = 0;
  bool quoted = false;
  while (true) {
    const ssize_t got = pread(fd, block.data(), block.size(), static_cast<off_t>(at));
    if (got <= 0) return whole;
    for (ssize_t i = 0; i < got; ++i) {
      ++at;
      if (block[static_cast<std::size_t>(i)] == '"') quoted = !quoted;
      if (block[static_cast<std::size_t>(i)] == '\n' && !quoted) whole = {at, whole.records + 1};
    }
  }
}

}  // namespace

AccessRecorder::AccessRecorder(const Snapshots& snapshots, std::string wish_path)
    : snapshots_(snapshots), wish_path_(std::move(wish_path)) {}

AccessRecorder::~AccessRecorder() { end_thread(); }

void AccessRecorder::start(const std::string& file, std::uint64_t limit_bytes) {
  const std::lock_guard command(command_mutex_);
  if (active_) {
    throw StartupError("the mount records to " + facts().file +
                       " already; end that with winnow status --record-stop");
  }
  FileDescriptor made(open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644));
  if (!made && errno == EEXIST)
    throw StartupError(file + " is there already; name a new file, or remove it");
  if (!made) {
    throw StartupError("the daemon cannot make " + file + ": " + errno_text(errno) +
                       "; name a file where it may write");
  }
  if (const int error = write_all(made.get(), kTraceHeader); error != 0) {
    unlink(file.c_str());
    throw StartupError("the daemon cannot write " + file + ": " + errno_text(error) +
                       "; name a file where there is room");
  }
  save_wish(wish_path_, file, limit_bytes);
  begin(std::move(made), {.active = true, .file = file, .bytes = kTraceHeader.size()}, limit_bytes);
}

void AccessRecorder::resume() {
  const std::lock_guard command(command_mutex_);
  std::ifstream wish(wish_path_);
  if (!wish) return;
  const Json wanted = Json::parse(wish, nullptr, false);
  if (!wanted.is_object() || !wanted.contains("file"))
    return spdlog::warn("{} is no wish to record", wish_path_);
  const auto name = wanted["file"].get<std::vector<std::uint8_t>>();
  const std::string file(name.begin(), name.end());
  begin(FileDescriptor(open(file.c_str(), O_RDWR | O_APPEND | O_CLOEXEC)), {.active = true, .file = file},
        wanted.value("limit_bytes", kDefaultLimit));
}

// On the thread: the file may be long. Cuts off what a death left half written.
bool AccessRecorder::take_up() {
  const Whole whole = file_ ? whole_records(file_.get()) : Whole{};
  if (whole.records == 0 || ftruncate(file_.get(), static_cast<off_t>(whole.bytes)) != 0) {
    give_up("the next worker did not find it as it was left");
    return false;
  }
  const std::lock_guard lock(mutex_);
  facts_.written = whole.records - 1;
  facts_.bytes = whole.bytes;
  spdlog::info("goes on recording to {}, which has {} accesses", facts_.file, facts_.written);
  return true;
}

void AccessRecorder::begin(FileDescriptor file, const RecordingFacts& facts, std::uint64_t limit_bytes) {
  end_thread();  // of a recording that ended by itself
  file_ = std::move(file);
  {
    const std::lock_guard lock(mutex_);
    facts_ = facts;
    limit_bytes_ = limit_bytes;
    queue_.clear();
    stop_ = false;
  }
  active_ = true;
  thread_ = std::thread([this] { run(); });
  pthread_setname_np(thread_.native_handle(), "winnow-record");
}

RecordingFacts AccessRecorder::stop() {
  const std::lock_guard command(command_mutex_);
  if (facts().file.empty() || !thread_.joinable())
    throw StartupError("nothing is being recorded; begin with winnow status --record FILE");
  active_ = false;
  end_thread();
  unlink(wish_path_.c_str());
  file_.reset();
  const std::lock_guard lock(mutex_);
  facts_.active = false;
  return facts_;
}

void AccessRecorder::end_thread() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void AccessRecorder::note(NodeId id, int reader) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const std::lock_guard lock(mutex_);
  if (queue_.size() >= kQueue) {
    ++facts_.lost;
    return;
  }
  queue_.push_back({id, reader, std::chrono::duration_cast<std::chrono::microseconds>(now).count()});
  if (queue_.size() == kQueue / 2) wake_.notify_one();
}

void AccessRecorder::run() {
  if (facts().bytes == 0 && !take_up()) return;
  std::vector<Noted> taken;
  std::unique_lock lock(mutex_);
  for (bool last = false; !last;) {
    wake_.wait_for(lock, kGather, [this] { return stop_ || queue_.size() >= kQueue / 2; });
    last = stop_;
    taken.clear();
    std::swap(taken, queue_);
    lock.unlock();
    if (!write(taken)) return;
    lock.lock();
  }
}

bool AccessRecorder::write(const std::vector<Noted>& noted) {
  const auto tree = snapshots_.tree();
  std::string text;
  std::uint64_t lines = 0;
  std::uint64_t lost = 0;
  const auto flush = [&] {
    const int error = write_all(file_.get(), text);
    const std::lock_guard lock(mutex_);
    facts_.lost += lost + (error != 0 ? lines : 0);
    facts_.written += error == 0 ? lines : 0;
    facts_.bytes += error == 0 ? text.size() : 0;
    if (error != 0) (void)!ftruncate(file_.get(), static_cast<off_t>(facts_.bytes));  // no half line stays
    lines = lost = 0;
    text.clear();
    return error != 0 ? errno_text(error) : std::string(facts_.bytes >= limit_bytes_ ? kAtLimit : "");
  };
  std::string ended;
  for (const Noted& one : noted) {
    const auto node = tree->find(one.id);
    if (!node || !is_regular(node->stat)) {
      ++lost;
      continue;
    }
    append_line(text, {one.microseconds, tree->path(*node), node->stat.version.size, one.reader});
    ++lines;
    if (text.size() >= kBlock) ended = flush();
    if (!ended.empty()) break;
  }
  if (ended.empty()) ended = flush();
  if (!ended.empty()) give_up(ended);
  return ended.empty();
}

// The thread's own end; the file keeps what it has.
void AccessRecorder::give_up(const std::string& why) {
  active_ = false;
  unlink(wish_path_.c_str());
  const std::lock_guard lock(mutex_);
  facts_.active = false;
  facts_.ended = why;
  spdlog::warn("the recording to {} ended after {} accesses: {}", facts_.file, facts_.written, why);
}

RecordingFacts AccessRecorder::facts() const {
  const std::lock_guard lock(mutex_);
  return facts_;
}

}  // namespace winnow
