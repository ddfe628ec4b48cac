// Reads a list of files the way a data loader does: open, fstat, read whole, close, in a shuffled order, by
// several threads. Knows nothing of Winnow, so that every filesystem is measured by the same program.
//
//   bench_reader ROOT LIST BYTES [--threads N] [--epochs N] [--seed N] [--digest]
//
// LIST holds one path a line, relative to ROOT; BYTES is what all files together must hold. Prints one line
// of JSON. --digest also hashes what was read (outside of any measurement). Exit code 1: a read failed or the
// bytes are wrong.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

struct Options {
  unsigned threads = 2;
  unsigned epochs = 1;
  std::uint64_t seed = 1;
  bool digest = false;
};

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "bench_reader: %s\n", what.c_str());
  std::_Exit(1);
}

std::vector<std::string> load_paths(const std::string& root, const std::string& list) {
  std::ifstream in(list);
  if (!in) fail("cannot read " + list);
  std::vector<std::string> paths;
  for (std::string line; std::getline(in, line);) paths.push_back(root + "/" + line);
  if (paths.empty()) fail(list + " names no file");
  return paths;
}

// FNV-1a over the file, mixed with its place in the list: a file under another's name changes the sum.
std::uint64_t hash(std::uint64_t place, const char* bytes, std::size_t size) {
  std::uint64_t value = 14695981039346656037ull ^ (place * 0x9e3779b97f4a7c15ull);
  for (std::size_t i = 0; i < size; ++i)
    value = (value ^ static_cast<unsigned char>(bytes[i])) * 1099511628211ull;
  return value;
}

std::size_t read_whole(const std::string& path, std::vector<char>& buffer) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) fail("open " + path + ": " + std::strerror(errno));
  struct stat found {};
  if (fstat(fd, &found) != 0) fail("fstat " + path + ": " + std::strerror(errno));
  const auto size = static_cast<std::size_t>(found.st_size);
  if (buffer.size() < size) buffer.resize(size);
  std::size_t got = 0;
  while (got < size) {
    const ssize_t n = read(fd, buffer.data() + got, size - got);
    if (n < 0) fail("read " + path + ": " + std::strerror(errno));
    if (n == 0) break;
    got += static_cast<std::size_t>(n);
  }
  close(fd);
  return got;
}

double own_cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) { return time.tv_sec + time.tv_usec / 1e6; };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

class Epochs {
 public:
  Epochs(std::vector<std::string> paths, Options options)
      : paths_(std::move(paths)), options_(options), order_(paths_.size()), random_(options.seed) {
    std::iota(order_.begin(), order_.end(), 0u);
  }

  // Seconds of each epoch.
  std::vector<double> run() {
    std::barrier gate(static_cast<std::ptrdiff_t>(options_.threads) + 1);
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < options_.threads; ++i) {
      threads.emplace_back([&] {
        for (unsigned epoch = 0; epoch < options_.epochs; ++epoch) {
          gate.arrive_and_wait();
          read_share();
          gate.arrive_and_wait();
        }
      });
    }
    std::vector<double> seconds;
    for (unsigned epoch = 0; epoch < options_.epochs; ++epoch) {
      std::shuffle(order_.begin(), order_.end(), random_);
      next_ = 0;
      const auto began = std::chrono::steady_clock::now();
      gate.arrive_and_wait();
      gate.arrive_and_wait();
      seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
    }
    for (std::thread& thread : threads) thread.join();
    return seconds;
  }

  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t digest() const { return digest_; }

 private:
  void read_share() {
    constexpr std::size_t kStep = 16;
    std::vector<char> buffer(256 << 10);
    std::uint64_t bytes = 0;
    std::uint64_t digest = 0;
    for (std::size_t first; (first = next_.fetch_add(kStep)) < order_.size();) {
      for (std::size_t i = first; i < std::min(first + kStep, order_.size()); ++i) {
        const std::size_t size = read_whole(paths_[order_[i]], buffer);
        bytes += size;
        if (options_.digest) digest += hash(order_[i], buffer.data(), size);
      }
    }
    bytes_ += bytes;
    digest_ += digest;
  }

  const std::vector<std::string> paths_;
  const Options options_;
  std::vector<std::uint32_t> order_;  // written between epochs, while the threads wait at the gate
  std::mt19937_64 random_;
  std::atomic<std::size_t> next_{0};
  std::atomic<std::uint64_t> bytes_{0};
  std::atomic<std::uint64_t> digest_{0};
};

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 4; i < argc; ++i) {
    const std::string word = argv[i];
    const auto number = [&] {
      if (i + 1 >= argc) fail(word + " needs a number");
      return std::strtoull(argv[++i], nullptr, 10);
    };
    if (word == "--threads") {
      options.threads = static_cast<unsigned>(number());
    } else if (word == "--epochs") {
      options.epochs = static_cast<unsigned>(number());
    } else if (word == "--seed") {
      options.seed = number();
    } else if (word == "--digest") {
      options.digest = true;
    } else {
      fail("unknown option " + word);
    }
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr,
                 "usage: bench_reader ROOT LIST BYTES [--threads N] [--epochs N] [--seed N] [--digest]\n");
    return 2;
  }
  const Options options = parse(argc, argv);
  auto paths = load_paths(argv[1], argv[2]);
  const std::uint64_t expected = std::strtoull(argv[3], nullptr, 10) * options.epochs;
  const std::size_t files = paths.size();
  Epochs epochs(std::move(paths), options);
  const double cpu_before = own_cpu_seconds();
  const auto seconds = epochs.run();
  const double cpu_seconds = own_cpu_seconds() - cpu_before;
  if (epochs.bytes() != expected) {
    fail("read " + std::to_string(epochs.bytes()) + " bytes under " + argv[1] + ", expected " +
         std::to_string(expected));
  }
  std::printf("{\"files\": %zu, \"digest\": \"%016llx\", \"cpu_seconds\": %.6f, \"seconds\": [", files,
              static_cast<unsigned long long>(epochs.digest()), cpu_seconds);
  for (std::size_t i = 0; i < seconds.size(); ++i) std::printf("%s%.9f", i > 0 ? ", " : "", seconds[i]);
  std::printf("]}\n");
}
