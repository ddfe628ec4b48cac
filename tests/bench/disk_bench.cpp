// What the disk tier costs: writing and reading samples through it, beside the same bytes as plain files read
// with O_DIRECT in the same run; starting with 200,000 samples, which has a target; memory.
//   disk_bench FOLDER [FILES] [THREADS]
// Ends with 1 if the target was missed.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "cache/disk/disk_tier.h"
#include "policy/registry.h"

namespace winnow {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_of(const std::function<void()>& work) {
  const auto began = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - began).count();
}

void tell(const char* what, double seconds, std::size_t files, std::uint64_t bytes) {
  printf("%-44s %8.2f s  %9.0f files/s  %8.1f MB/s\n", what, seconds, static_cast<double>(files) / seconds,
         static_cast<double>(bytes) / 1e6 / seconds);
}

std::size_t memory_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmRSS:", 0) == 0) return std::strtoull(line.c_str() + 6, nullptr, 10);
  }
  return 0;
}

DiskOptions options_for(const std::string& folder, std::uint64_t budget) {
  DiskOptions options;
  options.store = {.directory = folder, .budget_bytes = budget, .source_identity = "bench"};
  options.eviction = make_eviction("lru", "");
  options.admission = make_admission("lru");
  return options;
}

std::vector<FileRef> make_files(std::size_t count, std::uint64_t smallest, std::uint64_t largest) {
  std::mt19937_64 random(1);
  std::vector<FileRef> files;
  for (std::size_t i = 1; i <= count; ++i) {
    const std::uint64_t size = smallest + random() % (largest - smallest + 1);
    files.push_back({SampleId{i},
                     "train/class" + std::to_string(i % 100) + "/" + std::to_string(i) + ".jpg",
                     {.tag = i, .device = 1, .size = size, .mtime = {1, 0}, .ctime = {1, 0}}});
  }
  return files;
}

void over_threads(unsigned threads, std::size_t count, const std::function<void(std::size_t)>& each) {
  std::vector<std::thread> pool;
  for (unsigned t = 0; t < threads; ++t) {
    pool.emplace_back([&, t] {
      for (std::size_t i = t; i < count; i += threads) each(i);
    });
  }
  for (std::thread& thread : pool) thread.join();
}

void write_plain(const std::string& path, const Bytes& bytes) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.span().data()), static_cast<std::streamsize>(bytes.size()));
}

void read_plain_direct(const std::string& path) {
  const FileDescriptor fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECT));
  struct stat facts {};
  if (!fd || fstat(fd.get(), &facts) != 0) abort();
  const std::size_t room = (static_cast<std::size_t>(facts.st_size) + 4095) / 4096 * 4096;
  const auto memory = aligned_bytes(room);
  if (pread(fd.get(), memory.get(), room, 0) != facts.st_size) abort();
}

void measure_transfer(const std::string& folder, std::size_t count, unsigned threads) {
  const std::vector<FileRef> files = make_files(count, 20'000, 110'000);
  const std::shared_ptr<std::byte[]> data(new std::byte[110'000]);
  std::mt19937_64 random(2);
  for (std::size_t i = 0; i < 110'000; ++i) data[i] = static_cast<std::byte>(random());
  std::uint64_t bytes = 0;
  for (const FileRef& file : files) bytes += file.version.size;
  std::filesystem::create_directories(folder + "/plain");
  const auto plain = [&](std::size_t i) { return folder + "/plain/" + std::to_string(i); };
  tell("write plain files, then sync", seconds_of([&] {
         for (std::size_t i = 0; i < count; ++i) write_plain(plain(i), {data, files[i].version.size});
         sync();
       }),
       count, bytes);

  DiskTier tier(options_for(folder + "/tier", bytes + bytes / 8));
  tell("write to the tier", seconds_of([&] {
         for (const FileRef& file : files) {
           tier.write(file, 0, {data, file.version.size});
           if (tier.counts().queued_bytes > (32u << 20)) tier.flush();
         }
         tier.flush();
       }),
       count, bytes);
  std::vector<std::size_t> order(count);
  for (std::size_t i = 0; i < count; ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), random);
  for (int round = 0; round < 2; ++round) {
    tell("read plain files, O_DIRECT, shuffled", seconds_of([&] {
           over_threads(threads, count, [&](std::size_t i) { read_plain_direct(plain(order[i])); });
         }),
         count, bytes);
    tell("read from the tier, shuffled", seconds_of([&] {
           over_threads(threads, count, [&](std::size_t i) {
             if (!tier.read(files[order[i]])) abort();
           });
         }),
         count, bytes);
  }
  const DiskCounts counts = tier.counts();
  printf("%s; %.1f %% of %.1f MB on disk are samples' bytes; RSS %zu MB\n",
         counts.io_notice.empty() ? "io_uring with O_DIRECT" : counts.io_notice.c_str(),
         100.0 * static_cast<double>(counts.bytes_stored) / static_cast<double>(counts.bytes_on_disk),
         static_cast<double>(counts.bytes_on_disk) / 1e6, memory_kib() / 1024);
}

// A full tier: for every sample that comes, others leave, and it goes where they were.
void measure_churn(const std::string& folder, std::size_t count) {
  const std::vector<FileRef> files = make_files(count, 20'000, 110'000);
  const std::shared_ptr<std::byte[]> data(new std::byte[110'000]());
  std::uint64_t bytes = 0;
  for (const FileRef& file : files) bytes += file.version.size;
  DiskTier tier(options_for(folder + "/full", bytes / 4));
  const auto write_some = [&](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) {
      tier.write(files[i], 0, {data, files[i].version.size});
      tier.touch(files[i * 7919 % to].id);  // so that those who leave do not lie side by side
      if (tier.counts().queued_bytes > (32u << 20)) tier.flush();
    }
    tier.flush();
  };
  write_some(0, count / 2);
  tell("write to a full tier", seconds_of([&] { write_some(count / 2, count); }), count / 2, bytes / 2);
}

// True if the target was reached.
bool measure_start(const std::string& folder) {
  constexpr double kMostSeconds = 1;
  const std::vector<FileRef> files = make_files(200'000, 2'000, 3'000);
  const std::shared_ptr<std::byte[]> data(new std::byte[3'000]());
  {
    DiskTier tier(options_for(folder + "/many", 2ull << 30));
    for (const FileRef& file : files) {
      tier.write(file, 0, {data, file.version.size});
      if (tier.counts().queued_bytes > (32u << 20)) tier.flush();
    }
    tier.flush();
  }
  const std::size_t before = memory_kib();
  std::unique_ptr<DiskTier> tier;
  const double start =
      seconds_of([&] { tier = std::make_unique<DiskTier>(options_for(folder + "/many", 2ull << 30)); });
  const double adopt = seconds_of([&] {
    tier->adopt([&](const DiskTier::FileVisit& visit) {
      for (const FileRef& file : files) visit(file.id, file.path, file.version);
    });
  });
  printf("start with %lu samples: %.3f s, and %.3f s to adopt them; RSS %zu MB, %zu MB more than before\n",
         static_cast<unsigned long>(tier->counts().samples), start, adopt, memory_kib() / 1024,
         (memory_kib() - std::min(before, memory_kib())) / 1024);
  const bool reached = start <= kMostSeconds;
  printf("target: starting with 200,000 samples takes at most %.0f s: %s\n", kMostSeconds, reached ? "reached" : "MISSED");
  return reached;
}

}  // namespace
}  // namespace winnow

int main(int count, char** arguments) {
  if (count < 2) {
    fprintf(stderr, "usage: disk_bench FOLDER [FILES] [THREADS]\n");
    return 2;
  }
  const std::string folder = arguments[1];
  winnow::measure_transfer(folder, count > 2 ? std::strtoull(arguments[2], nullptr, 10) : 8'000,
                           count > 3 ? static_cast<unsigned>(atoi(arguments[3])) : 4);
  winnow::measure_churn(folder, count > 2 ? std::strtoull(arguments[2], nullptr, 10) : 8'000);
  return winnow::measure_start(folder) ? 0 : 1;
}
