// SPDX-License-Identifier: MIT
// Samples put together from events that are made by hand: samples come back as written, and cut,
// doubled or unknown ones are marked.
#include "replay/samples/sample_assembler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "tests/support/random.h"

namespace flowback {
namespace {

using Place = EventSample::Place;
using testing::Random;

constexpr uint64_t kBasic = 4, kMemory = 5, kRegisters = 1, kXmm = 16;
constexpr uint64_t kTime = 20'000'000'000;

TraceEvent Event(EventKind kind, uint64_t value = 0, uint64_t extra = 0) {
  TraceEvent event;
  event.kind = kind;
  event.value = value;
  event.extra = extra;
  event.tsc = kTime;
  event.bounds = {kTime - 10, kTime + 10};
  return event;
}
TraceEvent Begin(uint64_t type, bool narrow = false) {
  return Event(EventKind::kPebsBegin, type, narrow ? 1 : 0);
}
TraceEvent Item(uint64_t number, uint64_t value) {
  return Event(EventKind::kPebsItem, value, number);
}
TraceEvent End(uint64_t ip = 0) {
  TraceEvent event = Event(EventKind::kPebsEnd);
  event.ip = ip;
  event.has_ip = ip != 0;
  return event;
}

class Assembled {
 public:
  Assembled() { assembler_.BeginThread(7, 8); }
  Assembled& Add(const std::vector<TraceEvent>& events) {
    for (const TraceEvent& event : events) assembler_.OnEvent(event);
    return *this;
  }
  SampleAssembler& assembler() { return assembler_; }
  const std::vector<EventSample>& samples() const { return samples_; }

 private:
  std::vector<EventSample> samples_;
  SampleAssembler assembler_{[this](const EventSample& sample) { samples_.push_back(sample); }};
};

TEST(SampleAssembler, BasicGroup) {
  Assembled of;
  of.Add({Begin(kBasic), Item(0, 0x401000), Item(1, 5), Item(2, 12345), End(0x401000)});
  ASSERT_EQ(of.samples().size(), 1u);
  const EventSample& sample = of.samples().front();
  EXPECT_EQ(sample.ip, 0x401000u);
  EXPECT_EQ(sample.place, Place::kExact);
  EXPECT_EQ(sample.counters, 5u);
  EXPECT_EQ(sample.tsc, 12345u);
  EXPECT_EQ(sample.tsc_lo, 12345u);
  EXPECT_EQ(sample.tsc_hi, 12345u);
  EXPECT_EQ(sample.pid, 7);
  EXPECT_EQ(sample.tid, 8);
  EXPECT_FALSE(sample.cut);
  EXPECT_EQ(sample.unread, 0u);
  EXPECT_EQ(sample.context, nullptr);
  EXPECT_FALSE(sample.access.any());
}

// Without its own time and place it has those of the packets around it.
TEST(SampleAssembler, TakesTimeAndPlaceFromTheFlow) {
  Assembled of;
  of.Add({Begin(kRegisters), Item(2, 77), End(0x402000)});
  of.Add({Begin(kRegisters), Item(2, 78), End()});
  ASSERT_EQ(of.samples().size(), 2u);
  EXPECT_EQ(of.samples()[0].ip, 0x402000u);
  EXPECT_EQ(of.samples()[0].place, Place::kExact);
  EXPECT_EQ(of.samples()[0].tsc, kTime);
  EXPECT_EQ(of.samples()[0].tsc_lo, kTime - 10);
  EXPECT_EQ(of.samples()[0].tsc_hi, kTime + 10);
  EXPECT_EQ(of.samples()[1].place, Place::kNotTold);
}

TEST(SampleAssembler, ThatNamesAnotherPlaceIsDisputed) {
  Assembled of;
  of.Add({Begin(kBasic), Item(0, 0x401000), End(0x401008)});
  ASSERT_EQ(of.samples().size(), 1u);
  EXPECT_EQ(of.samples()[0].place, Place::kDisputed);
  EXPECT_EQ(of.samples()[0].ip, 0x401000u);
}

TEST(SampleAssembler, LatencyOfBothKinds) {
  Assembled of;
  of.Add({Begin(kMemory), Item(0, 0x7fff1000), Item(1, 0x21), Item(2, 300), Item(3, 9), End()});
  of.Add({Begin(kMemory), Item(2, uint64_t{40} << 32 | 55), End()});
  ASSERT_EQ(of.samples().size(), 2u);
  const MemoryAccess& old = of.samples()[0].access;
  EXPECT_EQ(old.address, 0x7fff1000u);
  EXPECT_EQ(old.code, 0x21u);
  EXPECT_EQ(old.latency, 300u);
  EXPECT_FALSE(old.instruction_latency);
  ASSERT_NE(of.samples()[0].context, nullptr);
  EXPECT_EQ(of.samples()[0].context->transaction, 9u);
  const MemoryAccess& both = of.samples()[1].access;
  EXPECT_FALSE(both.address);
  EXPECT_EQ(both.latency, 40u);
  EXPECT_EQ(both.instruction_latency, 55u);
}

// Items of all groups, some left out, in any order: each comes back, and no other.
TEST(SampleAssembler, WhatIsWrittenComesBack) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    Random random(seed);
    const bool narrow = random.Chance(300);
    std::map<uint64_t, std::map<uint64_t, uint64_t>> groups;  // by type and number
    const std::vector<std::pair<uint64_t, uint64_t>> kSizes = {
        {kBasic, 3}, {kMemory, 4}, {kRegisters, 18}, {8, 30}, {9, 30}, {10, 30}, {kXmm, 32}};
    for (const auto& [type, size] : kSizes)
      for (uint64_t i = 0; i < size; ++i)
        if (random.Chance(700)) groups[type][i] = random.Next() >> (narrow ? 32 : 0);
    std::vector<uint64_t> types;
    for (const auto& [type, items] : groups) types.push_back(type);
    for (size_t i = types.size(); i-- > 1;) std::swap(types[i], types[random.Below(i + 1)]);
    Assembled of;
    for (const uint64_t type : types) {
      of.Add({Begin(type, narrow)});
      for (const auto& [number, value] : groups[type]) of.Add({Item(number, value)});
    }
    of.Add({End()});
    ASSERT_EQ(of.samples().size(), 1u) << seed;
    const EventSample& sample = of.samples()[0];
    EXPECT_FALSE(sample.cut);
    const auto written = [&groups](uint64_t type, uint64_t number) -> std::optional<uint64_t> {
      const auto found = groups[type].find(number);
      return found == groups[type].end() ? std::nullopt : std::optional(found->second);
    };
    const SampleContext none;
    const SampleContext& context = sample.context == nullptr ? none : *sample.context;
    EXPECT_EQ(sample.place == Place::kNotTold, !written(kBasic, 0));
    EXPECT_EQ(sample.ip, written(kBasic, 0).value_or(0));
    EXPECT_EQ(sample.counters, written(kBasic, 1).value_or(0));
    EXPECT_EQ(sample.tsc, written(kBasic, 2).value_or(kTime));
    EXPECT_EQ(sample.access.address, written(kMemory, 0));
    EXPECT_EQ(sample.access.code, written(kMemory, 1));
    EXPECT_EQ(sample.access.latency.has_value(), written(kMemory, 2).has_value());
    EXPECT_EQ(context.transaction, written(kMemory, 3));
    for (unsigned i = 0; i < 32; ++i) {
      EXPECT_EQ(context.registers.Get(i), written(kRegisters, i)) << i;
      EXPECT_EQ(context.xmm.Get(i), written(kXmm, i)) << i;
    }
    std::vector<SampledBranch> branches;
    uint32_t halves = 0;  // items of branches that are not whole
    for (uint64_t type = 8; type <= 10; ++type)
      for (uint64_t at = 0; at < 30; at += 3) {
        const auto from = written(type, at), to = written(type, at + 1),
                   info = written(type, at + 2);
        if (from && to && info)
          branches.push_back({*from, *to, *info});
        else
          halves += from.has_value() + to.has_value() + info.has_value();
      }
    EXPECT_EQ(context.branches, branches);
    EXPECT_EQ(sample.unread, halves);
  }
}

TEST(SampleAssembler, OfALossIsCut) {
  Assembled of;
  of.Add({Begin(kBasic), Item(0, 0x401000)});
  of.assembler().OnLoss();
  of.assembler().OnLoss();  // nothing is open any more
  of.Add({Event(EventKind::kStarted)});
  of.Add({Begin(kBasic), Item(0, 0x402000), End()});
  ASSERT_EQ(of.samples().size(), 2u);
  EXPECT_TRUE(of.samples()[0].cut);
  EXPECT_EQ(of.samples()[0].ip, 0x401000u);
  EXPECT_FALSE(of.samples()[1].cut);
  EXPECT_EQ(of.samples()[1].ip, 0x402000u);
}

TEST(SampleAssembler, WhatEndsTracingCutsIt) {
  for (const EventKind kind : {EventKind::kStarted, EventKind::kStopped, EventKind::kStoppedAsync,
                               EventKind::kInterrupted, EventKind::kOverflow}) {
    Assembled of;
    of.Add({Begin(kMemory), Item(0, 64), Event(kind), End()});
    ASSERT_EQ(of.samples().size(), 2u) << Name(kind);
    EXPECT_TRUE(of.samples()[0].cut);
    EXPECT_EQ(of.samples()[0].access.address, 64u);
    EXPECT_TRUE(of.samples()[1].cut) << "an end without a begin";
    EXPECT_FALSE(of.samples()[1].access.any());
  }
}

TEST(SampleAssembler, OtherEventsDoNot) {
  Assembled of;
  of.Add({Begin(kBasic), Event(EventKind::kCoreBusRatio, 30), Item(0, 1), End()});
  ASSERT_EQ(of.samples().size(), 1u);
  EXPECT_FALSE(of.samples()[0].cut);
}

// The first lost its end, for no sample has a group twice.
TEST(SampleAssembler, ASecondGroupOfATypeIsAnotherSample) {
  Assembled of;
  of.Add({Begin(kBasic), Item(0, 1), Begin(kMemory), Item(0, 2)});
  of.Add({Begin(kBasic), Item(0, 3), End()});
  ASSERT_EQ(of.samples().size(), 2u);
  EXPECT_TRUE(of.samples()[0].cut);
  EXPECT_EQ(of.samples()[0].access.address, 2u);
  EXPECT_FALSE(of.samples()[1].cut);
  EXPECT_EQ(of.samples()[1].ip, 3u);
  EXPECT_FALSE(of.samples()[1].access.any());
}

TEST(SampleAssembler, ThreadsDoNotMix) {
  Assembled of;
  of.Add({Begin(kBasic), Item(0, 1)});
  of.assembler().BeginThread(9, 10);
  of.Add({Begin(kMemory), Item(0, 2), End()});
  of.Add({Begin(kBasic)});
  of.assembler().EndThread();
  ASSERT_EQ(of.samples().size(), 3u);
  EXPECT_TRUE(of.samples()[0].cut);
  EXPECT_EQ(of.samples()[0].tid, 8);
  EXPECT_FALSE(of.samples()[1].cut);
  EXPECT_EQ(of.samples()[1].tid, 10);
  EXPECT_EQ(of.samples()[1].place, Place::kNotTold);
  EXPECT_TRUE(of.samples()[2].cut);
}

TEST(SampleAssembler, UnknownItemsAreCounted) {
  Assembled of;
  of.Add({Begin(kBasic), Item(3, 1), Item(31, 1), Begin(2), Item(0, 1), Begin(31), Item(9, 9)});
  of.Add({Begin(kRegisters), Item(18, 1), Begin(kMemory), Item(4, 1), Item(0, 5), Item(0, 6)});
  of.Add({End()});
  ASSERT_EQ(of.samples().size(), 1u);
  EXPECT_EQ(of.samples()[0].unread, 7u);
  EXPECT_EQ(of.samples()[0].access.address, 5u) << "the first of two";
  EXPECT_EQ(of.samples()[0].context, nullptr);
}

// Entries of which one block holds the begin and the next the rest are not known to be.
TEST(SampleAssembler, BranchesInAnotherLayoutAreNotGuessed) {
  Assembled of;
  of.Add({Begin(8)});
  for (uint64_t i = 0; i < 32; ++i) of.Add({Item(i, i)});
  of.Add({End()});
  ASSERT_EQ(of.samples().size(), 1u);
  EXPECT_EQ(of.samples()[0].unread, 32u);
  EXPECT_EQ(of.samples()[0].context, nullptr);
}

TEST(SampleAssembler, AMillionItemsAreOneSample) {
  Assembled of;
  of.Add({Item(0, 1)});  // ahead of any group
  of.Add({Begin(kBasic)});
  for (uint64_t i = 0; i < 1'000'000; ++i) of.Add({Item(i, i)});
  of.Add({End()});
  ASSERT_EQ(of.samples().size(), 1u);
  EXPECT_TRUE(of.samples()[0].cut) << "an item ahead of its group";
  EXPECT_EQ(of.samples()[0].unread, 1'000'001u - 3);
}

}  // namespace
}  // namespace flowback
