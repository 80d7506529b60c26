// SPDX-License-Identifier: MIT
// How fast the native engine counts a flow, and hands on all of it with times, and how that
// compares with libipt's decoders. See README.md beside this file.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "base/step_times.h"
#include "flowback/model/block_batch.h"
#include "tests/bench/libipt_peer.h"
#include "tests/bench/workload.h"
#include "tests/support/flow_consumers.h"

namespace flowback::bench {
namespace {

constexpr int kRepetitions = 5;

// Takes the flow as an analysis would that keeps sums only: of each batch the digest, the bounds
// and the time of its end.
class BatchTaker : public ExecutionConsumer {
 public:
  void OnBlock(const BlockRun& run) override {
    AppendRun(run, digest_);
    Add(run.bounds, run.tsc);
  }
  void OnBlocks(const BlockBatch& batch) override {
    digest_ = batch.behind;
    for (const TimedPart& part : batch.times) Add(part.bounds, part.line.At(part.end));
    blocks_ += batch.steps.size();
  }
  void OnEvent(const TraceEvent&) override {}
  void OnLoss(const DataLoss&) override {}

  const FlowDigest& digest() const { return digest_; }

 protected:
  void Add(const TscInterval& bounds, uint64_t tsc) {
    width_ += bounds.hi - bounds.lo;
    last_ = tsc;
  }

  FlowDigest digest_;
  uint64_t width_ = 0;
  uint64_t last_ = 0;
  uint64_t blocks_ = 0;
};

// Looks at every block: where it is, how it was left, how many instructions it has.
class StepTaker : public BatchTaker {
 public:
  void OnBlocks(const BlockBatch& batch) override {
    const BlockTable& table = *batch.table;
    uint64_t sum = 0;
    uint64_t count = 0;
    for (const BlockStep step : batch.steps) {
      const CodeBlock& block = table[step.number()];
      sum += block.address + step.value;
      count += block.count;
    }
    sum_ += sum;
    digest_.count += count;
    for (const TimedPart& part : batch.times) Add(part.bounds, part.line.At(part.end));
  }

 private:
  uint64_t sum_ = 0;
};

// The same with the time of each block's last instruction.
class TimedStepTaker final : public BatchTaker {
 public:
  void OnBlocks(const BlockBatch& batch) override {
    uint64_t sum = 0;
    ForEachStep(batch, [&sum](const CodeBlock& block, BlockStep step, uint64_t, uint64_t tsc) {
      sum += (block.address + step.value) ^ tsc;
    });
    sum_ += sum;
    digest_.count += batch.instructions();
    for (const TimedPart& part : batch.times) Add(part.bounds, part.line.At(part.end));
  }

 private:
  uint64_t sum_ = 0;
};

// Gets each block by itself, with the times of its ends.
class RunTaker final : public BatchTaker {
 public:
  void OnBlock(const BlockRun& run) override {
    digest_.count += run.lengths.size();
    sum_ += run.address + run.next;
    Add(run.bounds, run.tsc);
  }
  void OnBlocks(const BlockBatch& batch) override { ExecutionConsumer::OnBlocks(batch); }

 private:
  uint64_t sum_ = 0;
};

// Checks the digest of every batch by its instructions.
class DigestChecker final : public BatchTaker {
 public:
  void OnBlocks(const BlockBatch& batch) override {
    right_ &= batch.before == digest_;
    for (BlockRuns runs(batch); runs.Next();) BatchTaker::OnBlock(runs.run());
    right_ &= batch.behind == digest_;
  }
  bool right() const { return right_; }

 private:
  bool right_ = true;
};

// One workload with both decoders, warm after the comparison of counts.
struct Contest {
  Workload workload;
  std::unique_ptr<Decoder> native;
  std::unique_ptr<LibiptPeer> libipt;
  uint64_t instructions = 0;
};

DecodeInput TimedInput(const Workload& workload) {
  DecodeInput input = workload.Input();
  input.times = true;
  return input;
}

Result<Contest> Prepare(Workload workload) {
  Contest contest;
  contest.workload = std::move(workload);
  Result<std::unique_ptr<Decoder>> native = MakeDecoder("native");
  if (!native) return Fail(native.error());
  contest.native = std::move(*native);
  Result<LibiptPeer> libipt = LibiptPeer::Create(contest.workload);
  if (!libipt) return Fail(libipt.error());
  contest.libipt = std::make_unique<LibiptPeer>(std::move(*libipt));
  const Result<FlowSummary> summary = contest.native->Summarize(contest.workload.Input());
  if (!summary) return Fail(summary.error());
  contest.instructions = summary->digest.count;
  for (const LibiptDecoder with : {LibiptDecoder::kBlocks, LibiptDecoder::kInstructions}) {
    const uint64_t theirs = contest.libipt->Decode(with);
    if (theirs == contest.instructions) continue;
    const char* name = with == LibiptDecoder::kBlocks ? "block" : "instruction";
    return Fail(ErrorCode::kSystem,
                contest.workload.name + ": native counts " + std::to_string(contest.instructions) +
                    " instructions, libipt's " + name + " decoder " + std::to_string(theirs));
  }
  DigestChecker checker;
  if (!contest.native->Decode(TimedInput(contest.workload), checker) || !checker.right() ||
      checker.digest() != summary->digest)
    return Fail(ErrorCode::kSystem, contest.workload.name + ": the flow is not what is counted");
  return contest;
}

void Report(benchmark::State& state, const Contest& contest) {
  const auto iterations = static_cast<int64_t>(state.iterations());
  state.SetItemsProcessed(iterations * static_cast<int64_t>(contest.instructions));
  state.counters["instructions"] = static_cast<double>(contest.instructions);
  state.SetBytesProcessed(iterations * static_cast<int64_t>(contest.workload.bytes.size()));
}

void RunNative(benchmark::State& state, Contest* contest) {
  const DecodeInput input = contest->workload.Input();
  for (auto _ : state) benchmark::DoNotOptimize(contest->native->Summarize(input)->digest.count);
  Report(state, *contest);
}

// Looks at all that it gets, as whoever adds them up must.
class CountTaker final : public BlockCountConsumer {
 public:
  void OnCounts(const ThreadStay*, const BlockCounts& counts) override {
    for (const BlockUse& use : counts.uses) instructions_ += use.count * use.times;
  }
  uint64_t instructions() const { return instructions_; }

 private:
  uint64_t instructions_ = 0;
};

void RunBlockCounts(benchmark::State& state, Contest* contest) {
  const DecodeInput input = contest->workload.Input();
  for (auto _ : state) {
    CountTaker taker;
    if (!contest->native->Count(input, taker)) state.SkipWithError("no counts");
    if (taker.instructions() != contest->instructions) state.SkipWithError("another flow");
  }
  Report(state, *contest);
}

template <class Taker>
void RunFlow(benchmark::State& state, Contest* contest) {
  const DecodeInput input = TimedInput(contest->workload);
  for (auto _ : state) {
    Taker taker;
    if (!contest->native->Decode(input, taker)) state.SkipWithError("no flow");
    benchmark::DoNotOptimize(taker);
    if (taker.digest().count != contest->instructions) state.SkipWithError("another flow");
  }
  Report(state, *contest);
}

void RunLibipt(benchmark::State& state, Contest* contest) {
  for (auto _ : state) benchmark::DoNotOptimize(contest->libipt->Decode());
  Report(state, *contest);
}

void RunLibiptInstructions(benchmark::State& state, Contest* contest) {
  for (auto _ : state)
    benchmark::DoNotOptimize(contest->libipt->Decode(LibiptDecoder::kInstructions));
  Report(state, *contest);
}

struct Engine {
  const char* name;
  void (*run)(benchmark::State&, Contest*);
};

constexpr Engine kEngines[] = {
    {"native", RunNative},
    {"block_counts", RunBlockCounts},
    {"flow", RunFlow<BatchTaker>},
    {"flow-steps", RunFlow<StepTaker>},
    {"flow-step-times", RunFlow<TimedStepTaker>},
    {"flow-runs", RunFlow<RunTaker>},
    {"libipt", RunLibipt},
    {"libipt-instructions", RunLibiptInstructions},
};

// Prints as usual, and keeps each median for the ratios.
class MedianReporter final : public benchmark::ConsoleReporter {
 public:
  void ReportRuns(const std::vector<Run>& runs) override {
    ConsoleReporter::ReportRuns(runs);
    for (const Run& run : runs)
      if (run.aggregate_name == "median")
        medians_[run.run_name.function_name] = run.GetAdjustedCPUTime();
  }
  double MedianOf(const std::string& name) const {
    const auto found = medians_.find(name);
    return found == medians_.end() ? 0 : found->second;
  }

 private:
  std::map<std::string, double> medians_;
};

void Register(Contest* contest, const char* engine, void (*run)(benchmark::State&, Contest*)) {
  benchmark::RegisterBenchmark((contest->workload.name + "/" + engine).c_str(), run, contest)
      ->Repetitions(kRepetitions)
      ->DisplayAggregatesOnly()
      ->Unit(benchmark::kMillisecond);
}

// 0 when every ratio is at least `required`.
int PrintRatios(const std::vector<Contest>& contests, const MedianReporter& reporter,
                double required) {
  int status = 0;
  for (const Contest& contest : contests) {
    const std::string& name = contest.workload.name;
    const double libipt = reporter.MedianOf(name + "/libipt");
    for (const Engine& engine : kEngines) {
      const double native = reporter.MedianOf(name + "/" + engine.name);
      if (native == 0 || libipt == 0 || engine.run == RunLibipt) continue;  // filtered out
      std::printf("%s: %llu instructions, %s %.2f times as fast as libipt's block decoder\n",
                  name.c_str(), static_cast<unsigned long long>(contest.instructions), engine.name,
                  libipt / native);
      if (engine.run == RunNative && libipt / native < required) status = 1;
    }
  }
  return status;
}

double TakeRequired(std::vector<std::string>& arguments) {
  double required = 0;
  std::erase_if(arguments, [&required](const std::string& argument) {
    constexpr std::string_view kName = "--require-ratio=";
    if (!argument.starts_with(kName)) return false;
    required = std::stod(argument.substr(kName.size()));
    return true;
  });
  return required;
}

int Main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  std::vector<std::string> arguments(argv + 1, argv + argc);
  const double required = TakeRequired(arguments);
  if (arguments.empty()) arguments = {"big-gzip", "big-sqlite3"};
  Result<std::vector<Workload>> workloads = TakeWorkloads(arguments);
  if (!workloads || !arguments.empty()) {
    std::fprintf(stderr, "decode_bench: %s\n",
                 workloads ? ("unknown argument " + arguments[0]).c_str()
                           : workloads.error().message().c_str());
    return 2;
  }
  std::vector<Contest> contests;
  for (Workload& workload : *workloads) {
    Result<Contest> contest = Prepare(std::move(workload));
    if (!contest) {
      std::fprintf(stderr, "decode_bench: %s\n", contest.error().message().c_str());
      return 1;
    }
    contests.push_back(std::move(*contest));
  }
  for (Contest& contest : contests)
    for (const Engine& engine : kEngines) Register(&contest, engine.name, engine.run);
  MedianReporter reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter);
  return PrintRatios(contests, reporter, required);
}

}  // namespace
}  // namespace flowback::bench

int main(int argc, char** argv) { return flowback::bench::Main(argc, argv); }
