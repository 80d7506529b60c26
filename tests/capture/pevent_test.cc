// SPDX-License-Identifier: MIT
// Raw perf records as the sideband of raw trace bytes.
#include <gtest/gtest.h>

#include "capture/formats/perf_records/perf_layout.h"
#include "flowback/capture/open.h"
#include "tests/capture/temporary_file.h"
#include "tests/support/perf_data_builder.h"

namespace flowback {
namespace {

using namespace perf;
using support::FieldWriter;
using support::TemporaryFolder;
using support::Warns;

// SWITCH of thread 43, with TID, TIME, CPU and IDENTIFIER.
void AddSwitch(FieldWriter& file, uint64_t time) {
  file.U32(kRecordSwitch).U16(0).U16(40).U32(42).U32(43).U64(time).U32(2).U32(0).U64(9);
}

FieldWriter Records() {
  FieldWriter file;
  file.U32(kRecordTimeConv).U16(0).U16(32).U64(31).U64(500).U64(7);
  AddSwitch(file, 20);
  AddSwitch(file, 10);
  return file;
}

class Pevent : public testing::Test {
 protected:
  void SetUp() override {
    options_.raw_pt = {folder_.Write("pt.bin", "trace")};
    options_.sample_type = 0x10086;
  }
  Result<Recording> Open(const std::vector<uint8_t>& records) {
    options_.pevent = {folder_.Write("a.pevent", records)};
    return OpenRecording(options_);
  }

  TemporaryFolder folder_;
  OpenOptions options_;
};

TEST_F(Pevent, IsReadWithItsSampleType) {
  const auto recording = Open(Records().bytes);
  ASSERT_TRUE(recording) << recording.error().message();
  EXPECT_TRUE(recording->warnings.empty());
  ASSERT_EQ(recording->sideband.size(), 2u);
  const auto& first = std::get<SwitchRecord>(recording->sideband[0]);
  EXPECT_EQ(first.time, 10u);
  EXPECT_EQ(first.pid, 42);
  EXPECT_EQ(first.tid, 43);
  EXPECT_EQ(first.cpu, 2);
  EXPECT_EQ(recording->time.mult, 500u);
  EXPECT_EQ(recording->streams.at(0).tid, 43);
  EXPECT_EQ(recording->streams.at(0).bytes.size(), 5u);
}

TEST_F(Pevent, TheUsersTimeGoesBeforeTheFiles) {
  options_.time_conversion = TimeConversion{10, 3, 1};
  EXPECT_EQ(Open(Records().bytes)->time.mult, 3u);
}

TEST_F(Pevent, SeveralFilesAreMerged) {
  FieldWriter more;
  AddSwitch(more, 15);
  options_.pevent = {folder_.Write("a", Records().bytes), folder_.Write("b", more.bytes)};
  const auto recording = OpenRecording(options_);
  ASSERT_EQ(recording->sideband.size(), 3u);
  EXPECT_EQ(std::get<SwitchRecord>(recording->sideband[1]).time, 15u);
}

TEST_F(Pevent, WithoutSampleTypeTimesAreUnknownAndThatIsSaid) {
  options_.sample_type.reset();
  const auto recording = Open(Records().bytes);
  ASSERT_TRUE(recording);
  EXPECT_EQ(std::get<SwitchRecord>(recording->sideband.at(0)).time, 0u);
  EXPECT_TRUE(Warns(*recording, "--sample-type"));
}

TEST_F(Pevent, CutAtEveryByte) {
  const std::vector<uint8_t> whole = Records().bytes;
  for (size_t size = 0; size < whole.size(); ++size) {
    SCOPED_TRACE(size);
    const auto cut = Open({whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size)});
    if (size < 32) {
      ASSERT_FALSE(cut);
      EXPECT_EQ(cut.error().code(), ErrorCode::kUnreadable);
      EXPECT_NE(cut.error().message().find("a.pevent: does not begin with a perf record"),
                std::string::npos);
      continue;
    }
    ASSERT_TRUE(cut);
    EXPECT_EQ(cut->sideband.size(), (size - 32) / 40);
    const bool whole_records = (size - 32) % 40 == 0;
    EXPECT_EQ(Warns(*cut, "a.pevent: cut at offset"), !whole_records);
  }
}

TEST_F(Pevent, GoesWithRawTracesOnly) {
  options_.input = options_.raw_pt.front();
  options_.raw_pt.clear();
  options_.pevent = {"x"};
  const auto recording = OpenRecording(options_);
  ASSERT_FALSE(recording);
  EXPECT_EQ(recording.error().code(), ErrorCode::kUsage);
}

TEST_F(Pevent, MissingFile) {
  options_.pevent = {"/nonexistent/a.pevent"};
  const auto recording = OpenRecording(options_);
  ASSERT_FALSE(recording);
  EXPECT_FALSE(recording.error().remedy().empty());
}

// The owner of a raw stream.
class RawOwner : public Pevent {
 protected:
  static constexpr uint32_t kIdentifier = 9;

  static void Trailer(FieldWriter& file, uint32_t tid, uint64_t time, uint32_t cpu) {
    file.U32(42).U32(tid).U64(time).U32(cpu).U32(0).U64(kIdentifier);
  }
  void Convert() { file_.U32(kRecordTimeConv).U16(0).U16(32).U64(0).U64(1).U64(0); }
  void Start(uint32_t tid, uint32_t cpu) {
    file_.U32(kRecordItraceStart).U16(0).U16(48).U32(42).U32(tid);
    Trailer(file_, tid, 5, cpu);
  }
  void Switch(uint32_t tid, uint64_t time, uint32_t cpu, bool out = false) {
    file_.U32(kRecordSwitch).U16(out ? kMiscSwitchOut : 0).U16(40);
    Trailer(file_, tid, time, cpu);
  }
  void SwitchTo(uint32_t tid, uint64_t time, uint32_t cpu, uint32_t next) {
    file_.U32(kRecordSwitchCpuWide).U16(kMiscSwitchOut).U16(48).U32(99).U32(next);
    Trailer(file_, tid, time, cpu);
  }
  void Aux(uint32_t tid, uint32_t cpu, uint64_t size) {
    file_.U32(kRecordAux).U16(0).U16(64).U64(0).U64(size).U64(0);
    Trailer(file_, tid, 50, cpu);
  }
  Recording Opened() {
    Result<Recording> recording = Open(file_.bytes);
    EXPECT_TRUE(recording) << recording.error().message();
    return *std::move(recording);
  }

  FieldWriter file_;
};

TEST_F(RawOwner, OneThreadOwnsItAll) {
  Convert();
  Start(43, 2);
  Switch(43, 10, 2, true);
  Switch(43, 20, 3);
  const Recording recording = Opened();
  EXPECT_EQ(recording.streams[0].tid, 43);
  EXPECT_TRUE(recording.warnings.empty());
}

TEST_F(RawOwner, OfSeveralThreadsTheCpusScheduleTells) {
  Convert();
  Start(43, 2);
  SwitchTo(43, 10, 2, 77);
  const Recording recording = Opened();
  EXPECT_EQ(recording.streams[0].tid, -1);
  EXPECT_EQ(recording.streams[0].pid, -1) << "of another process, too";
  EXPECT_EQ(recording.streams[0].cpu, 2);
  EXPECT_TRUE(recording.warnings.empty());
}

TEST_F(RawOwner, WithoutAConversionItIsNobodys) {
  Start(43, 2);
  Switch(43, 10, 2, true);
  Switch(44, 11, 2);
  const Recording recording = Opened();
  EXPECT_EQ(recording.streams[0].tid, -1);
  EXPECT_EQ(recording.streams[0].pid, 42) << "both are its threads";
  EXPECT_TRUE(Warns(recording, "time conversion is unknown"));
}

TEST_F(RawOwner, OnSeveralCpusItIsNobodysUnlessASizeTells) {
  Convert();
  Start(43, 2);
  Switch(43, 10, 2, true);
  Switch(44, 11, 3);
  EXPECT_EQ(Opened().streams[0].cpu, 2) << "the trace began there";
  Start(44, 3);
  const Recording unknown = Opened();
  EXPECT_EQ(unknown.streams[0].cpu, -1);
  EXPECT_EQ(unknown.streams[0].tid, -1);
  EXPECT_TRUE(Warns(unknown, "belongs to no thread"));
  Aux(43, 3, 5);  // as long as the file
  Aux(43, 2, 7);
  EXPECT_EQ(Opened().streams[0].cpu, 3);
}

TEST_F(RawOwner, AThreadsBufferIsKnownByItsSizeOnSeveralCpus) {
  Convert();
  Switch(43, 10, 2, true);
  Switch(44, 11, 3);
  Aux(44, 2, 2);
  Aux(44, 3, 3);
  Aux(43, 2, 9);
  const Recording recording = Opened();
  EXPECT_EQ(recording.streams[0].tid, 44);
  EXPECT_EQ(recording.streams[0].cpu, -1);
}

TEST_F(RawOwner, SwitchesWithoutAThreadMakeItNobodys) {
  options_.sample_type.reset();
  Convert();
  Start(43, 2);
  Switch(43, 10, 2, true);
  const Recording recording = Opened();
  EXPECT_EQ(recording.streams[0].tid, -1);
  EXPECT_EQ(recording.streams[0].cpu, -1);
  EXPECT_TRUE(Warns(recording, "belongs to no thread"));
}

TEST(TimeConversionSpec, IsParsed) {
  const auto time = ParseTimeConversion("31,0x22a1cd05,18444502336406842448");
  ASSERT_TRUE(time);
  EXPECT_EQ(time->shift, 31);
  EXPECT_EQ(time->mult, 581029125u);
  EXPECT_EQ(time->zero, 18444502336406842448u);
  for (const char* wrong :
       {"", "31", "31,5", "33,5,0", "31,0,0", "31,4294967296,0", "a,b,c", "31,5,0,0", "-1,5,0"}) {
    EXPECT_FALSE(ParseTimeConversion(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace flowback
