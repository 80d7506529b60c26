// SPDX-License-Identifier: MIT
// Times of recordings that hardware made. Their true times are not known; but what other decoders
// say must lie within our bounds: perf 6.1's time of each branch (the lists beside the hase
// recordings, `perf script` with nine decimals), and libipt's of each instruction.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "flowback/capture/open.h"
#include "flowback/decode/recording_code.h"
#include "tests/golden/engines.h"
#include "tests/golden/shared_traces.h"
#include "tests/support/flow_of.h"

namespace flowback::golden {
namespace {

struct RealRecording {
  const char* name;
  const char* folder;
  const char* file;
  const char* image;
  bool is_perf_data;
  const char* perf_list;  // null: none
};

const RealRecording kRecordings[] = {
    {"dynamorio_current", "dynamorio-current", "pt.bin", "hello", false, nullptr},
    {"dynamorio_static", "dynamorio-v3_static_820k_sb", "pt.bin", "hello", false, nullptr},
    {"hase_control_flow", "hase-2018-04-04", "control_flow-20180404T163033.perf", "control_flow",
     true, "control_flow-20180404T163033.perf.perf-branches.txt"},
    {"hase_loopy", "hase-2018-04-04", "loopy-20180404T162955.perf", "loopy", true,
     "loopy-20180404T162955.perf.perf-branches.txt"},
};

std::filesystem::path FolderOf(const RealRecording& real) {
  return TracesFolder() / "intel-pt" / real.folder;
}

class RealTimeTest : public ::testing::TestWithParam<RealRecording> {
 protected:
  void SetUp() override {
    FLOWBACK_NEEDS_TRACES();
    const RealRecording& real = GetParam();
    OpenOptions options;
    options.images = {ParseImageSpec(FolderOf(real) / real.image).value()};
    if (real.is_perf_data) {
      options.input = FolderOf(real) / real.file;
    } else {
      options.raw_pt = {FolderOf(real) / real.file};
      options.cpu = ParseCpuId("6/85/4").value();
      options.tsc_ctc_numerator = 308;
      options.tsc_ctc_denominator = 2;
      options.mtc_shift = 3;
      options.nominal_ratio = 37;
    }
    Result<Recording> recording = OpenRecording(options);
    ASSERT_TRUE(recording) << recording.error().message();
    recording_ = std::move(*recording);
    Result<RecordingCode> code = RecordingCode::Load(recording_, {});
    ASSERT_TRUE(code) << code.error().message();
    code_ = std::move(*code);
  }

  std::vector<FlowSegment> Decode(Decoder& decoder) {
    std::vector<FlowSegment> flows;
    for (const Stream& stream : recording_.streams) {
      DecodeInput input;
      input.bytes = stream.bytes;
      input.code = &code_->ForStream(stream);
      input.config = recording_.config;
      input.time = recording_.time;
      input.gaps = stream.gaps;
      input.times = true;
      flows.push_back(FlowOf(decoder, input));
    }
    return flows;
  }

  Recording recording_;
  std::optional<RecordingCode> code_;
};

struct Timed {
  uint64_t tsc = 0;
  TscInterval bounds;
};

// The block's bounds: libipt does not time the branch apart from what leads to it.
std::vector<Timed> TimesOf(const std::vector<FlowSegment>& flows) {
  std::vector<Timed> times;
  for (const FlowSegment& flow : flows)
    ForEachInstruction(flow, [&](const BlockRun& run, size_t i, uint64_t) {
      times.push_back({run.TscOf(i), run.bounds});
    });
  return times;
}

bool Contains(const TscInterval& bounds, uint64_t tsc) {
  return tsc >= bounds.lo && (bounds.hi == 0 || tsc <= bounds.hi);
}

TEST_P(RealTimeTest, BoundsHoldLibiptsTimes) {
  const std::unique_ptr<Decoder> libipt = Engine("libipt");
  FLOWBACK_NEEDS_ENGINE(libipt);
  const std::unique_ptr<Decoder> native = Engine("native");
  const std::vector<Timed> ours = TimesOf(Decode(*native));
  const std::vector<Timed> theirs = TimesOf(Decode(*libipt));
  ASSERT_EQ(ours.size(), theirs.size());
  ASSERT_FALSE(ours.empty());
  size_t outside = 0;
  for (size_t i = 0; i < ours.size(); ++i) {
    const Timed& mine = ours[i];
    EXPECT_NE(mine.bounds.lo, 0u);
    if (!Contains(mine.bounds, theirs[i].tsc) && ++outside <= 5)
      ADD_FAILURE() << "instruction " << i << ": libipt says " << theirs[i].tsc << ", not in ["
                    << mine.bounds.lo << ", " << mine.bounds.hi << "]";
  }
  EXPECT_EQ(outside, 0u);
}

// TID [CPU] SECONDS: branches:u: KIND... FROM => TO
struct PerfBranch {
  uint64_t ns = 0;
  uint64_t from = 0;
  uint64_t to = 0;
};
std::vector<PerfBranch> ReadPerfList(const std::filesystem::path& file) {
  std::vector<PerfBranch> list;
  for (const std::vector<std::string>& row : ReadTable(file)) {
    const auto arrow = std::ranges::find(row, "=>");
    if (arrow == row.end() || arrow + 1 == row.end()) continue;
    std::string digits;
    for (const char c : row[2])
      if (std::isdigit(static_cast<unsigned char>(c)) != 0) digits += c;
    list.push_back({std::stoull(digits), std::stoull(*(arrow - 1), nullptr, 16),
                    std::stoull(*(arrow + 1), nullptr, 16)});
  }
  return list;
}

class RealTimeByPerfTest : public RealTimeTest {};

TEST_P(RealTimeByPerfTest, BoundsHoldPerfsTimes) {
  const std::vector<PerfBranch> theirs = ReadPerfList(FolderOf(GetParam()) / GetParam().perf_list);
  const std::unique_ptr<Decoder> native = Engine("native");
  std::vector<ListedBranch> ours;
  for (const FlowSegment& flow : Decode(*native))
    std::ranges::copy(BranchesOf(flow), std::back_inserter(ours));
  ASSERT_EQ(ours.size(), theirs.size());
  ASSERT_FALSE(theirs.empty());
  for (size_t i = 0; i < theirs.size(); ++i) {
    const ListedBranch& mine = ours[i];
    ASSERT_EQ(mine.from, theirs[i].from) << i;
    ASSERT_EQ(mine.to, theirs[i].to) << i;
    ASSERT_NE(mine.bounds.hi, 0u);
    EXPECT_LE(recording_.time.ToNanoseconds(mine.bounds.lo), theirs[i].ns) << i;
    EXPECT_GE(recording_.time.ToNanoseconds(mine.bounds.hi) + 1, theirs[i].ns) << i;
  }
}

std::string NameOf(const ::testing::TestParamInfo<RealRecording>& which) {
  return which.param.name;
}

std::vector<RealRecording> WithPerfLists() {
  std::vector<RealRecording> recordings;
  for (const RealRecording& recording : kRecordings)
    if (recording.perf_list != nullptr) recordings.push_back(recording);
  return recordings;
}

INSTANTIATE_TEST_SUITE_P(Recordings, RealTimeTest, ::testing::ValuesIn(kRecordings), NameOf);
INSTANTIATE_TEST_SUITE_P(Recordings, RealTimeByPerfTest, ::testing::ValuesIn(WithPerfLists()),
                         NameOf);

}  // namespace
}  // namespace flowback::golden
