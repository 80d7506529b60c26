// SPDX-License-Identifier: MIT
// Which function took how many cycles, against the cycle in which each instruction executed.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "decode/pt/native_decoder.h"
#include "flowback/decode/decoder.h"
#include "replay/timeline/call_relay.h"
#include "replay/timeline/cycle_shares.h"
#include "replay/timeline/thread_timeline_builder.h"
#include "tests/support/generator/stream_generator.h"
#include "tests/timeline/relay_feed.h"

namespace flowback {
namespace {

// Functions of a sixteenth of a kilobyte.
class SmallFunctions final : public FunctionFinder {
 public:
  FunctionPiece Find(const AddressSpace*, uint64_t ip) override {
    const uint64_t begin = ip & ~uint64_t{0x3f};
    return {.begin = begin, .end = begin + 0x40, .id = begin, .is_entry = true};
  }
};

struct TrueCycles {
  uint64_t surely = 0;
  uint64_t perhaps =
      0;  // beside those: of first instructions behind a pause, whose begin is unknown
};

// By FunctionPiece::id, 0 for all.
struct TrueSums {
  // By function and instructions: those of each call.
  std::map<std::pair<uint64_t, uint64_t>, std::vector<TrueCycles>> calls;
  std::map<uint64_t, TrueCycles> own;
  std::map<uint64_t, TrueCycles> with_calls;
  std::set<uint64_t> found_late;  // functions of which some call was not seen to begin
};

class TrueTeller final : public ExecutionConsumer, private CallListener {
 public:
  TrueTeller(FunctionFinder& functions, const std::vector<uint64_t>& cycles)
      : stack_(functions, *this), cycles_(cycles) {}

  void OnBlock(const BlockRun& run) override {
    stack_.Arrive(run);
    std::set<uint64_t> on_stack{0};
    for (const Call& call : stack_.calls()) on_stack.insert(call.function);
    for (size_t i = 0; i < run.lengths.size(); ++i, ++index_) {
      const uint64_t before = index_ == 0 ? cycles_[0] : cycles_[index_ - 1];
      const uint64_t took = cycles_[index_] - before;
      const bool whole = !std::exchange(off_, false);
      if (!whole) behind_pause_.insert(index_);
      Add(whole, took, sums.own[stack_.calls().back().function]);
      for (const uint64_t function : on_stack) Add(whole, took, sums.with_calls[function]);
    }
    stack_.OnBlock(run);
  }
  void OnEvent(const TraceEvent& event) override {
    off_ = off_ || event.kind == EventKind::kStopped || event.kind == EventKind::kStoppedAsync;
    stack_.OnEvent(event);
  }
  void OnLoss(const DataLoss& loss) override {
    off_ = true;
    stack_.OnLoss(loss);
  }
  void Finish() { stack_.Finish(); }
  TrueSums sums;

 private:
  static void Add(bool whole, uint64_t took, TrueCycles& to) {
    (whole ? to.surely : to.perhaps) += took;
  }
  void OnEnter(const Call& call, size_t) override {
    if (call.entry == CallEntry::kReturnedTo) sums.found_late.insert(call.function);
  }
  void OnExit(const Call& call, size_t, CallExit, uint64_t instructions, const ExitTime&) override {
    TrueCycles cycles;
    for (uint64_t i = call.instructions_before; i < stack_.instructions(); ++i) {
      const uint64_t took = cycles_[i] - (i == 0 ? cycles_[0] : cycles_[i - 1]);
      Add(!behind_pause_.contains(i), took, cycles);
    }
    sums.calls[{call.function, instructions}].push_back(cycles);
  }
  void OnGap(const UntracedGap&, size_t) override {}

  CallStack stack_;
  std::set<uint64_t> behind_pause_;
  const std::vector<uint64_t>& cycles_;
  uint64_t index_ = 0;
  bool off_ = true;
};

testing::GeneratorOptions OptionsOf(uint64_t seed) {
  testing::GeneratorOptions options = CycleOptions(seed);
  if (seed % 3 == 0) options.system_calls = options.filter = false;
  return options;
}

struct Tally {
  uint64_t compared = 0;
  uint64_t likely = 0;
  uint64_t lo = 0;
  uint64_t hi_known = 0;
  uint64_t truth = 0;
};

void Expect(const TrueCycles& truth, const CycleShare& told, const std::string& what,
            Tally& tally) {
  EXPECT_LE(told.lo, told.likely) << what;
  EXPECT_LE(told.likely, told.hi) << what;
  EXPECT_LE(told.lo, truth.surely + truth.perhaps) << what;
  if (told.untold == 0) {
    EXPECT_GE(told.hi, truth.surely) << what;
  }
  ++tally.compared;
  tally.hi_known += told.untold == 0 ? 1 : 0;
  tally.lo += told.lo;
  tally.likely += told.likely;
  tally.truth += truth.surely;
}

// Checks calls that differ from all others of the function.
void ExpectCalls(const TrueSums& truth, const ThreadTimeline& thread,
                 const std::vector<TimelineFunction>& functions, Tally& tally) {
  for (const TimelineCall& call : thread.calls) {
    if (call.cycles == 0) continue;
    const uint64_t id = functions[call.function].entry_ip & ~uint64_t{0x3f};
    const auto found = truth.calls.find({id, call.instructions});
    ASSERT_NE(found, truth.calls.end());
    if (found->second.size() != 1) continue;
    const TrueCycles& its = found->second.front();
    EXPECT_LE(call.cycles_lo, its.surely + its.perhaps) << functions[call.function].name;
    EXPECT_LE(call.cycles_lo, call.cycles);
    ++tally.compared;
    tally.likely += call.cycles;
    tally.lo += call.cycles_lo;
    tally.truth += its.surely;
  }
}

TEST(CyclesOfCallsTest, TruthLiesInTheirBounds) {
  Tally calls;
  Tally own;
  Tally with_calls;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    const testing::GeneratedStream stream = GenerateStream(OptionsOf(seed));
    SCOPED_TRACE(Describe(stream.options));
    const AddressSpaceHistory code = CodeOf(stream);
    DecodeInput input;
    input.bytes = stream.bytes;
    input.code = &code;
    input.config = stream.config;
    input.times = true;
    SmallFunctions finder;
    TrueTeller truth(finder, stream.truth.cycles);
    const std::unique_ptr<Decoder> decoder = pt::MakeNativeDecoder();
    ASSERT_TRUE(decoder->Decode(input, truth));
    truth.Finish();

    Symbolizer symbolizer;
    FunctionTable functions(symbolizer);
    const TimelineOptions options;
    const BuilderPlan plan{
        .unit = TimeUnit({}), .options = options, .functions = functions, .most_calls = 1 << 20};
    ThreadTimelineBuilder teller(plan, nullptr, TimeStrip(0, 0, 0));
    CallRelay relay(finder, teller,
                    seed / 6 % 2 == 0);  // the result does not depend on who adds up
    RelayFeed feed(relay);
    ASSERT_TRUE(decoder->Decode(input, feed));
    ThreadTimeline thread;
    relay.Flush();
    teller.EndLife();
    relay.Finish();
    relay.Flush();
    teller.Finish(thread);
    const std::vector<CallPath> tree = teller.tree().Paths(0);
    const std::vector<CallSums> sums = teller.tree().ByFunction(functions.all().size());
    for (size_t i = 0; i < sums.size(); ++i) {
      if (functions.all()[i].is_system_call) {  // none of the traced cycles are its
        EXPECT_EQ(sums[i].cycles.hi, 0u);
        continue;
      }
      const uint64_t id = functions.all()[i].entry_ip & ~uint64_t{0x3f};
      const std::string what = functions.all()[i].name;
      Expect(truth.sums.own[id], sums[i].self_cycles, what + " own", own);
      if (!truth.sums.found_late.contains(id))
        Expect(truth.sums.with_calls[id], sums[i].cycles, what, with_calls);
    }
    Expect(truth.sums.with_calls[0], tree[0].sums.cycles, "all", with_calls);
    ExpectCalls(truth.sums, thread, functions.all(), calls);
    // What each has of its own is what all have.
    uint64_t sum = 0;
    for (const CallPath& path : tree) {
      sum += path.sums.self_cycles.likely;
      EXPECT_LE(path.sums.cycles.lo, path.sums.cycles.likely) << "depth " << path.depth;
      EXPECT_LE(path.sums.cycles.likely, path.sums.cycles.hi) << "depth " << path.depth;
    }
    EXPECT_EQ(sum, tree[0].sums.cycles.likely);
  }
  std::printf("own: %llu functions, %llu of %llu cycles told, %llu proven, %llu with a limit\n",
              static_cast<unsigned long long>(own.compared),
              static_cast<unsigned long long>(own.likely),
              static_cast<unsigned long long>(own.truth), static_cast<unsigned long long>(own.lo),
              static_cast<unsigned long long>(own.hi_known));
  std::printf(
      "%llu calls: %llu cycles, %llu told, %llu proven\n",
      static_cast<unsigned long long>(calls.compared), static_cast<unsigned long long>(calls.truth),
      static_cast<unsigned long long>(calls.likely), static_cast<unsigned long long>(calls.lo));
  EXPECT_GT(calls.compared, 1000u);
  EXPECT_LT(calls.likely, calls.truth + calls.truth / 20);
  EXPECT_GT(calls.likely, calls.truth - calls.truth / 20);
  EXPECT_GT(calls.lo * 2, calls.truth);
  EXPECT_GT(own.compared, 1000u);
  EXPECT_GT(with_calls.compared, 500u);
  EXPECT_GT(own.likely * 10, own.truth * 9);
  EXPECT_GT(own.lo * 5, own.truth);
  EXPECT_GT(own.hi_known * 2, own.compared);
}

}  // namespace
}  // namespace flowback
