// SPDX-License-Identifier: MIT
// The flow with times on a machine that others use, too: of each batch the least time that it took
// in many passes, by decoder and consumer. What interrupts a pass hits a few batches only, so the
// sums hardly change, where whole passes take up to twice as long. See README.md beside this file.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

#include "base/step_times.h"
#include "flowback/model/block_batch.h"
#include "tests/bench/libipt_peer.h"
#include "tests/bench/workload.h"

namespace flowback::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kPasses = 30;

double Milliseconds(Clock::duration time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

// The least of each of many times.
class LeastTimes {
 public:
  void Add(size_t number, Clock::duration time) {
    if (number == times_.size()) times_.push_back(time);
    times_[number] = std::min(times_[number], time);
  }
  double Sum() const {
    Clock::duration sum{};
    for (const Clock::duration time : times_) sum += time;
    return Milliseconds(sum);
  }

 private:
  std::vector<Clock::duration> times_;
};

// The use of each batch.
enum class Use { kBatches, kSteps, kStepTimes };
constexpr struct {
  const char* name;
  Use use;
} kUses[] = {{"batches", Use::kBatches},
             {"every block", Use::kSteps},
             {"every block with its time", Use::kStepTimes}};

class Taker final : public ExecutionConsumer {
 public:
  explicit Taker(Use use) : use_(use) {}

  void Begin() {
    batch_ = 0;
    count_ = 0;
    last_ = Clock::now();
  }
  void End() { decoder_.Add(batch_, Clock::now() - last_); }

  void OnBlock(const BlockRun& run) override { count_ += run.lengths.size(); }
  void OnBlocks(const BlockBatch& batch) override {
    const Clock::time_point begin = Clock::now();
    decoder_.Add(batch_, begin - last_);
    uint64_t sum = 0;
    if (use_ == Use::kStepTimes) {
      ForEachStep(batch, [&sum](const CodeBlock& block, BlockStep step, uint64_t, uint64_t tsc) {
        sum += (block.address + step.value) ^ tsc;
      });
    } else if (use_ == Use::kSteps) {
      for (const BlockStep step : batch.steps)
        sum += (*batch.table)[step.number()].address + step.value;
    }
    sum_ += sum;
    count_ += batch.instructions();
    last_ = Clock::now();
    consumer_.Add(batch_, last_ - begin);
    ++batch_;
  }
  void OnEvent(const TraceEvent&) override {}
  void OnLoss(const DataLoss&) override {}

  double decoder() const { return decoder_.Sum(); }
  double consumer() const { return consumer_.Sum(); }
  uint64_t count() const { return count_; }
  uint64_t sum() const { return sum_; }

 private:
  Use use_;
  size_t batch_ = 0;
  Clock::time_point last_;
  uint64_t count_ = 0;
  uint64_t sum_ = 0;
  LeastTimes decoder_;
  LeastTimes consumer_;
};

// libipt's block decoder has no batches: the least CPU time of a whole pass, in milliseconds. 0: it
// is not there.
double LibiptTime(const Workload& workload, uint64_t& instructions) {
  Result<LibiptPeer> libipt = LibiptPeer::Create(workload);
  if (!libipt) return 0;
  double least = 1e9;
  for (int pass = 0; pass < kPasses / 3; ++pass) {
    const std::clock_t begin = std::clock();
    instructions = libipt->Decode();
    least = std::min(least, 1e3 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
  }
  return least;
}

bool Measure(const Workload& workload) {
  uint64_t instructions = 0;
  const double libipt = LibiptTime(workload, instructions);
  std::printf("%s: libipt %.1f ms\n", workload.name.c_str(), libipt);
  for (const auto& [name, use] : kUses) {
    Result<std::unique_ptr<Decoder>> decoder = MakeDecoder("native");
    if (!decoder) return false;
    DecodeInput input = workload.Input();
    input.times = true;
    Taker taker(use);
    if (!(*decoder)->Decode(input, taker)) return false;  // learns the code
    taker = Taker(use);
    for (int pass = 0; pass < kPasses; ++pass) {
      taker.Begin();
      if (!(*decoder)->Decode(input, taker) || taker.count() != instructions) return false;
      taker.End();
    }
    const double all = taker.decoder() + taker.consumer();
    std::printf("  %-26s %6.2f ms (decoder %.2f, consumer %.2f), %.1f times; sum %llx\n", name, all,
                taker.decoder(), taker.consumer(), libipt / all,
                static_cast<unsigned long long>(taker.sum()));
  }
  return true;
}

int Main(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.empty()) arguments = {"big-gzip", "big-sqlite3"};
  const Result<std::vector<Workload>> workloads = TakeWorkloads(arguments);
  if (!workloads || !arguments.empty()) {
    std::fprintf(stderr, "steady_bench: %s\n",
                 workloads ? ("unknown argument " + arguments[0]).c_str()
                           : workloads.error().message().c_str());
    return 2;
  }
  for (const Workload& workload : *workloads) {
    if (Measure(workload)) continue;
    std::fprintf(stderr, "steady_bench: %s: no flow, or another one than libipt's\n",
                 workload.name.c_str());
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace flowback::bench

int main(int argc, char** argv) { return flowback::bench::Main(argc, argv); }
