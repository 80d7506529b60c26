// SPDX-License-Identifier: MIT
// Recordings that hardware made, with both engines: the digests and branch lists published or
// established for them.
#include <gtest/gtest.h>

#include <fstream>

#include "flowback/capture/open.h"
#include "flowback/decode/recording_code.h"
#include "tests/golden/engines.h"
#include "tests/golden/shared_traces.h"
#include "tests/support/flow_of.h"

namespace flowback::golden {
namespace {

struct RealRecording {
  const char* name;
  const char* folder;               // under traces/intel-pt
  const char* perf_data;            // null: raw
  const char* raw_pt;               // null: perf.data
  std::vector<const char*> images;  // as --image takes them
  const char* cpu;                  // null: perf.data says it
  FlowDigest digest;
  const char* branches = nullptr;  // published list of from/to addresses
  const char* core = nullptr;      // as --core takes it
  uint64_t missing_image_at = 0;   // the one address where code is missing on purpose

  friend void PrintTo(const RealRecording& real, std::ostream* out) { *out << real.name; }
};

const RealRecording kRecordings[] = {
    {.name = "dynamorio_current",
     .folder = "dynamorio-current",
     .perf_data = nullptr,
     .raw_pt = "pt.bin",
     .images = {"hello"},
     .cpu = "6/85/4",
     .digest = {8, 0x9304caebd98fce40}},
    {.name = "dynamorio_static",
     .folder = "dynamorio-v3_static_820k_sb",
     .perf_data = nullptr,
     .raw_pt = "pt.bin",
     .images = {"hello"},
     .cpu = "6/85/4",
     .digest = {59234, 0x2e54b0deec56db32}},
    {.name = "hase_control_flow_perf_data",
     .folder = "hase-2018-04-04",
     .perf_data = "control_flow-20180404T163033.perf",
     .raw_pt = nullptr,
     .images = {"control_flow"},
     .cpu = nullptr,
     .digest = {1092, 0xdf52c17262245b01},
     .branches = "control_flow-20180404T163033.trace"},
    {.name = "hase_control_flow_raw",
     .folder = "hase-2018-04-04",
     .perf_data = nullptr,
     .raw_pt = "control_flow-20180404T163033.perf-aux-idx1.bin",
     .images = {"control_flow"},
     .cpu = "6/94/3",
     .digest = {1092, 0xdf52c17262245b01},
     .branches = "control_flow-20180404T163033.trace"},
    {.name = "hase_loopy_perf_data",
     .folder = "hase-2018-04-04",
     .perf_data = "loopy-20180404T162955.perf",
     .raw_pt = nullptr,
     .images = {"loopy"},
     .cpu = nullptr,
     .digest = {57, 0x58ca80eae7b4f27d},
     .branches = "loopy-20180404T162955.trace"},
    {.name = "hase_loopy_raw",
     .folder = "hase-2018-04-04",
     .perf_data = nullptr,
     .raw_pt = "loopy-20180404T162955.perf-aux-idx2.bin",
     .images = {"loopy"},
     .cpu = "6/94/3",
     .digest = {57, 0x58ca80eae7b4f27d},
     .branches = "loopy-20180404T162955.trace"},
    {.name = "hase_control_flow_core",
     .folder = "hase-2018-04-04",
     .perf_data = "control_flow-20180404T163033.perf",
     .raw_pt = nullptr,
     .images = {},
     .cpu = nullptr,
     .digest = {1092, 0xdf52c17262245b01},
     .branches = "control_flow-20180404T163033.trace",
     .core = "control_flow-20180404T163033.coredump"},
    {.name = "hase_loopy_core",
     .folder = "hase-2018-04-04",
     .perf_data = "loopy-20180404T162955.perf",
     .raw_pt = nullptr,
     .images = {},
     .cpu = nullptr,
     .digest = {57, 0x58ca80eae7b4f27d},
     .branches = "loopy-20180404T162955.trace",
     .core = "loopy-20180404T162955.coredump"},
    {.name = "hase_loopy_raw_core",
     .folder = "hase-2018-04-04",
     .perf_data = nullptr,
     .raw_pt = "loopy-20180404T162955.perf-aux-idx2.bin",
     .images = {},
     .cpu = "6/94/3",
     .digest = {57, 0x58ca80eae7b4f27d},
     .branches = "loopy-20180404T162955.trace",
     .core = "loopy-20180404T162955.coredump"},
    {.name = "lldb_one_file",
     .folder = "lldb/intelpt-trace",
     .perf_data = nullptr,
     .raw_pt = "3842849.trace",
     .images = {"a.out@0x400000"},
     .cpu = "6/79/1",
     .digest = {21, 0x84165e174e170b3a}},
    {.name = "lldb_multi_file",
     .folder = "lldb/intelpt-trace-multi-file",
     .perf_data = nullptr,
     .raw_pt = "multi-file.trace",
     .images = {"a.out@0x400000", "libfoo.so@0x7ffff7bd9000", "libbar.so@0x7ffff79d7000"},
     .cpu = "6/79/1",
     .digest = {45, 0xbc30d85133c2aad7},
     .missing_image_at = 0x7ffff7df1950},
};

struct Opened {
  Recording recording;
  RecordingCode code;
};

Result<Opened> Open(const RealRecording& real) {
  const std::filesystem::path folder = TracesFolder() / "intel-pt" / real.folder;
  OpenOptions options;
  if (real.perf_data != nullptr) options.input = folder / real.perf_data;
  if (real.raw_pt != nullptr) options.raw_pt = {folder / real.raw_pt};
  for (const char* image : real.images) {
    Result<ImageSpec> spec = ParseImageSpec(folder / image);
    if (!spec) return Fail(spec.error());
    options.images.push_back(*spec);
  }
  if (real.cpu != nullptr) {
    Result<CpuId> cpu = ParseCpuId(real.cpu);
    if (!cpu) return Fail(cpu.error());
    options.cpu = *cpu;
  }
  Result<Recording> recording = OpenRecording(options);
  if (!recording) return Fail(recording.error());
  ImageSearch search;
  if (real.core != nullptr) search.cores = {folder / real.core};
  Result<RecordingCode> code = RecordingCode::Load(*recording, search);
  if (!code) return Fail(code.error());
  return Opened{std::move(*recording), std::move(*code)};
}

DecodeInput InputOf(const Opened& opened, const Stream& stream) {
  DecodeInput input;
  input.bytes = stream.bytes;
  input.code = &opened.code.ForStream(stream);
  input.config = opened.recording.config;
  input.time = opened.recording.time;
  input.resync = Resync::kSyncPoint;
  input.gaps = stream.gaps;
  return input;
}

class RealTest : public ::testing::TestWithParam<std::tuple<RealRecording, std::string>> {
 protected:
  void SetUp() override {
    FLOWBACK_NEEDS_TRACES();
    decoder_ = Engine(std::get<1>(GetParam()));
    FLOWBACK_NEEDS_ENGINE(decoder_);
    Result<Opened> opened = Open(real_);
    ASSERT_TRUE(opened) << opened.error().message();
    opened_ = std::move(*opened);
  }

  const RealRecording& real_ = std::get<0>(GetParam());
  std::unique_ptr<Decoder> decoder_;
  std::optional<Opened> opened_;
};

TEST_P(RealTest, HasTheKnownDigest) {
  FlowDigest all;
  std::vector<DataLoss> losses;
  for (const Stream& stream : opened_->recording.streams) {
    const Result<FlowSummary> summary = decoder_->Summarize(InputOf(*opened_, stream));
    ASSERT_TRUE(summary) << summary.error().message();
    ExpectEveryByteCounted(*summary, stream.bytes.size());
    all.Append(summary->digest);
    for (const DataLoss& loss : RealLosses(summary->losses)) losses.push_back(loss);
  }
  EXPECT_EQ(all.count, real_.digest.count);
  EXPECT_EQ(all.hash, real_.digest.hash);
  if (real_.missing_image_at == 0) {
    EXPECT_TRUE(losses.empty()) << Describe(losses);
  } else {
    ASSERT_EQ(losses.size(), 1u) << Describe(losses);
    EXPECT_EQ(losses[0].cause, LossCause::kNoImage) << Describe(losses);
    EXPECT_EQ(losses[0].last_ip, real_.missing_image_at);
  }
}

class RealBranchesTest : public RealTest {};

TEST_P(RealBranchesTest, AreThePublishedOnes) {
  const std::filesystem::path folder = TracesFolder() / "intel-pt" / real_.folder;
  std::vector<std::pair<uint64_t, uint64_t>> published;
  for (const std::vector<std::string>& row : ReadTable(folder / real_.branches))
    published.emplace_back(std::stoull(row.at(0), nullptr, 16),
                           std::stoull(row.at(1), nullptr, 16));
  ASSERT_FALSE(published.empty());
  std::vector<std::pair<uint64_t, uint64_t>> found;
  for (const Stream& stream : opened_->recording.streams)
    for (const ListedBranch& branch : BranchesOf(FlowOf(*decoder_, InputOf(*opened_, stream))))
      found.emplace_back(branch.from, branch.to);
  EXPECT_EQ(found, published);
}

std::string NameOf(const ::testing::TestParamInfo<RealTest::ParamType>& info) {
  return TestName(std::string(std::get<0>(info.param).name) + "_" + std::get<1>(info.param));
}

std::vector<RealRecording> WithBranches() {
  std::vector<RealRecording> recordings;
  for (const RealRecording& recording : kRecordings)
    if (recording.branches != nullptr) recordings.push_back(recording);
  return recordings;
}

INSTANTIATE_TEST_SUITE_P(Recordings, RealTest,
                         ::testing::Combine(::testing::ValuesIn(kRecordings),
                                            ::testing::ValuesIn(kEngines)),
                         NameOf);
INSTANTIATE_TEST_SUITE_P(Recordings, RealBranchesTest,
                         ::testing::Combine(::testing::ValuesIn(WithBranches()),
                                            ::testing::ValuesIn(kEngines)),
                         NameOf);

}  // namespace
}  // namespace flowback::golden
