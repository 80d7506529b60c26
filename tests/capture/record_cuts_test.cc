// SPDX-License-Identifier: MIT
// Every record type cut at every byte, with and without a trailer and in both byte orders, and
// every feature of the header: what is not cut is read.
#include <gtest/gtest.h>

#include <algorithm>

#include "capture/formats/perf_records/perf_layout.h"
#include "tests/capture/temporary_file.h"
#include "tests/support/perf_data_builder.h"
#include "tests/support/perf_data_converter.h"

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
constexpr uint32_t kFirstRecorderType = 64;

Recording Read(const Data& bytes) {
  auto recording = ReadBytes(bytes);
  EXPECT_TRUE(recording) << recording.error().message();
  return recording ? *std::move(recording) : Recording();
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
      {kRecordSwitch, "SWITCH", FieldWriter()},
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

// The types of perf_records.def that AllBodies() has no fields for.
std::vector<Body> OtherBodies() {
  std::vector<Body> all = {
#define FLOWBACK_PERF_RECORD(constant, number, name) \
  {constant, name, FieldWriter().U64(9).U64(1).Raw(Data(40, 1))},
#include "capture/formats/perf_records/perf_records.def"
#undef FLOWBACK_PERF_RECORD
  };
  const std::vector<Body> known = AllBodies();
  std::erase_if(all, [&](const Body& body) {
    return std::ranges::any_of(known, [&](const Body& other) { return other.type == body.type; });
  });
  return all;
}

// What they promise behind themselves may be more than there is.
bool HasDataBehind(uint32_t type) { return type == kRecordAuxtrace || type == kRecordTracingData; }

bool HasNext(const Recording& recording) {
  return std::ranges::any_of(recording.sideband, [](const SidebandRecord& record) {
    const auto* comm = std::get_if<CommRecord>(&record);
    return comm != nullptr && comm->comm == "next";
  });
}

void Store(Data& bytes, uint64_t at, uint64_t value, unsigned width, bool foreign) {
  for (unsigned i = 0; i < width; ++i)
    bytes.at(at + (foreign ? width - 1 - i : i)) = static_cast<uint8_t>(value >> (8 * i));
}

uint64_t Load(const Data& bytes, uint64_t at, unsigned width, bool foreign) {
  uint64_t value = 0;
  for (unsigned i = 0; i < width; ++i)
    value |= uint64_t{bytes.at(at + (foreign ? width - 1 - i : i))} << (8 * i);
  return value;
}

// A file with one record, "next". Where it stands, another one can be put.
Data FileWithNext(bool foreign, uint64_t& at) {
  PerfDataBuilder file = PerfDataBuilder::WithIntelPt();
  at = file.NextOffset();
  file.Comm(42, 42, "next", false, kTrailer);
  return foreign ? support::ToForeign(support::TakeApart(file.Build())) : file.Build();
}

// Its fields in the foreign order are other numbers: lies as good as any.
Data WithRecord(Data file, uint64_t at, uint32_t type, const Data& body, bool foreign) {
  Data record(kRecordHeaderSize);
  Store(record, 0, type, 4, foreign);
  Store(record, 4, 0xffff, 2, foreign);
  Store(record, 6, kRecordHeaderSize + body.size(), 2, foreign);
  record.insert(record.end(), body.begin(), body.end());
  file.insert(file.begin() + static_cast<ptrdiff_t>(at), record.begin(), record.end());
  Store(file, 48, Load(file, 48, 8, foreign) + record.size(), 8, foreign);
  return file;
}

// Also where the cut goes through the trailer, and where all that is left looks like one.
TEST(RecordCuts, EveryTypeWithATrailerInBothOrders) {
  std::vector<Body> bodies = AllBodies();
  for (Body& other : OtherBodies()) bodies.push_back(std::move(other));
  for (const bool foreign : {false, true}) {
    uint64_t at = 0;
    const Data plain = FileWithNext(foreign, at);
    ASSERT_TRUE(HasNext(Read(plain)));
    for (const Body& body : bodies) {
      Data whole = body.body.bytes;
      if (body.type < kFirstRecorderType) {
        FieldWriter trailer;
        trailer.U32(7).U32(8).U64(1000).U32(3).U32(0).U64(102);
        whole.insert(whole.end(), trailer.bytes.begin(), trailer.bytes.end());
      }
      for (size_t size = 0; size <= whole.size(); ++size) {
        SCOPED_TRACE(std::string(body.name) + " cut to " + std::to_string(size) +
                     (foreign ? ", foreign" : ""));
        const Data cut(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size));
        const Recording recording = Read(WithRecord(plain, at, body.type, cut, foreign));
        EXPECT_TRUE(HasNext(recording) ||
                    (HasDataBehind(body.type) && !recording.warnings.empty()));
        for (const Warning& warning : recording.warnings) EXPECT_FALSE(warning.text.empty());
      }
    }
  }
}

PerfDataBuilder FileWithFeatures() {
  PerfDataBuilder file = PerfDataBuilder::WithIntelPt();
  file.Comm(42, 42, "next", false, kTrailer);
  FieldWriter build_id;
  build_id.U32(67).U16(2 | kMiscBuildIdSize).U16(44).U32(42).Raw(Data(20, 7));
  file.Feature(kFeatureBuildId, build_id.U8(20).U8(0).U16(0).Text("lib.so"));
  for (const unsigned bit : {kFeatureHostname, kFeatureOsRelease, kFeatureVersion, kFeatureArch,
                             kFeatureCpuDescription, kFeatureCpuid})
    file.TextFeature(bit, "GenuineIntel,6,94,3");
  file.Feature(kFeatureCpuCount, FieldWriter().U32(8).U32(4));
  file.Feature(kFeatureCommandLine, FieldWriter().U32(1).U32(8).Text("perf"));
  FieldWriter events;
  events.U32(1).U32(64).Raw(Data(64)).U32(1).U32(16).Text("intel_pt//u", 16).U64(1);
  file.Feature(kFeatureEventDescriptions, events);
  return file;
}

TEST(RecordCuts, EveryFeatureInBothOrders) {
  const Data plain = FileWithFeatures().Build();
  for (const bool foreign : {false, true}) {
    const Data whole = foreign ? support::ToForeign(support::TakeApart(plain)) : plain;
    ASSERT_EQ(Read(whole).warnings.size(), 0u);
    const uint64_t table = Load(whole, 40, 8, foreign) + Load(whole, 48, 8, foreign);
    const uint64_t end = Load(whole, table, 8, foreign);
    ASSERT_EQ(end - table, 10 * kSectionSize);
    for (uint64_t entry = table; entry < end; entry += kSectionSize) {
      const uint64_t size = Load(whole, entry + 8, 8, foreign);
      for (uint64_t cut = 0; cut < size; ++cut) {
        SCOPED_TRACE(std::to_string((entry - table) / kSectionSize) + " cut to " +
                     std::to_string(cut));
        Data bytes = whole;
        Store(bytes, entry + 8, cut, 8, foreign);
        const Recording recording = Read(bytes);
        EXPECT_TRUE(HasNext(recording));
        EXPECT_LE(recording.warnings.size(), 1u);
        for (const Warning& warning : recording.warnings)
          EXPECT_TRUE(warning.text.contains("cut or damaged, at offset 0x")) << warning.text;
      }
    }
  }
}

TEST(RecordCuts, NamespacesThatAreMoreThanTheRecordHolds) {
  for (const uint64_t count : {uint64_t{2}, uint64_t{1} << 32, uint64_t{1} << 60, ~uint64_t{0}}) {
    PerfDataBuilder file = PerfDataBuilder::WithIntelPt();
    const FieldWriter body = FieldWriter().U32(42).U32(42).U64(count).U64(1).U64(2);
    file.KernelRecord(kRecordNamespaces, 0, body, kTrailer);
    const Recording recording = Read(file.Build());
    EXPECT_TRUE(recording.sideband.empty());
    EXPECT_TRUE(Warns(recording, "1 records are too short for their fields"));
  }
}

}  // namespace
}  // namespace flowback
