#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <fstream>
#include <iostream>
#include <memory>
#include <mutex>
#include <thread>

#include "cache/result.h"
#include "fs/commands.h"
#include "fs/simulate_report.h"
#include "fs/trace.h"
#include "fs/units.h"
#include "policy/error.h"
#include "policy/ranked_eviction.h"

namespace winnow {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr const char* kPolicies[] = {"lru", "2-random", "none", "belady", "importance"};
constexpr const char* kSubstitutingPolicies[] = {"none", "importance"};

struct SimulateArguments {
  std::string trace;
  std::string generate;
  std::string bytes = "110K";
  std::vector<std::string> sizes{"5%", "10%", "20%", "50%", "100%"};
  std::string substitute = "10%";
  std::string substitute_from = "group";
  std::string unimportant = "50%";
  std::string scores;
  std::string plot;
  bool csv = false;
  bool json = false;
  GeneratedTrace wanted;
};

double parse_share(const std::string& option, const std::string& text) {
  constexpr std::uint64_t kWhole = 1'000'000'000;
  try {
    const std::uint64_t part = text.ends_with('%') ? parse_size(text, kWhole) : kWhole + 1;
    if (part <= kWhole) return static_cast<double>(part) / static_cast<double>(kWhole);
  } catch (const std::invalid_argument&) {  // told below
  }
  throw CLI::ValidationError(option, "must be a share like 10%, got " + text);
}

std::uint64_t parse_cache_size(const std::string& text, std::uint64_t whole) {
  try {
    const std::uint64_t bytes = parse_size(text, whole);
    if (bytes > 0) return bytes;
  } catch (const std::invalid_argument&) {  // told below
  }
  throw CLI::ValidationError("--sizes", "must be a list like 5%,20%,10G, got " + text);
}

AccessTrace make_trace(const SimulateArguments& arguments) {
  const double unimportant = parse_share("--unimportant", arguments.unimportant);
  if (arguments.generate.empty())
    return read_trace(arguments.trace, {.scores_file = arguments.scores, .unimportant = unimportant});
  GeneratedTrace wanted = arguments.wanted;
  wanted.kind = parse_trace_kind(arguments.generate);
  wanted.unimportant = unimportant;
  const std::size_t dash = arguments.bytes.find('-');
  try {
    wanted.least_bytes = parse_size(arguments.bytes.substr(0, dash), 0);
    wanted.most_bytes =
        dash == std::string::npos ? wanted.least_bytes : parse_size(arguments.bytes.substr(dash + 1), 0);
  } catch (const std::invalid_argument&) {
    throw CLI::ValidationError("--bytes", "must be a size like 110K or a range like 20K-110K, got " + arguments.bytes);
  }
  return generate(wanted);
}

SimulationReport planned(const SimulateArguments& arguments, const AccessTrace& trace) {
  SimulationReport report{
      .trace = arguments.generate.empty() ? arguments.trace : arguments.generate,
      .files = trace.samples.size(),
      .bytes = trace.total_bytes(),
      .epochs = trace.epoch_starts.size() + 1,
      .reads = trace.reads.size(),
      .first_reads = trace.first_reads(),
      .scored = static_cast<std::uint64_t>(std::count_if(
          trace.samples.begin(), trace.samples.end(), [](const TracedSample& one) { return one.scored; })),
      .sizes_differ = std::any_of(trace.samples.begin(), trace.samples.end(),
                                  [&](const TracedSample& one) {
                                    return one.bytes != trace.samples.front().bytes;
                                  }),
      .runs = {}};
  const double budget = parse_share("--substitute", arguments.substitute);
  const auto from =
      arguments.substitute_from == "class" ? SubstituteFrom::same_class : SubstituteFrom::group;
  for (const std::string& size : arguments.sizes) {
    SimulatedCache cache;
    cache.bytes = parse_cache_size(size, report.bytes);
    for (const char* policy : kPolicies) {
      cache.policy = policy;
      report.runs.push_back({size, policy, cache, {}});
    }
    if (report.scored == 0 || budget == 0) continue;
    cache.substitution = SubstitutionOptions{.from = from, .budget = budget};
    for (const char* policy : kSubstitutingPolicies) {
      cache.policy = policy;
      report.runs.push_back({size, std::string(policy) + "+" + arguments.substitute, cache, {}});
    }
  }
  return report;
}

// On a terminal, from the second second on: how far it is, and how long it will take.
class Progress {
 public:
  explicit Progress(std::uint64_t whole) : whole_(whole), thread_([this] { run(); }) {}
  ~Progress() {
    {
      const std::lock_guard lock(mutex_);
      done_ = true;
    }
    changed_.notify_all();
    thread_.join();
    if (shown_) std::cerr << "\r\033[K" << std::flush;
  }
  void add(std::uint64_t reads) { reads_ += reads; }

 private:
  void run() {
    const bool terminal = isatty(STDERR_FILENO) != 0;
    const auto began = Clock::now();
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, 250ms, [this] { return done_; })) {
      const std::chrono::duration<double> passed = Clock::now() - began;
      if (!terminal || passed < 1s || reads_ == 0) continue;
      show(static_cast<double>(reads_) / static_cast<double>(whole_), passed.count());
      shown_ = true;
    }
  }
  static void show(double part, double seconds) {
    constexpr int kWidth = 30;
    const int filled = static_cast<int>(part * kWidth);
    std::cerr << "\rsimulating [" << std::string(static_cast<std::size_t>(filled), '#')
              << std::string(static_cast<std::size_t>(kWidth - filled), ' ') << "] "
              << static_cast<int>(100 * part) << " %, " << static_cast<int>(seconds / part - seconds)
              << " s left\033[K" << std::flush;
  }

  const std::uint64_t whole_;
  std::atomic<std::uint64_t> reads_{0};
  std::mutex mutex_;  // guards done_
  std::condition_variable changed_;
  bool done_ = false;
  bool shown_ = false;
  std::thread thread_;
};

// One run per thread: they share only the trace.
void run_all(SimulationReport& report, const AccessTrace& trace) {
  const auto began = Clock::now();
  const std::vector<std::uint64_t> next = next_uses(trace.reads);
  {
    Progress progress(std::max<std::uint64_t>(1, report.reads * report.runs.size()));
    std::atomic<std::size_t> taken{0};
    const auto work = [&] {
      for (std::size_t i = taken++; i < report.runs.size(); i = taken++) {
        SimulationRun& run = report.runs[i];
        run.counts = simulate(trace, next, run.cache, [&](std::uint64_t reads) { progress.add(reads); });
      }
    };
    std::vector<std::jthread> threads;
    for (unsigned i = 1; i < std::max(1U, std::thread::hardware_concurrency()); ++i)
      threads.emplace_back(work);
    work();
  }
  report.seconds = std::chrono::duration<double>(Clock::now() - began).count();
}

void write_plot(const std::string& file, const SimulationReport& report) {
  std::ofstream out(file);
  out << as_svg(report) << std::flush;
  if (!out) throw StartupError("the plot cannot be written to " + file + "; name a file where you may write");
}

void run_simulate(const SimulateArguments& arguments) {
  if (arguments.trace.empty() == arguments.generate.empty())
    throw CLI::ValidationError("simulate", "needs either a trace or --generate; winnow status --record makes a trace");
  if (!arguments.plot.empty() && !arguments.plot.ends_with(".svg"))
    throw CLI::ValidationError("--plot", "writes SVG only; give " + arguments.plot + " the ending .svg");
  const AccessTrace trace = make_trace(arguments);
  SimulationReport report = planned(arguments, trace);
  run_all(report, trace);
  if (!arguments.plot.empty()) write_plot(arguments.plot, report);
  if (arguments.json) {
    std::cout << as_json(report).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
  } else {
    std::cout << (arguments.csv ? as_csv(report) : as_table(report));
  }
}

void add_trace_options(CLI::App& command, SimulateArguments& arguments) {
  command.add_option("trace", arguments.trace, "A recorded trace, as CSV; - is standard input");
  CLI::Option* generate =
      command.add_option("--generate", arguments.generate, "Instead of a trace, make one: shuffle, in-order or zipf")
          ->check(CLI::IsMember({"shuffle", "in-order", "zipf"}));
  const auto generated = [&](const char* name, auto& value, const char* meaning) {
    command.add_option(name, value, meaning)->needs(generate)->capture_default_str();
  };
  generated("--files", arguments.wanted.samples, "How many files the generated trace has");
  generated("--epochs", arguments.wanted.epochs, "How often it reads as many as there are");
  generated("--seed", arguments.wanted.seed, "Another seed, another trace");
  generated("--bytes", arguments.bytes, "The size of its files, or a range like 20K-110K");
  generated("--classes", arguments.wanted.labels, "How many labels its files have");
  command.add_option("--scores", arguments.scores, "CSV with columns path and score, for importance")
      ->excludes(generate);
}

}  // namespace

void add_simulate_command(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("simulate", "Replay a trace over cache sizes and policies and print exact hits");
  auto arguments = std::make_shared<SimulateArguments>();
  add_trace_options(*command, *arguments);
  command->add_option("--sizes", arguments->sizes, "Cache sizes: shares of the data set's bytes, or like 10G")
      ->delimiter(',')
      ->capture_default_str();
  command
      ->add_option("--substitute", arguments->substitute,
                   "The share of each class's reads in an epoch that may be substituted; 0% for none")
      ->capture_default_str();
  command
      ->add_option("--substitute-from", arguments->substitute_from,
                   "group: any of the same label; class: only unimportant ones")
      ->check(CLI::IsMember({"group", "class"}))
      ->capture_default_str();
  command
      ->add_option("--unimportant", arguments->unimportant,
                   "The share of the scored files, lowest scores first, that may be substituted")
      ->capture_default_str();
  CLI::Option* csv = command->add_flag("--csv", arguments->csv, "Print CSV");
  command->add_flag("--json", arguments->json, "Print JSON")->excludes(csv);
  command->add_option("--plot", arguments->plot, "Draw the exact hits over the cache sizes, as SVG");
  command->callback([arguments] { run_simulate(*arguments); });
}

}  // namespace winnow
