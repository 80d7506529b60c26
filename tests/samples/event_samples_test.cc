// SPDX-License-Identifier: MIT
// Samples of accesses in perf.data, written here field by field.
#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "capture/formats/input/samples.h"
#include "capture/formats/samples/amd_ibs.h"
#include "capture/formats/samples/perf_event_samples.h"
#include "capture/formats/samples/perf_memory.h"
#include "flowback/capture/open.h"
#include "tests/capture/temporary_file.h"
#include "tests/samples/access_file.h"
#include "tests/support/perf_data_converter.h"
#include "tests/support/random.h"

namespace flowback {
namespace {

using namespace perf;
using support::AccessFile;
using support::DataSourceWord;
using support::FieldWriter;
using support::WrittenAccess;
using Outcome = MemoryAccess::Outcome;
using Place = EventSample::Place;
using Snoop = MemoryAccess::Snoop;

Recording Read(const std::vector<uint8_t>& bytes) {
  auto recording = support::ReadBytes(bytes);
  EXPECT_TRUE(recording) << recording.error().message();
  return recording ? *std::move(recording) : Recording();
}
std::vector<EventSample> SamplesOf(const std::vector<uint8_t>& bytes) {
  const support::TemporaryFolder folder;
  OpenOptions options;
  options.input = folder.Write("perf.data", bytes);
  const auto recording = OpenRecording(options);
  EXPECT_TRUE(recording) << recording.error().message();
  std::vector<EventSample> samples;
  const auto visit = [&samples](const EventSample& sample) { samples.push_back(sample); };
  if (recording) {
    EXPECT_TRUE(VisitSamples(*recording, visit));
  }
  return samples;
}

TEST(EventSamples, FieldsAreTold) {
  AccessFile file;
  const DataSourceWord source{
      .op = 2, .levels = 2 | 0x40, .snoop = 0x10, .lock = 2, .tlb = 0xa, .number = 3};
  file.Add({.ip = 0x400100,
            .address = 0x7000,
            .time = 5,
            .tid = 43,
            .weight = 300,
            .data_source = source.word(),
            .physical = 0x99000});
  file.Add({.ip = 0x400104, .address = 0, .time = 4, .exact = false});
  const Recording recording = Read(file.Build());
  const std::vector<EventSample> samples = SamplesOf(file.Build());
  ASSERT_EQ(samples.size(), 2u);
  EXPECT_EQ(samples[1].time, 4u) << "in the order of the file";
  EXPECT_EQ(samples[1].place, Place::kSkid);
  EXPECT_FALSE(samples[1].access.any());
  const EventSample& sample = samples[0];
  EXPECT_EQ(sample.ip, 0x400100u);
  EXPECT_EQ(sample.place, Place::kExact);
  EXPECT_EQ(sample.pid, 42);
  EXPECT_EQ(sample.tid, 43);
  EXPECT_EQ(sample.event, 0u);
  EXPECT_EQ(sample.access.address, 0x7000u);
  EXPECT_EQ(sample.access.physical, 0x99000u);
  EXPECT_EQ(sample.access.latency, 300u);
  EXPECT_TRUE(sample.access.load);
  EXPECT_FALSE(sample.access.store);
  EXPECT_TRUE(sample.access.locked);
  EXPECT_EQ(sample.access.level, MemoryLevel::kL3);
  EXPECT_EQ(sample.access.level_outcome, Outcome::kHit);
  EXPECT_EQ(sample.access.snoop, Snoop::kModified);
  EXPECT_EQ(sample.access.tlb, Outcome::kHit);
  EXPECT_FALSE(sample.access.remote);
  const auto count =
      std::ranges::find(recording.record_counts, kAccessSamples,
                        [](const auto& each) { return std::string_view(each.first); });
  ASSERT_NE(count, recording.record_counts.end());
  EXPECT_EQ(count->second, 1u);
}

TEST(EventSamples, WeightInParts) {
  AccessFile file(kSampleWeightStruct);
  file.Add({.ip = 1, .address = 8, .weight = uint64_t{7} << 48 | uint64_t{55} << 32 | 44});
  const std::vector<EventSample> samples = SamplesOf(file.Build());
  ASSERT_EQ(samples.size(), 1u);
  EXPECT_EQ(samples[0].access.latency, 44u);
  EXPECT_EQ(samples[0].access.instruction_latency, 55u);
}

MemoryAccess AccessOf(const DataSourceWord& word) {
  MemoryAccess access;
  ApplyDataSource(word.word(), access);
  return access;
}

// Old recordings have a bit for each level; new ones a number, and both where it fits.
TEST(EventSamples, LevelsOfBothKinds) {
  const auto level = [](uint64_t levels, uint64_t number, uint64_t remote = 0) {
    return AccessOf({.levels = levels, .number = number, .remote = remote});
  };
  EXPECT_EQ(level(2 | 8, 0).level, MemoryLevel::kL1);
  EXPECT_EQ(level(2 | 0x10, 0).level, MemoryLevel::kFillBuffer);
  EXPECT_EQ(level(2 | 0x20, 0).level, MemoryLevel::kL2);
  EXPECT_EQ(level(4 | 0x40, 0).level_outcome, Outcome::kMiss);
  EXPECT_EQ(level(2 | 0x80, 0).level, MemoryLevel::kMemory);
  EXPECT_FALSE(level(2 | 0x80, 0).remote);
  EXPECT_TRUE(level(2 | 0x100, 0).remote);
  EXPECT_TRUE(level(2 | 0x800, 0).remote);
  EXPECT_EQ(level(2 | 0x800, 0).level, MemoryLevel::kAnyCache);
  EXPECT_EQ(level(2 | 0x1000, 0).level, MemoryLevel::kIo);
  EXPECT_EQ(level(2 | 0x2000, 0).level, MemoryLevel::kUncached);
  EXPECT_EQ(level(1, 0).level, MemoryLevel::kNotTold);
  EXPECT_EQ(level(1, 0).level_outcome, Outcome::kNotTold);
  EXPECT_EQ(level(1, 0xf).level, MemoryLevel::kNotTold);
  EXPECT_EQ(level(2 | 0x440, 0xb).level, MemoryLevel::kAnyCache);
  EXPECT_FALSE(level(2 | 0x440, 0xb).remote) << "a core of the same node";
  EXPECT_TRUE(level(2 | 0x400, 0xb, 1).remote);
  EXPECT_EQ(level(0, 0xe).level, MemoryLevel::kPersistent);
  EXPECT_EQ(level(0, 9).level, MemoryLevel::kExtension);
  EXPECT_EQ(AccessOf({.op = 4}).store, true);
  EXPECT_EQ(AccessOf({.op = 8}).prefetch, true);
  EXPECT_EQ(AccessOf({.tlb = 0x14}).tlb, Outcome::kMiss);
}

// The kernel's header lists the fields of the source and of the weight the other way round for a
// big-endian machine, so that the words have the same values there.
TEST(EventSamples, OfABigEndianMachine) {
  AccessFile file(kSampleWeightStruct, 0, false);
  file.TellAmd();
  const DataSourceWord source{
      .op = 2, .levels = 2 | 8, .snoop = 0x10, .lock = 2, .tlb = 4, .number = 1};
  file.Add({.ip = 0x400100,
            .address = 0x7000,
            .time = 5,
            .tid = 43,
            .weight = uint64_t{55} << 32 | 44,
            .data_source = source.word(),
            .physical = 0x99000});
  const std::vector<EventSample> samples =
      SamplesOf(support::ToForeign(support::TakeApart(file.Build())));
  ASSERT_EQ(samples.size(), 1u);
  EXPECT_EQ(samples[0].ip, 0x400100u);
  EXPECT_EQ(samples[0].tid, 43);
  const MemoryAccess& access = samples[0].access;
  EXPECT_EQ(access.address, 0x7000u);
  EXPECT_EQ(access.physical, 0x99000u);
  EXPECT_EQ(access.latency, 44u);
  EXPECT_EQ(access.instruction_latency, 55u);
  EXPECT_TRUE(access.load);
  EXPECT_EQ(access.level, MemoryLevel::kL1);
  EXPECT_EQ(access.snoop, Snoop::kModified);
  EXPECT_TRUE(access.locked);
  EXPECT_EQ(access.tlb, Outcome::kMiss);
}

// perf's own order of registers is another one.
TEST(EventSamples, RegistersAreSorted) {
  AccessFile file(kSampleWeight, kSampleRegsIntr);
  constexpr uint64_t kMask = 0xff0fff | uint64_t{3} << 34;  // and both halves of XMM1
  FieldWriter registers;
  registers.U64(2);
  for (uint64_t i = 0; i < 22; ++i) registers.U64(0x1000 + i);
  file.Add({.ip = 1, .address = 8}, registers);
  support::PerfDataParts parts = support::TakeApart(file.Build());
  for (unsigned i = 0; i < 8; ++i)
    parts.events[0].attr[kRegsIntrAt + i] = static_cast<uint8_t>(kMask >> (8 * i));
  const std::vector<EventSample> samples = SamplesOf(support::ToFile(parts));
  ASSERT_EQ(samples.size(), 1u);
  ASSERT_NE(samples[0].context, nullptr);
  const NumberedWords& words = samples[0].context->registers;
  const auto of = [&words](SampledRegister name) { return words.Get(static_cast<unsigned>(name)); };
  EXPECT_EQ(of(SampledRegister::kAx), 0x1000u);
  EXPECT_EQ(of(SampledRegister::kBx), 0x1001u);
  EXPECT_EQ(of(SampledRegister::kCx), 0x1002u);
  EXPECT_EQ(of(SampledRegister::kIp), 0x1008u);
  EXPECT_EQ(of(SampledRegister::kFlags), 0x1009u);
  EXPECT_EQ(of(SampledRegister::kR8), 0x100cu);
  EXPECT_EQ(of(SampledRegister::kR15), 0x1013u);
  EXPECT_EQ(samples[0].context->xmm.Get(2), 0x1014u);
  EXPECT_EQ(samples[0].context->xmm.Get(3), 0x1015u);
  EXPECT_EQ(samples[0].access.address, 8u);
}

TEST(EventSamples, InOtherContainers) {
  AccessFile file;
  file.TellAmd();
  for (uint64_t i = 0; i < 20; ++i)
    file.Add({.ip = 0x400000 + i, .address = 0x7000 + 8 * i, .time = 100 + i, .weight = i + 1});
  file.AddIbs(AccessFile::kOpId, 1, 200, 0, {1 << 18, 0x400200, 0, 0, 1 | 1 << 17, 0x8000, 0});
  const support::PerfDataParts parts = support::TakeApart(file.Build());
  for (const auto& bytes :
       {support::ToPipe(parts), support::ToCompressed(parts, 300), support::ToFile(parts)}) {
    const std::vector<EventSample> samples = SamplesOf(bytes);
    ASSERT_EQ(samples.size(), 21u);
    for (uint64_t i = 0; i < 20; ++i) {
      EXPECT_EQ(samples[i].ip, 0x400000 + i);
      EXPECT_EQ(samples[i].access.address, 0x7000 + 8 * i);
      EXPECT_EQ(samples[i].access.latency, i + 1);
    }
  }
}

std::vector<uint64_t> OpRegisters(uint64_t data, uint64_t data2, uint64_t data3) {
  return {1 << 17 | 1 << 18, 0x400200, data, data2, data3, 0x7040, 0x99040, 0x400300};
}
EventSample IbsOp(uint64_t data, uint64_t data2, uint64_t data3, uint32_t features = 0x3ff,
                  std::string_view cpuid = "AuthenticAMD,25,33,0") {
  AccessFile file;
  file.TellAmd(cpuid);
  file.AddIbs(AccessFile::kOpId, 0x400208, 5, features, OpRegisters(data, data2, data3));
  const std::vector<EventSample> samples = SamplesOf(file.Build());
  EXPECT_EQ(samples.size(), 1u);
  return samples.empty() ? EventSample() : samples[0];
}

constexpr uint64_t kLoadOp = 1, kStoreOp = 2, kMissed = 1 << 7, kHasAddress = 3 << 17,
                   kMissedL2 = 1 << 20;

TEST(IbsSamples, LoadFromFarMemory) {
  const EventSample sample =
      IbsOp(uint64_t{70} << 16, 3 | 1 << 4,
            kLoadOp | kMissed | kHasAddress | kMissedL2 | uint64_t{100} << 32 | 1 << 15);
  EXPECT_EQ(sample.ip, 0x400200u);
  EXPECT_EQ(sample.place, Place::kExact);
  EXPECT_EQ(sample.event, 1u);
  EXPECT_FALSE(sample.branch.told);
  EXPECT_TRUE(sample.access.load);
  EXPECT_TRUE(sample.access.locked);
  EXPECT_EQ(sample.access.address, 0x7040u);
  EXPECT_EQ(sample.access.physical, 0x99040u);
  EXPECT_EQ(sample.access.latency, 100u);
  EXPECT_EQ(sample.access.instruction_latency, 70u);
  EXPECT_EQ(sample.access.level, MemoryLevel::kMemory);
  EXPECT_TRUE(sample.access.remote);
  EXPECT_EQ(sample.access.tlb, Outcome::kHit);
}

TEST(IbsSamples, LevelsByUnitAndModel) {
  const uint64_t far = kLoadOp | kMissed | kHasAddress | kMissedL2;
  EXPECT_EQ(IbsOp(0, 0, kStoreOp | kHasAddress).access.level, MemoryLevel::kL1);
  EXPECT_EQ(IbsOp(0, 0, kLoadOp | kMissed | kHasAddress).access.level, MemoryLevel::kL2);
  EXPECT_EQ(IbsOp(0, 0, far | 1 << 14).access.level, MemoryLevel::kUncached);
  EXPECT_EQ(IbsOp(0, 2, far).access.level, MemoryLevel::kAnyCache);
  EXPECT_EQ(IbsOp(0, 0, far | 1 << 16).access.level, MemoryLevel::kFillBuffer);
  EXPECT_EQ(IbsOp(0, 3, kStoreOp | kMissed | kMissedL2).access.level, MemoryLevel::kNotTold)
      << "of stores the source is not told";
  // Zen 4 has more numbers, and shows whether another cache had the line changed.
  const char* const zen4 = "AuthenticAMD,25,97,2";
  EXPECT_EQ(IbsOp(0, 1, far, 0xfff, zen4).access.level, MemoryLevel::kL3);
  EXPECT_EQ(IbsOp(0, 1, far, 0xfff, zen4).access.snoop, Snoop::kModified);
  EXPECT_EQ(IbsOp(0, 1 | 1 << 5, far, 0xfff, zen4).access.snoop, Snoop::kNotTold);
  EXPECT_EQ(IbsOp(0, 1 << 6, far, 0xfff, zen4).access.level, MemoryLevel::kExtension);
  EXPECT_TRUE(IbsOp(0, 5, far, 0xfff, zen4).access.remote);
  EXPECT_EQ(IbsOp(0, 1 << 6, far).access.level, MemoryLevel::kNotTold) << "three bits only";
  // Errata of the first Zen 3.
  const char* const zen3 = "AuthenticAMD,25,1,1";
  EXPECT_EQ(IbsOp(0, 3, far | 1 << 21, 0x3ff, zen3).access.level, MemoryLevel::kNotTold);
  EXPECT_EQ(IbsOp(0, 2, far, 0x3ff, zen3).access.snoop, Snoop::kNotTold);
}

TEST(IbsSamples, BranchesAndInvalidPlaces) {
  const uint64_t retired = uint64_t{1} << 37;
  const EventSample taken = IbsOp(retired | uint64_t{3} << 35, 0, 0);
  EXPECT_TRUE(taken.branch.told && taken.branch.taken && taken.branch.mispredicted);
  EXPECT_FALSE(taken.branch.is_return);
  EXPECT_FALSE(taken.access.any());
  const EventSample invalid = IbsOp(uint64_t{1} << 38, 0, kLoadOp | kHasAddress);
  EXPECT_EQ(invalid.ip, 0x400208u) << "where the interrupt came";
  const EventSample older = IbsOp(uint64_t{1} << 38, 0, kLoadOp | kHasAddress, 0x3ff & ~(1u << 7));
  EXPECT_EQ(older.ip, 0x400200u) << "a unit that does not tell";
}

TEST(IbsSamples, Fetches) {
  AccessFile file;
  file.TellAmd();
  const uint64_t control = uint64_t{1} << 48 | uint64_t{1} << 49 | uint64_t{1} << 50 |
                           uint64_t{1} << 51 | uint64_t{1} << 52 | uint64_t{30} << 32;
  file.AddIbs(AccessFile::kFetchId, 1, 5, 0xbff, {control, 0x400210, 0x1210, 5});
  const std::vector<EventSample> samples = SamplesOf(file.Build());
  ASSERT_EQ(samples.size(), 1u);
  EXPECT_TRUE(samples[0].fetch);
  EXPECT_EQ(samples[0].ip, 0x400210u);
  EXPECT_EQ(samples[0].access.latency, 30u);
  EXPECT_EQ(samples[0].access.physical, 0x1210u);
  EXPECT_EQ(samples[0].access.level, MemoryLevel::kL1);
  EXPECT_EQ(samples[0].access.level_outcome, Outcome::kMiss);
  EXPECT_FALSE(samples[0].access.address);
}

// Each length, and registers that say that they hold no sample.
TEST(IbsSamples, ThatAreCutAreSaidToBe) {
  const std::vector<uint64_t> whole = OpRegisters(0, 0, kLoadOp | kHasAddress);
  for (size_t size = 0; size <= whole.size(); ++size) {
    AccessFile file;
    file.TellAmd();
    file.AddIbs(AccessFile::kOpId, 0x400208, 5, 0xbff, {whole.begin(), whole.begin() + size});
    const Recording recording = Read(file.Build());
    const bool enough = size >= 7;
    EXPECT_EQ(support::Warns(recording, "1 sample of IBS has registers that are cut"), !enough)
        << size;
    const std::vector<EventSample> samples = SamplesOf(file.Build());
    ASSERT_EQ(samples.size(), 1u);
    EXPECT_EQ(samples[0].access.address.has_value(), enough);
    EXPECT_EQ(samples[0].ip, enough ? 0x400200u : 0x400208u);
  }
  AccessFile file;
  file.TellAmd();
  file.AddIbs(AccessFile::kOpId, 1, 5, 0xbff, {0, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_TRUE(support::Warns(Read(file.Build()), "hold no sample"));
}

TEST(EventSamples, BytesAtRandomDoNotHurt) {
  testing::Random random(7);
  AccessFile file(kSampleWeight, kSampleRegsIntr);
  file.TellAmd();
  for (int i = 0; i < 50; ++i) {
    FieldWriter registers;
    for (uint64_t words = random.Below(8); words > 0; --words) registers.U64(random.Next());
    file.Add({.ip = random.Next(),
              .address = random.Next(),
              .time = random.Next(),
              .weight = random.Next(),
              .data_source = random.Next()},
             registers);
    std::vector<uint64_t> words(random.Below(12));
    for (uint64_t& word : words) word = random.Next();
    file.AddIbs(random.Chance(500) ? AccessFile::kOpId : AccessFile::kFetchId, 1, 5,
                static_cast<uint32_t>(random.Next()), words);
  }
  const std::vector<uint8_t> good = file.Build();
  for (int round = 0; round < 200; ++round) {
    std::vector<uint8_t> bytes = good;
    for (int i = 0; i < 20; ++i)
      bytes[random.Below(bytes.size())] = static_cast<uint8_t>(random.Next());
    auto recording = support::ReadBytes(bytes);
    if (!recording) {
      EXPECT_FALSE(recording.error().message().empty());
    }
  }
}

}  // namespace
}  // namespace flowback
