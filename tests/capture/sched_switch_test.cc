// SPDX-License-Identifier: MIT
// Samples of sched:sched_switch become switch records.
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
using support::Warns;

constexpr uint64_t kSampleType = kSampleIdentifier | kSampleIp | kSampleTid | kSampleTime |
                                 kSampleCpu | kSamplePeriod | kSampleRaw;

void AddName(PerfDataBuilder& file, const char* first, const char* second) {
  FieldWriter events;
  events.U32(2).U32(64);
  for (const char* name : {first, second}) {
    FieldWriter text;
    text.Text(name, 64);
    events.Raw(std::vector<uint8_t>(64)).U32(0).U32(64).Raw(text.bytes);
  }
  file.Feature(kFeatureEventDescriptions, events);
}

PerfDataBuilder WithTracepoint(const char* name = "sched:sched_switch") {
  PerfDataBuilder file;
  file.AddEvent({8, 0x100f621, kSampleType & ~kSampleRaw, true, {100}});
  file.AddEvent({kTypeTracepoint, 314, kSampleType, true, {102}});
  file.AuxtraceInfo(PerfDataBuilder::UsualPtInfo());
  AddName(file, "intel_pt//", name);
  return file;
}

// The layout since Linux 2.6: common fields, then prev_comm, prev_pid, prev_prio, prev_state,
// next_comm, next_pid, next_prio.
FieldWriter UsualRaw(uint32_t previous, uint64_t state, uint32_t next) {
  FieldWriter raw;
  raw.U16(314).U8(0).U8(0).U32(previous).Text("before", 16).U32(previous).U32(120).U64(state);
  raw.Text("after", 16).U32(next).U32(120);
  return raw;
}

FieldWriter SampleBody(const FieldWriter& raw) {
  FieldWriter body;
  body.U64(102).U64(0xffffffff81000000).U32(42).U32(43).U64(5000).U32(3).U32(0).U64(1);
  return body.U32(static_cast<uint32_t>(raw.bytes.size())).Raw(raw.bytes);
}

std::vector<SwitchRecord> Switches(const PerfDataBuilder& file) {
  const auto recording = ReadBytes(file.Build());
  EXPECT_TRUE(recording);
  std::vector<SwitchRecord> switches;
  for (const SidebandRecord& record : recording->sideband) {
    switches.push_back(std::get<SwitchRecord>(record));
  }
  return switches;
}

TEST(SchedSwitch, GivesWhoGoesAndWhoComes) {
  PerfDataBuilder file = WithTracepoint();
  file.Record(kRecordSample, 1, SampleBody(UsualRaw(43, 1, 77)));
  const auto switches = Switches(file);
  ASSERT_EQ(switches.size(), 2u);
  const SwitchRecord& out = switches[0];
  EXPECT_TRUE(out.out);
  EXPECT_FALSE(out.preempted);
  EXPECT_EQ(out.pid, 42);
  EXPECT_EQ(out.tid, 43);
  EXPECT_EQ(out.other_tid, 77);
  EXPECT_EQ(out.other_pid, -1);
  EXPECT_EQ(out.time, 5000u);
  EXPECT_EQ(out.cpu, 3);
  const SwitchRecord& in = switches[1];
  EXPECT_FALSE(in.out);
  EXPECT_EQ(in.pid, -1);
  EXPECT_EQ(in.tid, 77);
  EXPECT_EQ(in.other_tid, 43);
  EXPECT_EQ(in.other_pid, 42);
  EXPECT_EQ(in.time, 5000u);
  EXPECT_EQ(in.cpu, 3);
}

TEST(SchedSwitch, RunningMeansPreempted) {
  for (const uint64_t state : {uint64_t{0}, uint64_t{0x100}}) {
    PerfDataBuilder file = WithTracepoint();
    file.Record(kRecordSample, 1, SampleBody(UsualRaw(43, state, 0)));
    EXPECT_TRUE(Switches(file).at(0).preempted);
    EXPECT_EQ(Switches(file).at(1).pid, 0);  // the idle task
  }
}

TEST(SchedSwitch, OtherTracepointsAreOnlyCounted) {
  PerfDataBuilder file = WithTracepoint("sched:sched_wakeup");
  file.Record(kRecordSample, 1, SampleBody(UsualRaw(43, 0, 77)));
  EXPECT_TRUE(Switches(file).empty());
}

// A made-up kernel whose fields lie elsewhere, as its format file says.
TEST(SchedSwitch, FieldsLieWhereTheFormatSays) {
  PerfDataBuilder file = WithTracepoint("");
  const std::string format =
      "name: sched_switch\nID: 314\nformat:\n"
      "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n"
      "\tfield:pid_t next_pid;\toffset:8;\tsize:4;\tsigned:1;\n"
      "\tfield:pid_t prev_pid;\toffset:16;\tsize:4;\tsigned:1;\n"
      "\tfield:unsigned int prev_state;\toffset:12;\tsize:4;\tsigned:0;\n"
      "\nprint fmt: \"...\"\n";
  FieldWriter tracing;
  tracing.Raw({0x17, 8, 0x44}).Raw({format.begin(), format.end()});
  file.Feature(kFeatureTracingData, tracing);
  FieldWriter raw;
  raw.U64(314).U32(77).U32(2).U32(43).U32(0);
  file.Record(kRecordSample, 1, SampleBody(raw));
  const auto switches = Switches(file);
  ASSERT_EQ(switches.size(), 2u);
  EXPECT_EQ(switches[0].tid, 43);
  EXPECT_FALSE(switches[0].preempted);
  EXPECT_EQ(switches[1].tid, 77);
}

TEST(SchedSwitch, CutAtEveryByteIsCountedNotGuessed) {
  const FieldWriter whole = SampleBody(UsualRaw(43, 1, 77));
  for (size_t size = 0; size < whole.bytes.size(); ++size) {
    SCOPED_TRACE(size);
    PerfDataBuilder file = WithTracepoint();
    FieldWriter cut;
    cut.bytes.assign(whole.bytes.begin(), whole.bytes.begin() + static_cast<ptrdiff_t>(size));
    file.Record(kRecordSample, 1, cut);
    const auto recording = ReadBytes(file.Build());
    ASSERT_TRUE(recording);
    EXPECT_TRUE(recording->sideband.empty());
    EXPECT_TRUE(Warns(*recording, "too short"));
  }
}

}  // namespace
}  // namespace flowback
