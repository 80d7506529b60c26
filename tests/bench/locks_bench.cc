// SPDX-License-Identifier: MIT
// What the parts of `locks` cost, each over the whole flow of one recording: decoding alone, then
// with the search for loops that wait, with the calls, and with the search and the calls.
//   locks_bench RECORDING [Google Benchmark's options]
#include <benchmark/benchmark.h>

#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "flowback/replay/call_stack.h"
#include "flowback/session.h"
#include "replay/locks/spin_finder.h"

namespace {

using namespace flowback;

class NobodyListens final : public CallListener {
 public:
  UsualCallDelivery WantsUsual() const override { return UsualCallDelivery::kNot; }
  void OnEnter(const Call&, size_t) override {}
  void OnExit(const Call&, size_t, CallExit, uint64_t, const ExitTime&) override {}
  void OnGap(const UntracedGap&, size_t) override {}
};

struct Parts {
  bool search = false;
  bool calls = false;
};

// Gives the flow to the parts that are wanted.
class Consumer final : public PlayConsumer {
 public:
  Consumer(Session& session, const Parts& parts) : session_(session), parts_(parts) {}

  void OnThreadBegin(const ThreadFlow&, size_t) override {
    if (parts_.search) finder_.emplace(blocks_, loops_);
    if (parts_.calls) stack_.emplace(session_.functions(), nobody_);
  }
  void OnThreadEnd(const ThreadFlow&, size_t) override {
    if (finder_) finder_->Finish();
    if (stack_) stack_->Finish();
    Forget();
  }
  void OnBlock(const BlockRun& run) override {
    instructions_ += run.lengths.size();
    if (finder_) finder_->OnBlock(run);
    if (stack_) stack_->OnBlock(run);
    Forget();
  }
  void OnBlocks(const BlockBatch& batch) override {
    instructions_ += batch.instructions();
    if (finder_) finder_->OnBlocks(batch);
    if (stack_) stack_->OnBlocks(batch);
    Forget();
  }
  void OnEvent(const TraceEvent& event) override {
    if (stack_) stack_->OnEvent(event);
  }
  void OnLoss(const DataLoss& loss) override {
    if (finder_) finder_->OnLoss(loss);
    if (stack_) stack_->OnLoss(loss);
  }
  uint64_t instructions() const { return instructions_; }

 private:
  void Forget() {
    if (!finder_) return;
    benchmark::DoNotOptimize(finder_->TakeBegun());
    benchmark::DoNotOptimize(finder_->TakeEnded());
  }

  Session& session_;
  const Parts parts_;
  LoopBlocks blocks_;
  WaitLoops loops_;
  NobodyListens nobody_;
  std::optional<SpinFinder> finder_;
  std::optional<CallStack> stack_;
  uint64_t instructions_ = 0;
};

void Play(benchmark::State& state, Session& session, const Parts& parts) {
  uint64_t instructions = 0;
  for ([[maybe_unused]] auto pass : state) {
    Consumer consumer(session, parts);
    if (const Status played = session.Play(consumer); !played) {
      state.SkipWithError(played.error().message().c_str());
      return;
    }
    instructions += consumer.instructions();
  }
  state.SetItemsProcessed(static_cast<int64_t>(instructions));
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (argc != 2) {
    std::fputs("usage: locks_bench RECORDING [--benchmark_...]\n", stderr);
    return 2;
  }
  SessionOptions options;
  options.open.input = argv[1];
  options.threads = 1;
  Result<Session> session = Session::Open(options);
  if (!session) {
    std::fprintf(stderr, "%s\n", session.error().message().c_str());
    return 1;
  }
  const auto add = [&](const char* name, Parts parts) {
    benchmark::RegisterBenchmark(name, [&session, parts](benchmark::State& state) {
      Play(state, *session, parts);
    })->Unit(benchmark::kMillisecond);
  };
  add("decode", {});
  add("decode_search", {.search = true});
  add("decode_calls", {.calls = true});
  add("decode_search_calls", {.search = true, .calls = true});
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
