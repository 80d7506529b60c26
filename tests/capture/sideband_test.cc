// SPDX-License-Identifier: MIT
// Every record type that becomes sideband: its fields, and what a cut of it does.
#include <gtest/gtest.h>

#include "capture/formats/perf_records/perf_layout.h"
#include "tests/capture/temporary_file.h"
#include "tests/support/perf_data_builder.h"

namespace flowback {
namespace {

using namespace perf;
using support::FieldWriter;
using support::PerfDataBuilder;
using support::ReadBytes;
using support::Trailer;
using support::Warns;
using Data = std::vector<uint8_t>;

constexpr Trailer kTrailer{1000, 7, 8, 3, 102};

Recording Read(const Data& bytes) {
  auto recording = ReadBytes(bytes);
  EXPECT_TRUE(recording) << recording.error().message();
  return recording ? *std::move(recording) : Recording();
}

// The only sideband record of a file with just this one, which has to be a T.
template <class T>
T Only(uint32_t type, uint16_t misc, const FieldWriter& body) {
  PerfDataBuilder file = PerfDataBuilder::WithIntelPt();
  file.KernelRecord(type, misc, body, kTrailer);
  const Recording recording = Read(file.Build());
  EXPECT_EQ(recording.warnings.size(), type == kRecordLostSamples ? 1u : 0u);
  EXPECT_EQ(recording.sideband.size(), 1u);
  const T* record = recording.sideband.empty() ? nullptr : std::get_if<T>(&recording.sideband[0]);
  EXPECT_NE(record, nullptr);
  if (!record) return T();
  EXPECT_EQ(record->time, 1000u);
  EXPECT_EQ(record->cpu, 3);
  return *record;
}

TEST(Sideband, LostSamples) {
  const auto lost = Only<LostRecord>(kRecordLostSamples, 0, FieldWriter().U64(12));
  EXPECT_EQ(lost.count, 12u);
  EXPECT_TRUE(lost.samples);
  EXPECT_FALSE(Only<LostRecord>(kRecordLost, 0, FieldWriter().U64(1).U64(12)).samples);
}

// Nobody reads counts of records; a sentence says what is missing.
TEST(Sideband, WhatTheKernelLostIsTold) {
  PerfDataBuilder file = PerfDataBuilder::WithIntelPt();
  file.KernelRecord(kRecordLost, 0, FieldWriter().U64(102).U64(9), kTrailer);
  file.KernelRecord(kRecordLost, 0, FieldWriter().U64(102).U64(~uint64_t{0} - 9), kTrailer);
  file.KernelRecord(kRecordLostSamples, 0, FieldWriter().U64(12), kTrailer);
  const Recording recording = Read(file.Build());
  EXPECT_EQ(recording.losses, std::vector<RecorderLoss>({{LossCause::kRecordsLost, ~uint64_t{0}}}));
  EXPECT_EQ(recording.warnings.size(), 1u);
  EXPECT_TRUE(Warns(recording, "the kernel lost 12 samples"));
  for (const Warning& warning : recording.warnings)
    EXPECT_TRUE(warning.remedy.contains("-m PAGES"));
}

TEST(Sideband, SwitchOutBecauseOfAnother) {
  const auto change =
      Only<SwitchRecord>(kRecordSwitch, kMiscSwitchOut | kMiscSwitchOutPreempt, FieldWriter());
  EXPECT_TRUE(change.out);
  EXPECT_TRUE(change.preempted);
  EXPECT_FALSE(Only<SwitchRecord>(kRecordSwitch, kMiscSwitchOut, FieldWriter()).preempted);
}

TEST(Sideband, AuxOutputHwId) {
  EXPECT_EQ(Only<AuxOutputHwIdRecord>(kRecordAuxOutputHwId, 0, FieldWriter().U64(5)).hardware_id,
            5u);
}

TEST(Sideband, Ksymbol) {
  FieldWriter body;
  body.U64(0xffffffffc0001000).U32(0x80).U16(1).U16(1).Text("bpf_prog_1234");
  const auto symbol = Only<KsymbolRecord>(kRecordKsymbol, 0, body);
  EXPECT_EQ(symbol.address, 0xffffffffc0001000);
  EXPECT_EQ(symbol.size, 0x80u);
  EXPECT_EQ(symbol.type, 1);
  EXPECT_TRUE(symbol.unregister);
  EXPECT_EQ(symbol.name, "bpf_prog_1234");
}

TEST(Sideband, BpfEvent) {
  FieldWriter body;
  body.U16(1).U16(0).U32(77).Raw({1, 2, 3, 4, 5, 6, 7, 8});
  const auto event = Only<BpfEventRecord>(kRecordBpfEvent, 0, body);
  EXPECT_EQ(event.type, 1);
  EXPECT_EQ(event.id, 77u);
  EXPECT_EQ(event.tag, (std::array<uint8_t, 8>{1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST(Sideband, TextPoke) {
  FieldWriter body;
  body.U64(0xffffffff81000010).U16(5).U16(2).Raw({0xe8, 1, 2, 3, 4, 0x66, 0x90});
  body.bytes.resize(24);  // the kernel pads to eight bytes
  const auto poke = Only<TextPokeRecord>(kRecordTextPoke, 1, body);
  EXPECT_EQ(poke.address, 0xffffffff81000010);
  EXPECT_EQ(poke.old_bytes, (Data{0xe8, 1, 2, 3, 4}));
  EXPECT_EQ(poke.new_bytes, (Data{0x66, 0x90}));
}

TEST(Sideband, Namespaces) {
  FieldWriter body;
  body.U32(50).U32(51).U64(2).U64(3).U64(0xf0000000).U64(4).U64(0xf0000001);
  const auto namespaces = Only<NamespacesRecord>(kRecordNamespaces, 0, body);
  EXPECT_EQ(namespaces.pid, 50);
  EXPECT_EQ(namespaces.tid, 51);
  ASSERT_EQ(namespaces.links.size(), 2u);
  EXPECT_EQ(namespaces.links[1].device, 4u);
  EXPECT_EQ(namespaces.links[1].inode, 0xf0000001u);
}

TEST(Sideband, Cgroup) {
  const auto cgroup =
      Only<CgroupRecord>(kRecordCgroup, 0, FieldWriter().U64(9).Text("/user.slice"));
  EXPECT_EQ(cgroup.id, 9u);
  EXPECT_EQ(cgroup.path, "/user.slice");
}

TEST(Sideband, ThreadMapAndAuxtraceError) {
  PerfDataBuilder file = PerfDataBuilder::WithIntelPt();
  FieldWriter threads;
  threads.U64(2).U64(42).Text("worker", 16).U64(43).Text("", 16);
  file.Record(kRecordThreadMap, 0, threads);
  FieldWriter error;
  error.U32(1).U32(5).U32(3).U32(42).U32(43).U32(1).U64(0x401000).U64(2000).Text("Overflow", 64);
  file.Record(kRecordAuxtraceError, 0, error);
  const Recording recording = Read(file.Build());
  EXPECT_EQ(recording.warnings.size(), 1u);
  EXPECT_TRUE(Warns(recording, "another decoder's first error (AUXTRACE_ERROR): \"Overfl"));
  ASSERT_EQ(recording.sideband.size(), 3u);
  EXPECT_EQ(std::get<ThreadMapRecord>(recording.sideband[0]).tid, 42);
  EXPECT_EQ(std::get<ThreadMapRecord>(recording.sideband[0]).comm, "worker");
  EXPECT_EQ(std::get<ThreadMapRecord>(recording.sideband[1]).tid, 43);
  const auto& told = std::get<AuxtraceErrorRecord>(recording.sideband[2]);
  EXPECT_EQ(told.code, 5u);
  EXPECT_EQ(told.cpu, 3);
  EXPECT_EQ(told.tid, 43);
  EXPECT_EQ(told.time, 2000u);
  EXPECT_EQ(told.ip, 0x401000u);
  EXPECT_EQ(told.message, "Overflow");
}

TEST(Sideband, TimeConversionWhereTheInfoHasNone) {
  std::vector<uint64_t> info = PerfDataBuilder::UsualPtInfo();
  info[kPtCapUserTimeZero] = 0;
  PerfDataBuilder file;
  file.AddEvent({8, 0, PerfDataBuilder::kUsualSampleType, true, {100}});
  file.AuxtraceInfo(info);
  file.Record(kRecordTimeConv, 0, FieldWriter().U64(31).U64(500).U64(7));
  EXPECT_EQ(Read(file.Build()).time.mult, 500u);
}

// The index names the CPU that each event of a CPU-wide recording is of.
TEST(Sideband, IdIndexTellsTheCpu) {
  PerfDataBuilder file;
  file.AddEvent({8, 0, kSampleTid | kSampleTime | kSampleId, true, {100, 101}});
  file.Record(kRecordIdIndex, 0,
              FieldWriter()
                  .U64(2)
                  .U64(100)
                  .U64(0)
                  .U64(4)
                  .U64(~uint64_t{0})
                  .U64(101)
                  .U64(1)
                  .U64(~uint64_t{0})
                  .U64(42));
  file.KernelRecord(kRecordSwitch, 0, FieldWriter(), {500, 42, 42, 0, 100});
  file.KernelRecord(kRecordSwitch, 0, FieldWriter(), {600, 42, 42, 0, 101});
  const Recording recording = Read(file.Build());
  EXPECT_EQ(std::get<SwitchRecord>(recording.sideband.at(0)).cpu, 4);
  EXPECT_EQ(std::get<SwitchRecord>(recording.sideband.at(1)).cpu, -1);
}

// Events with different trailers that all have their ID at one place from the end.
TEST(Sideband, EventsAreToldApartByIdWhereThereIsNoIdentifier) {
  PerfDataBuilder file;
  file.AddEvent({8, 0, kSampleTid | kSampleTime | kSampleId | kSampleCpu, true, {100}});
  file.AddEvent({1, 9, kSampleTime | kSampleId | kSampleCpu, true, {102}});
  file.KernelRecord(kRecordSwitch, 0, FieldWriter(), {500, 42, 43, 1, 100});
  file.KernelRecord(kRecordSwitch, 0, FieldWriter(), {600, 42, 43, 2, 102});
  const Recording recording = Read(file.Build());
  EXPECT_TRUE(recording.warnings.empty());
  EXPECT_EQ(std::get<SwitchRecord>(recording.sideband.at(0)).tid, 43);
  EXPECT_EQ(std::get<SwitchRecord>(recording.sideband.at(1)).tid, -1);
  EXPECT_EQ(std::get<SwitchRecord>(recording.sideband.at(1)).time, 600u);
  EXPECT_EQ(std::get<SwitchRecord>(recording.sideband.at(1)).cpu, 2);
}

TEST(Sideband, ClockOfTheRecording) {
  PerfDataBuilder file = PerfDataBuilder::WithIntelPt();
  EXPECT_FALSE(Read(file.Build()).clock.clock_id);
  file.Feature(kFeatureClockData, FieldWriter().U32(1).U32(1).U64(1700000000000000000).U64(12345));
  const ClockInfo clock = Read(file.Build()).clock;
  EXPECT_EQ(clock.clock_id, 1);
  EXPECT_EQ(clock.wall_ns, 1700000000000000000u);
  EXPECT_EQ(clock.clock_ns, 12345u);
}

TEST(SidebandDamage, CountsInRecordsThatLie) {
  PerfDataBuilder file = PerfDataBuilder::WithIntelPt();
  const uint64_t much = ~uint64_t{0};
  file.Record(kRecordNamespaces, 0, FieldWriter().U32(1).U32(1).U64(much).U64(1).U64(1));
  file.Record(kRecordThreadMap, 0, FieldWriter().U64(much).U64(1).Text("a", 16));
  file.Record(kRecordIdIndex, 0, FieldWriter().U64(much).U64(1).U64(1).U64(1).U64(1));
  file.Record(kRecordTextPoke, 0, FieldWriter().U64(1).U16(0xffff).U16(0xffff).U32(0));
  file.Record(kRecordSample, 0, FieldWriter().U64(102).U64(much).U64(much));
  const Recording recording = Read(file.Build());
  EXPECT_LE(recording.sideband.size(), 1u);
  EXPECT_TRUE(Warns(recording, "2 records are too short"));
}

}  // namespace
}  // namespace flowback
