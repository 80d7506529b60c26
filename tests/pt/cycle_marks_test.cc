// SPDX-License-Identifier: MIT
// How many cycles the flow took, from mark to mark.
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "decode/pt/time/time_estimator.h"
#include "tests/pt/times_fixture.h"
#include "tests/support/generator/stream_generator.h"

namespace flowback::pt::times {
namespace {

using Since = CycleMark::Since;

// A mark behind so many instructions.
struct Placed {
  uint64_t count = 0;
  Since since{};
  uint64_t cycles = 0;
  bool of_event = false;

  friend bool operator==(const Placed&, const Placed&) = default;
  friend void PrintTo(const Placed& at, std::ostream* out) {
    *out << at.count << " since " << static_cast<int>(at.since) << " cycles " << at.cycles
         << (at.of_event ? " event" : "");
  }
};

class MarkRecorder final : public ExecutionConsumer {
 public:
  void OnBlock(const BlockRun& run) override {
    count_ += run.lengths.size();
    Add(run.cycles, false);
  }
  void OnEvent(const TraceEvent& event) override { Add(event.cycles, true); }
  void OnLoss(const DataLoss&) override {}

  std::vector<Placed> marks;

 private:
  void Add(CycleMark mark, bool of_event) {
    if (mark.any()) marks.push_back({count_, mark.since(), mark.cycles(), of_event});
  }

  uint64_t count_ = 0;
};

class CycleMarksTest : public TimesTest {
 protected:
  std::vector<Placed> Marks() {
    Decode();
    DecodeInput input;
    input.bytes = writer_.bytes();
    input.code = &history_;
    input.config = Config();
    input.times = true;
    MarkRecorder recorder;
    EXPECT_TRUE(MakeNativeDecoder()->Decode(input, recorder));
    return recorder.marks;
  }
  void Cycles(uint64_t cycles) {
    writer_.FlushTnt();
    writer_.TimePacket(Cyc{cycles});
  }
};

// Each stands at the first branch of the packet that it times. An MTC's instructions may be the
// next one's, too: its exact place is unknown.
TEST_F(CycleMarksTest, StandWhereCycTimesABranch) {
  Cycles(500);
  Loop(6);
  Cycles(40);
  Loop(6);
  Cycles(7);
  writer_.TimePacket(Mtc{9});
  Cycles(5);
  Loop(6);
  writer_.TimePacket(Mtc{10});
  Cycles(9);
  Loop(6);
  writer_.TimePacket(Mtc{11});
  EXPECT_EQ(Marks(), (std::vector<Placed>{{2, Since::kUnknown, 0},
                                          {14, Since::kFlow, 40},
                                          {26, Since::kFlow, 12},
                                          {38, Since::kFlow, 9}}));
}

TEST_F(CycleMarksTest, APauseHasItsOwn) {
  Cycles(10);
  writer_.TntBit(false);
  Cycles(20);
  writer_.Tip(kSyscall);
  Cycles(30);
  writer_.TipPgd(std::nullopt);
  Cycles(4000);
  writer_.TipPge(kCode);
  Cycles(50);
  Loop(6);
  writer_.TimePacket(Mtc{10});
  EXPECT_EQ(Marks(), (std::vector<Placed>{{2, Since::kUnknown, 0},
                                          {3, Since::kFlow, 20},
                                          {4, Since::kFlow, 30},
                                          {4, Since::kPause, 4000, true},
                                          {6, Since::kFlow, 50}}));
}

// A processor that leaves out CYC packets of few cycles, by its setting.
TEST_F(CycleMarksTest, CyclesThatAPauseHadAShareInAreNobodys) {
  Cycles(10);
  writer_.TntBit(false);
  writer_.Tip(kSyscall);
  writer_.TipPgd(std::nullopt);
  Cycles(4000);
  writer_.TipPge(kCode);
  Cycles(50);
  Loop(6);
  Cycles(60);
  writer_.TntBit(false);
  Cycles(70);
  writer_.Tip(kSyscall);
  Cycles(80);
  writer_.TipPgd(std::nullopt);
  writer_.TipPge(kCode);
  Cycles(5000);
  Loop(6);
  writer_.TimePacket(Mtc{10});
  EXPECT_EQ(Marks(), (std::vector<Placed>{{2, Since::kUnknown, 0},
                                          {4, Since::kBoth, 4000, true},
                                          {6, Since::kFlow, 50},
                                          {18, Since::kFlow, 60},
                                          {19, Since::kFlow, 70},
                                          {20, Since::kFlow, 80},
                                          {22, Since::kBoth, 5000}}));
}

TEST_F(CycleMarksTest, BehindALossTheyBeginAnew) {
  Cycles(10);
  Loop(6);
  Cycles(20);
  Loop(6);
  writer_.Write(Ovf{});
  Cycles(300);
  writer_.Fup(kCode);
  Cycles(40);
  Loop(6);
  Cycles(50);
  Loop(6);
  writer_.TimePacket(Mtc{10});
  const std::vector<Placed> marks = Marks();
  ASSERT_GE(marks.size(), 4u);
  EXPECT_EQ(marks[1], (Placed{14, Since::kFlow, 20}));
  EXPECT_EQ(marks[2].since, Since::kUnknown);
  EXPECT_EQ(marks.back(), (Placed{38, Since::kFlow, 50}));
}

uint64_t AllCyclesOf(const testing::GeneratedStream& stream) {
  uint64_t sum = 0;
  PebsState pebs;
  Packet packet;
  Bytes rest = stream.bytes;
  while (const ReadResult size = ReadPacket(rest, pebs, packet)) {
    if (const auto* cyc = std::get_if<Cyc>(&packet)) sum += cyc->cycles;
    rest = rest.subspan(*size);
  }
  return sum;
}

// Against the cycle in which each instruction really executed.
TEST(CycleMarksOfStreamsTest, AreTheCyclesThatPassed) {
  uint64_t compared = 0;
  uint64_t told = 0;
  uint64_t all = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    testing::GeneratorOptions options = testing::MixedOptions(seed);
    options.tsc = options.cyc = true;
    options.deferred_tips = false;
    options.mtc = seed % 3 != 0;
    if (seed % 2 == 0) options.overflow_every = 0;
    const testing::GeneratedStream stream = GenerateStream(options);
    SCOPED_TRACE(Describe(stream.options));
    const AddressSpaceHistory code = CodeOf(stream);
    DecodeInput input;
    input.bytes = stream.bytes;
    input.code = &code;
    input.config = stream.config;
    input.times = true;
    MarkRecorder recorder;
    ASSERT_TRUE(MakeNativeDecoder()->Decode(input, recorder));
    const std::vector<uint64_t>& truth = stream.truth.cycles;
    uint64_t from = 0;
    bool has_from = false;
    uint64_t since = 0;
    uint64_t sum = 0;
    for (const Placed& mark : recorder.marks) {
      ASSERT_LE(mark.count, truth.size());
      sum += mark.cycles;
      since += mark.cycles;
      if (mark.since == Since::kUnknown) has_from = false;
      if (mark.of_event) continue;  // of the moment of an event there is no truth
      const uint64_t now = truth[mark.count - 1];
      if (has_from) {
        ASSERT_EQ(now - from, since) << "behind instruction " << mark.count;
        ++compared;
      }
      from = now;
      has_from = true;
      since = 0;
    }
    EXPECT_LE(sum, AllCyclesOf(stream));
    if (stream.truth.losses.empty()) {
      told += sum;
      all += AllCyclesOf(stream);
    }
  }
  EXPECT_GT(compared, 20'000u);
  // Cycles before the first mark and after the last one are unknown.
  EXPECT_GT(told * 10, all * 9);
}

}  // namespace
}  // namespace flowback::pt::times
