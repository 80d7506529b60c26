// SPDX-License-Identifier: MIT
// What the records and the header of a perf.data file say.
#include <gtest/gtest.h>

#include <sstream>

#include "base/recorded/pt_config.h"
#include "capture/formats/perf_data/perf_pt_config.h"
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

Recording Read(const PerfDataBuilder& file) {
  auto recording = ReadBytes(file.Build());
  EXPECT_TRUE(recording) << recording.error().message();
  return recording ? *std::move(recording) : Recording();
}

// The only sideband record of the file, which has to be a T.
template <class T>
T Only(const PerfDataBuilder& file) {
  const Recording recording = Read(file);
  EXPECT_EQ(recording.sideband.size(), 1u);
  EXPECT_EQ(recording.warnings.size(), 0u);
  const T* record = recording.sideband.empty() ? nullptr : std::get_if<T>(&recording.sideband[0]);
  EXPECT_NE(record, nullptr);
  return record ? *record : T();
}

constexpr Trailer kTrailer{1000, 7, 8, 3, 102};

void ExpectWho(const SidebandBase& record, int32_t pid, int32_t tid) {
  EXPECT_EQ(record.time, 1000u);
  EXPECT_EQ(record.pid, pid);
  EXPECT_EQ(record.tid, tid);
  EXPECT_EQ(record.cpu, 3);
}

TEST(PerfSideband, Mmap2) {
  PerfDataBuilder file = PerfDataBuilder::WithIntelPt();
  file.Mmap2(42, 0x400000, 0x2000, 0x1000, "/usr/bin/true", kTrailer);
  const auto map = Only<MmapRecord>(file);
  ExpectWho(map, 42, 42);
  EXPECT_EQ(map.address, 0x400000u);
  EXPECT_EQ(map.size, 0x2000u);
  EXPECT_EQ(map.file_offset, 0x1000u);
  EXPECT_EQ(map.path, "/usr/bin/true");
  EXPECT_TRUE(map.executable);
  EXPECT_FALSE(map.kernel);
  EXPECT_TRUE(map.build_id.empty());
}

FieldWriter Mmap2Body(uint8_t build_id_size, uint32_t prot) {
  FieldWriter body;
  body.U32(42).U32(43).U64(0x400000).U64(0x2000).U64(0);
  body.U8(build_id_size).U8(0).U16(0);
  for (uint8_t i = 1; i <= 20; ++i) body.U8(i);
  return body.U32(prot).U32(2).Text("lib.so");
}

TEST(PerfSideband, Mmap2WithBuildId) {
  PerfDataBuilder file = PerfDataBuilder::WithIntelPt();
  file.KernelRecord(kRecordMmap2, kMiscMmapBuildId | 2, Mmap2Body(16, 5), kTrailer);
  const auto map = Only<MmapRecord>(file);
  ExpectWho(map, 42, 43);
  EXPECT_EQ(map.path, "lib.so");
  ASSERT_EQ(map.build_id.bytes.size(), 16u);
  EXPECT_EQ(map.build_id.bytes.front(), 1);
  EXPECT_EQ(map.build_id.bytes.back(), 16);
}

TEST(PerfSideband, Mmap2BuildIdLongerThanItsFieldIsCut) {
  PerfDataBuilder file = PerfDataBuilder::WithIntelPt();
  file.KernelRecord(kRecordMmap2, kMiscMmapBuildId | 2, Mmap2Body(255, 5), kTrailer);
  EXPECT_EQ(Only<MmapRecord>(file).build_id.bytes.size(), 20u);
}

TEST(PerfSideband, Mmap2WithoutExecutePermission) {
  PerfDataBuilder file = PerfDataBuilder::WithIntelPt();
  file.KernelRecord(kRecordMmap2, 2, Mmap2Body(0, 3), kTrailer);
  EXPECT_FALSE(Only<MmapRecord>(file).executable);
}

TEST(PerfSideband, MmapOfTheKernelAndOfData) {
  FieldWriter body;
  body.U32(0xffffffff).U32(0).U64(0xffffffff81000000).U64(0x1000000).U64(0).Text("[kernel]_text");
  PerfDataBuilder kernel = PerfDataBuilder::WithIntelPt();
  kernel.KernelRecord(kRecordMmap, 1, body, kTrailer);
  const auto map = Only<MmapRecord>(kernel);
  EXPECT_TRUE(map.kernel);
  EXPECT_TRUE(map.executable);
  EXPECT_EQ(map.pid, -1);
  EXPECT_EQ(map.path, "[kernel]_text");
  PerfDataBuilder data = PerfDataBuilder::WithIntelPt();
  data.KernelRecord(kRecordMmap, 2 | kMiscMmapData, body, kTrailer);
  EXPECT_FALSE(Only<MmapRecord>(data).executable);
  EXPECT_FALSE(Only<MmapRecord>(data).kernel);
}

TEST(PerfSideband, Comm) {
  for (const bool exec : {false, true}) {
    PerfDataBuilder file = PerfDataBuilder::WithIntelPt();
    file.Comm(42, 43, "worker", exec, kTrailer);
    const auto comm = Only<CommRecord>(file);
    ExpectWho(comm, 42, 43);
    EXPECT_EQ(comm.comm, "worker");
    EXPECT_EQ(comm.exec, exec);
  }
}

TEST(PerfSideband, ForkAndExit) {
  PerfDataBuilder fork = PerfDataBuilder::WithIntelPt();
  fork.Fork(50, 51, 40, 41, kTrailer);
  const auto forked = Only<ForkRecord>(fork);
  ExpectWho(forked, 50, 51);
  EXPECT_EQ(forked.parent_pid, 40);
  EXPECT_EQ(forked.parent_tid, 41);
  PerfDataBuilder exit = PerfDataBuilder::WithIntelPt();
  exit.Exit(50, 51, kTrailer);
  ExpectWho(Only<ExitRecord>(exit), 50, 51);
}

TEST(PerfSideband, SwitchTellsWhoFromItsTrailer) {
  PerfDataBuilder file = PerfDataBuilder::WithIntelPt();
  file.KernelRecord(kRecordSwitch, kMiscSwitchOut, FieldWriter(), kTrailer);
  const auto change = Only<SwitchRecord>(file);
  ExpectWho(change, 7, 8);
  EXPECT_TRUE(change.out);
  EXPECT_EQ(change.other_tid, -1);
}

TEST(PerfSideband, SwitchCpuWideNamesTheOther) {
  PerfDataBuilder file = PerfDataBuilder::WithIntelPt();
  file.KernelRecord(kRecordSwitchCpuWide, 0, FieldWriter().U32(20).U32(21), kTrailer);
  const auto change = Only<SwitchRecord>(file);
  ExpectWho(change, 7, 8);
  EXPECT_FALSE(change.out);
  EXPECT_EQ(change.other_pid, 20);
  EXPECT_EQ(change.other_tid, 21);
}

TEST(PerfSideband, ItraceStartAuxAndLost) {
  PerfDataBuilder start = PerfDataBuilder::WithIntelPt();
  start.ItraceStart(42, 43, kTrailer);
  ExpectWho(Only<ItraceStartRecord>(start), 42, 43);
  PerfDataBuilder aux = PerfDataBuilder::WithIntelPt();
  aux.Aux(0x1000, 0x20, 1, kTrailer);
  const auto recorded = Only<AuxRecord>(aux);
  ExpectWho(recorded, 7, 8);
  EXPECT_EQ(recorded.offset, 0x1000u);
  EXPECT_EQ(recorded.size, 0x20u);
  EXPECT_EQ(recorded.flags, 1u);
  PerfDataBuilder lost = PerfDataBuilder::WithIntelPt();
  lost.KernelRecord(kRecordLost, 0, FieldWriter().U64(102).U64(9), kTrailer);
  EXPECT_EQ(Only<LostRecord>(lost).count, 9u);
}

TEST(PerfSideband, OtherRecordsAreCountedAndSkipped) {
  PerfDataBuilder file = PerfDataBuilder::WithIntelPt();
  file.Record(kRecordFinishedRound, 0, FieldWriter());
  file.Record(kRecordIdIndex, 0, FieldWriter().U64(0));
  file.Record(4711, 0, FieldWriter().U64(1));
  file.Comm(42, 42, "a", false, kTrailer);
  Only<CommRecord>(file);
  const std::vector<std::pair<std::string, uint64_t>> expected = {
      {"AUXTRACE_INFO", 1}, {"COMM", 1}, {"FINISHED_ROUND", 1}, {"ID_INDEX", 1}, {"unknown", 1}};
  EXPECT_EQ(Read(file).record_counts, expected);
}

std::vector<std::string> CommOrder(const PerfDataBuilder& file) {
  std::vector<std::string> order;
  for (const SidebandRecord& record : Read(file).sideband) {
    order.push_back(std::get<CommRecord>(record).comm);
  }
  return order;
}

TEST(PerfOrder, ByTimeAndStable) {
  PerfDataBuilder file = PerfDataBuilder::WithIntelPt();
  file.Comm(1, 1, "c", false, {30, 1, 1, 0, 102});
  file.Comm(1, 1, "a", false, {10, 1, 1, 0, 102});
  file.Comm(1, 1, "d", false, {30, 1, 1, 0, 102});
  file.Comm(1, 1, "b", false, {20, 1, 1, 0, 102});
  EXPECT_EQ(CommOrder(file), (std::vector<std::string>{"a", "b", "c", "d"}));
}

TEST(PerfOrder, WithoutTimesAsInTheFile) {
  PerfDataBuilder file;
  file.AddEvent({8, 0, kSampleTid, true, {100}});
  for (const char* name : {"c", "a", "b"}) file.Comm(1, 1, name, false, {30, 1, 1, 0, 100});
  EXPECT_EQ(CommOrder(file), (std::vector<std::string>{"c", "a", "b"}));
}

// perf describes processes that exist before the trace with records whose trailers are zero.
TEST(PerfOrder, WhatPerfSaysOfTheTimeBeforeComesFirstAndHasNoCpu) {
  PerfDataBuilder file = PerfDataBuilder::WithIntelPt();
  file.Comm(1, 1, "later", false, {30, 1, 1, 2, 102});
  file.Comm(1, 1, "before", false, {});
  EXPECT_EQ(CommOrder(file), (std::vector<std::string>{"before", "later"}));
  const Recording recording = Read(file);
  const auto& before = std::get<CommRecord>(recording.sideband[0]);
  EXPECT_EQ(before.cpu, -1);
  EXPECT_EQ(before.time, 0u);
  EXPECT_EQ(before.pid, 1);
}

TEST(PerfTrailer, EventsOfDifferentLayoutsAreToldApartByIdentifier) {
  PerfDataBuilder file;
  file.AddEvent({8, 0, kSampleTid | kSampleTime | kSampleIdentifier, true, {100, 101}});
  file.AddEvent(
      {1, 9, kSampleTime | kSampleStreamId | kSampleCpu | kSampleIdentifier, true, {102}});
  file.ItraceStart(42, 43, {500, 42, 43, 3, 101});
  file.ItraceStart(42, 43, {600, 42, 43, 3, 102});
  file.ItraceStart(42, 43, {700, 42, 43, 3, 999});  // an event that the header does not name
  const Recording recording = Read(file);
  ASSERT_EQ(recording.sideband.size(), 3u);
  EXPECT_EQ(std::get<ItraceStartRecord>(recording.sideband[0]).time, 0u);
  EXPECT_EQ(std::get<ItraceStartRecord>(recording.sideband[1]).time, 500u);
  EXPECT_EQ(std::get<ItraceStartRecord>(recording.sideband[1]).cpu, -1);
  EXPECT_EQ(std::get<ItraceStartRecord>(recording.sideband[2]).time, 600u);
  EXPECT_EQ(std::get<ItraceStartRecord>(recording.sideband[2]).cpu, 3);
  EXPECT_TRUE(recording.warnings.empty());
}

TEST(PerfTrailer, AllFieldsInTheirOrder) {
  PerfDataBuilder file;
  file.AddEvent(
      {8, 0, PerfDataBuilder::kUsualSampleType | kSampleId | kSampleStreamId, true, {102}});
  file.KernelRecord(kRecordSwitch, 0, FieldWriter(), kTrailer);
  ExpectWho(Only<SwitchRecord>(file), 7, 8);
}

TEST(PerfTrailer, DifferentLayoutsWithoutIdentifierAreNotGuessed) {
  PerfDataBuilder file;
  file.AddEvent({8, 0, kSampleTid | kSampleTime, true, {100}});
  file.AddEvent({1, 9, kSampleTime, true, {102}});
  file.ItraceStart(42, 43, {500, 42, 43, 3, 100});
  const Recording recording = Read(file);
  EXPECT_EQ(std::get<ItraceStartRecord>(recording.sideband.at(0)).time, 0u);
  EXPECT_TRUE(Warns(recording, "no identifier"));
}

TEST(PerfTrailer, NoneWithoutSampleIdAll) {
  PerfDataBuilder file;
  file.AddEvent({8, 0, PerfDataBuilder::kUsualSampleType, false, {100}});
  file.Exit(50, 51, kTrailer);
  const auto exit = Only<ExitRecord>(file);
  EXPECT_EQ(exit.time, 1000u);  // EXIT has a time of its own
  EXPECT_EQ(exit.cpu, -1);
}

TEST(PerfTrailer, RecordTooShortForItsFieldsIsLeftOutWithAWarning) {
  PerfDataBuilder file = PerfDataBuilder::WithIntelPt();
  const uint64_t offset = file.NextOffset();
  file.Record(kRecordAux, 0, FieldWriter().U64(0));
  file.Comm(42, 42, "a", false, kTrailer);
  const Recording recording = Read(file);
  EXPECT_EQ(recording.sideband.size(), 1u);
  std::ostringstream place;
  place << "too short for their fields and left out; the first is at offset 0x" << std::hex
        << offset;
  EXPECT_TRUE(Warns(recording, place.str()));
}

TEST(PerfHeader, MachineAndRecorder) {
  PerfDataBuilder file = PerfDataBuilder::WithIntelPt();
  file.TextFeature(kFeatureHostname, "build-3");
  file.TextFeature(kFeatureOsRelease, "6.1.0");
  file.TextFeature(kFeatureVersion, "6.1.192");
  file.TextFeature(kFeatureArch, "x86_64");
  file.TextFeature(kFeatureCpuDescription, "Some CPU @ 2.40GHz");
  file.TextFeature(kFeatureCpuid, "GenuineIntel,6,94,3");
  file.Feature(kFeatureCpuCount, FieldWriter().U32(8).U32(4));
  FieldWriter line;
  line.U32(2).U32(8).Text("perf").U32(16).Text("record", 16);
  file.Feature(kFeatureCommandLine, line);
  const Recording recording = Read(file);
  EXPECT_EQ(recording.machine.hostname, "build-3");
  EXPECT_EQ(recording.machine.os_release, "6.1.0");
  EXPECT_EQ(recording.machine.recorder, "perf 6.1.192");
  EXPECT_FALSE(recording.machine.emulated);
  EXPECT_EQ(recording.machine.architecture, "x86_64");
  EXPECT_EQ(recording.machine.cpu_description, "Some CPU @ 2.40GHz");
  EXPECT_EQ(recording.machine.cpuid, "GenuineIntel,6,94,3");
  EXPECT_EQ(recording.machine.cpus_online, 4u);
  EXPECT_EQ(recording.machine.command_line, "perf record");
  EXPECT_EQ(recording.machine.cpu, (CpuId{true, 6, 94, 3}));
  EXPECT_TRUE(recording.warnings.empty());
}

TEST(PerfHeader, EmulatedRecordingsSaySo) {
  PerfDataBuilder file = PerfDataBuilder::WithIntelPt();
  file.TextFeature(kFeatureVersion, "flowback 0.1.0, emulated (step)");
  EXPECT_EQ(Read(file).machine.recorder, "flowback 0.1.0, emulated (step)");
  EXPECT_TRUE(Read(file).machine.emulated);
  file.TextFeature(kFeatureVersion, "flowback 0.1.0");
  EXPECT_FALSE(Read(file).machine.emulated);
}

// As records, features outlive a recorder that is killed before it writes the header's.
TEST(PerfHeader, FeaturesComeAsRecordsToo) {
  PerfDataBuilder file = PerfDataBuilder::WithIntelPt();
  FieldWriter version;
  version.U64(kFeatureVersion).U32(64).Text("flowback 0.1.0 emulated (step)", 64).U32(0);
  file.Record(kRecordHeaderFeature, 0, version);
  file.Record(kRecordHeaderFeature, 0, FieldWriter().U64(~uint64_t{0}));
  EXPECT_TRUE(Read(file).machine.emulated);
  // Our recorder writes the header's features when it ends.
  EXPECT_TRUE(Warns(Read(file), "did not end properly"));
  file.TextFeature(kFeatureHostname, "host");
  EXPECT_TRUE(Read(file).machine.emulated);
  EXPECT_TRUE(Read(file).warnings.empty());
  file.Record(kRecordHeaderFeature, 0, FieldWriter().U64(kFeatureCpuid).U32(~uint32_t{0}));
  ASSERT_EQ(Read(file).warnings.size(), 1u);
  EXPECT_NE(Read(file).warnings[0].text.find("CPU id"), std::string::npos);
}

TEST(PerfHeader, CpuidOfOthersLeavesTheCpuUnknown) {
  PerfDataBuilder file = PerfDataBuilder::WithIntelPt();
  file.TextFeature(kFeatureCpuid, "AuthenticAMD,25,17,0");
  EXPECT_FALSE(Read(file).machine.cpu.intel);
  EXPECT_EQ(Read(file).machine.cpu.family, 25);
  for (const char* text : {"0x00000000410fd0c0", "GenuineIntel,6,94", "GenuineIntel,6,300,1", "",
                           "GenuineIntel,,,", "GenuineIntel,99999999999,1,1"}) {
    file.TextFeature(kFeatureCpuid, text);
    EXPECT_FALSE(Read(file).machine.cpu.known()) << text;
  }
}

void AddBuildId(FieldWriter& table, uint16_t misc, uint8_t size, const char* path) {
  FieldWriter name;
  name.Text(path, 64);
  table.U32(67).U16(misc).U16(static_cast<uint16_t>(36 + name.bytes.size())).U32(0xffffffff);
  for (uint8_t i = 1; i <= 20; ++i) table.U8(i);
  table.U8(size).U8(0).U16(0).Raw(name.bytes);
}

TEST(PerfHeader, BuildIds) {
  FieldWriter table;
  AddBuildId(table, 2, 0, "/lib/old.so");
  AddBuildId(table, 2 | kMiscBuildIdSize, 16, "/lib/new.so");
  PerfDataBuilder file = PerfDataBuilder::WithIntelPt();
  file.Feature(kFeatureBuildId, table);
  const Recording recording = Read(file);
  ASSERT_EQ(recording.build_ids.size(), 2u);
  EXPECT_EQ(recording.build_ids[0].first, "/lib/old.so");
  EXPECT_EQ(recording.build_ids[0].second.bytes.size(), 20u);
  EXPECT_EQ(recording.build_ids[1].first, "/lib/new.so");
  EXPECT_EQ(recording.build_ids[1].second.bytes.size(), 16u);
}

TEST(PerfHeader, DamagedFeaturesAreLeftOutWithAWarning) {
  FieldWriter table;
  AddBuildId(table, 2, 0, "/lib/good.so");
  table.U32(67).U16(2).U16(9);
  PerfDataBuilder file = PerfDataBuilder::WithIntelPt();
  file.Feature(kFeatureBuildId, table);
  file.Feature(kFeatureHostname, FieldWriter().U32(0xfffffff0).Text("x"));
  file.Feature(kFeatureCommandLine, FieldWriter().U32(0xffffffff).U32(8).Text("perf"));
  file.Feature(kFeatureEventDescriptions, FieldWriter().U32(0xffffffff).U32(0xffffffff));
  file.Feature(kFeatureCpuCount, FieldWriter().U32(1));
  file.TextFeature(kFeatureCpuid, "GenuineIntel,6,94,3");
  const Recording recording = Read(file);
  EXPECT_EQ(recording.build_ids.size(), 1u);
  EXPECT_EQ(recording.machine.hostname, "");
  EXPECT_TRUE(recording.machine.cpu.known());
  for (const char* name :
       {"build-ids", "host name", "command line", "event descriptions", "number of CPUs"}) {
    EXPECT_TRUE(Warns(recording, name)) << name;
  }
  ASSERT_EQ(recording.warnings.size(), 1u);  // what belongs together is one sentence
  EXPECT_FALSE(recording.warnings[0].remedy.empty());
}

TEST(PtSettings, FromTheEventAndTheInfo) {
  const Recording recording = Read(PerfDataBuilder::WithIntelPt());
  const PtConfig& config = PtConfigOf(recording.config);
  EXPECT_EQ(config.return_compression, true);
  EXPECT_EQ(config.address_filter, false);
  EXPECT_EQ(config.tsc_ctc_numerator, 200u);
  EXPECT_EQ(config.tsc_ctc_denominator, 2u);
  EXPECT_EQ(config.mtc_shift, 3);
  EXPECT_EQ(config.nominal_ratio, 24u);
  EXPECT_EQ(recording.time.shift, 31);
  EXPECT_EQ(recording.time.mult, 894784853u);
  EXPECT_EQ(recording.time.zero, 1000000000000u);
}

PerfDataBuilder WithInfo(uint64_t event_config, const std::vector<uint64_t>& info) {
  PerfDataBuilder file;
  file.AddEvent({1, 0xffff, PerfDataBuilder::kUsualSampleType, true, {102}});
  file.AddEvent({8, event_config, PerfDataBuilder::kUsualSampleType, true, {100}});
  file.AuxtraceInfo(info);
  return file;
}

TEST(PtSettings, NoReturnCompressionAndAnotherMtcPeriod) {
  const PtConfig config =
      PtConfigOf(Read(WithInfo(0x24a01, PerfDataBuilder::UsualPtInfo())).config);
  EXPECT_EQ(config.return_compression, false);
  EXPECT_EQ(config.mtc_shift, 9);
}

TEST(PtSettings, ShorterArrayOfAnOldPerf) {
  std::vector<uint64_t> info = PerfDataBuilder::UsualPtInfo();
  info.resize(kPtPerCpuMmaps + 1);
  const Recording recording = Read(WithInfo(0x100f621, info));
  const PtConfig& config = PtConfigOf(recording.config);
  EXPECT_EQ(config.return_compression, true);
  EXPECT_EQ(config.tsc_ctc_denominator, 0u);
  EXPECT_FALSE(config.mtc_shift);
  EXPECT_TRUE(recording.time.known());
}

TEST(PtSettings, LongerArrayWithAFilter) {
  std::vector<uint64_t> info = PerfDataBuilder::UsualPtInfo();
  FieldWriter text;
  text.Text("filter 0x1000/0x200");
  info[kPtFilterLength] = text.bytes.size();
  for (size_t i = 0; i < text.bytes.size(); i += 8) {
    info.push_back(LoadLittleEndian(&text.bytes[i], 8));
  }
  info.push_back(1);  // event trace capability: newer
  const PtConfig config = PtConfigOf(Read(WithInfo(0x100f621, info)).config);
  EXPECT_EQ(config.address_filter, true);
  ASSERT_EQ(config.filter_ranges.size(), 1u);
  EXPECT_EQ(config.filter_ranges[0].begin, 0x1000u);
  EXPECT_EQ(config.filter_ranges[0].end, 0x1200u);
}

TEST(PtSettings, FilterLengthThatLies) {
  std::vector<uint64_t> info = PerfDataBuilder::UsualPtInfo();
  info[kPtFilterLength] = ~uint64_t{0};
  EXPECT_EQ(PtConfigOf(Read(WithInfo(0, info)).config).address_filter, false);
  info.push_back(0x6161616161616161);
  EXPECT_EQ(PtConfigOf(Read(WithInfo(0, info)).config).address_filter, true);
}

TEST(PtSettings, FilterTermsOfFilesAndSymbolsHaveNoRange) {
  EXPECT_TRUE(ParseFilterRanges("filter 0x1000/0x200@/bin/ls").empty());
  EXPECT_TRUE(ParseFilterRanges("filter main").empty());
  EXPECT_TRUE(ParseFilterRanges("filter").empty());
  EXPECT_TRUE(ParseFilterRanges("stop 0x1000/0x200").empty());
  EXPECT_TRUE(ParseFilterRanges("filter 0xffffffffffffffff/2").empty());
  const auto two = ParseFilterRanges("filter 4096/16 , filter 0x2000/0x10,stop 0x3000/1");
  ASSERT_EQ(two.size(), 2u);
  EXPECT_EQ(two[0].begin, 4096u);
  EXPECT_EQ(two[1].end, 0x2010u);
}

TEST(PtSettings, ImpossibleValuesAreLeftOutWithAWarning) {
  std::vector<uint64_t> info = PerfDataBuilder::UsualPtInfo();
  info[kPtTimeShift] = 64;
  info[kPtTscCtcNumerator] = uint64_t{1} << 40;
  info[kPtPmuType] = 77;
  const Recording recording = Read(WithInfo(0x100f621, info));
  EXPECT_FALSE(recording.time.known());
  EXPECT_EQ(PtConfigOf(recording.config).tsc_ctc_numerator, 0u);
  EXPECT_FALSE(PtConfigOf(recording.config).return_compression);
  EXPECT_TRUE(Warns(recording, "time conversion"));
  EXPECT_TRUE(Warns(recording, "clock ratios"));
  EXPECT_TRUE(Warns(recording, "PMU number 77"));
}

TEST(PtSettings, TimeConversionNeedsTheKernelsWord) {
  std::vector<uint64_t> info = PerfDataBuilder::UsualPtInfo();
  info[kPtCapUserTimeZero] = 0;
  EXPECT_FALSE(Read(WithInfo(0, info)).time.known());
  PerfDataBuilder file = WithInfo(0, info);
  file.Record(kRecordTimeConv, 0, FieldWriter().U64(10).U64(5).U64(77));
  EXPECT_EQ(Read(file).time.zero, 77u);
  PerfDataBuilder newer = WithInfo(0, info);
  newer.Record(kRecordTimeConv, 0,
               FieldWriter().U64(10).U64(5).U64(77).U64(0).U64(0).U8(0).U8(0).U16(0).U32(0));
  EXPECT_FALSE(Read(newer).time.known());
}

}  // namespace
}  // namespace flowback
