// SPDX-License-Identifier: MIT
// Every record type that becomes sideband: its fields, and what a cut of it does.
#include <gtest/gtest.h>

#include "capture/formats/perf_layout.h"
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
  EXPECT_TRUE(recording.warnings.empty()) << recording.warnings.front().text;
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
  EXPECT_TRUE(recording.warnings.empty());
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
  EXPECT_EQ(Read(file.Build()).pt.time.mult, 500u);
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

struct Body {
  uint32_t type;
  const char* name;
  FieldWriter body;
};

std::vector<Body> AllBodies() {
  FieldWriter build_id;
  build_id.U32(42).U32(43).U64(0x400000).U64(0x2000).U64(0).U8(20).U8(0).U16(0);
  build_id.Raw(Data(20, 7)).U32(5).U32(2).Text("lib.so");
  return {
      {kRecordMmap, "MMAP", FieldWriter().U32(1).U32(1).U64(1).U64(1).U64(0).Text("a")},
      {kRecordMmap2, "MMAP2", build_id},
      {kRecordComm, "COMM", FieldWriter().U32(1).U32(1).Text("a")},
      {kRecordFork, "FORK", FieldWriter().U32(1).U32(1).U32(1).U32(1).U64(5)},
      {kRecordExit, "EXIT", FieldWriter().U32(1).U32(1).U32(1).U32(1).U64(5)},
      {kRecordSwitchCpuWide, "SWITCH_CPU_WIDE", FieldWriter().U32(1).U32(1)},
      {kRecordItraceStart, "ITRACE_START", FieldWriter().U32(1).U32(1)},
      {kRecordAux, "AUX", FieldWriter().U64(0).U64(8).U64(0)},
      {kRecordAuxOutputHwId, "AUX_OUTPUT_HW_ID", FieldWriter().U64(1)},
      {kRecordLost, "LOST", FieldWriter().U64(1).U64(1)},
      {kRecordLostSamples, "LOST_SAMPLES", FieldWriter().U64(1)},
      {kRecordKsymbol, "KSYMBOL", FieldWriter().U64(1).U32(1).U16(1).U16(0).Text("a")},
      {kRecordBpfEvent, "BPF_EVENT", FieldWriter().U16(1).U16(0).U32(1).U64(1)},
      {kRecordTextPoke, "TEXT_POKE", FieldWriter().U64(1).U16(2).U16(2).U32(0)},
      {kRecordNamespaces, "NAMESPACES", FieldWriter().U32(1).U32(1).U64(1).U64(1).U64(1)},
      {kRecordCgroup, "CGROUP", FieldWriter().U64(1).Text("a")},
      {kRecordAuxtraceError, "AUXTRACE_ERROR",
       FieldWriter().U32(1).U32(1).U32(1).U32(1).U32(1).U32(0).U64(1).Text("a", 64)},
      {kRecordThreadMap, "THREAD_MAP", FieldWriter().U64(1).U64(1).Text("a", 16)},
      {kRecordIdIndex, "ID_INDEX", FieldWriter().U64(1).U64(1).U64(1).U64(1).U64(1)},
      {kRecordTimeConv, "TIME_CONV", FieldWriter().U64(31).U64(1).U64(1)},
      {kRecordThrottle, "THROTTLE", FieldWriter().U64(1).U64(1).U64(1)},
      {kRecordUnthrottle, "UNTHROTTLE", FieldWriter().U64(1).U64(1).U64(1)},
  };
}

// The record says it is shorter than its fields: it is left out and counted, or, where its text is
// what was cut, kept; the next record is read either way.
TEST(SidebandDamage, EveryRecordCutAtEveryByte) {
  for (const Body& record : AllBodies()) {
    for (size_t size = 0; size <= record.body.bytes.size(); ++size) {
      SCOPED_TRACE(std::string(record.name) + " cut to " + std::to_string(size));
      PerfDataBuilder file = PerfDataBuilder::WithIntelPt();
      FieldWriter cut;
      cut.bytes.assign(record.body.bytes.begin(),
                       record.body.bytes.begin() + static_cast<ptrdiff_t>(size));
      file.Record(record.type, record.type == kRecordMmap2 ? kMiscMmapBuildId : 0, cut);
      file.Comm(42, 42, "next", false, kTrailer);
      const Recording recording = Read(file.Build());
      ASSERT_FALSE(recording.sideband.empty());
      const auto* next = std::get_if<CommRecord>(&recording.sideband.back());
      ASSERT_NE(next, nullptr);
      EXPECT_EQ(next->comm, "next");
      EXPECT_LE(recording.sideband.size(), 2u);
      bool counted = false;
      for (const auto& [name, count] : recording.record_counts) counted |= name == record.name;
      EXPECT_TRUE(counted);
    }
  }
}

// The file ends inside the record: said, with the place.
TEST(SidebandDamage, FileCutInsideEveryRecordAtEveryByte) {
  for (const Body& record : AllBodies()) {
    PerfDataBuilder file = PerfDataBuilder::WithIntelPt();
    const size_t begin = file.NextOffset();
    file.Record(record.type, 0, record.body);
    const Data whole = file.Build();
    for (size_t size = begin + 1; size < begin + 8 + record.body.bytes.size(); ++size) {
      SCOPED_TRACE(std::string(record.name) + " at " + std::to_string(size - begin));
      const Recording cut = Read({whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size)});
      EXPECT_TRUE(cut.sideband.empty());
      EXPECT_TRUE(Warns(cut, "cut at offset"));
    }
  }
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
