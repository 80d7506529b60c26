// SPDX-License-Identifier: MIT
// Generated recordings as perf.data files: found by their sideband, decoded with both engines.
//
// One thread per AUX buffer is what is decoded here: recordings of a single thread, whatever the
// CPU, and those made with a buffer for each thread. The code comes from the recorded paths below a
// --symfs folder; the vDSO and anonymous memory, which no path names, are given as sections.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "flowback/capture/open.h"
#include "flowback/decode/recording_code.h"
#include "tests/golden/engines.h"
#include "tests/golden/generated.h"
#include "tests/golden/shared_traces.h"

namespace flowback::golden {
namespace {

// A recording and its threads' digests.
struct PerfRecording {
  std::string name;
  std::vector<TrueDigest> threads;

  friend void PrintTo(const PerfRecording& recording, std::ostream* out) { *out << recording.name; }
};

// Overflows lose instructions; overflow_test.cc looks at those.
bool Fits(const PerfRecording& recording) {
  if (recording.name.ends_with("-ovf")) return false;
  return recording.threads.size() == 1 || recording.name.ends_with("-perthread");
}

std::vector<PerfRecording> Recordings() {
  std::vector<PerfRecording> recordings;
  for (const TrueDigest& truth : TrueDigests()) {
    if (truth.IsStream()) continue;
    if (recordings.empty() || recordings.back().name != truth.recording)
      recordings.push_back({truth.recording, {}});
    recordings.back().threads.push_back(truth);
  }
  std::erase_if(recordings, [](const PerfRecording& recording) { return !Fits(recording); });
  return recordings;
}

// maps.txt rows whose image lies in the recording's own folder: nothing else has their bytes.
std::vector<SectionSpec> OwnSections(const std::filesystem::path& folder) {
  std::map<std::string, SectionSpec> sections;
  for (const std::vector<std::string>& row : ReadTable(folder / "maps.txt")) {
    if (row.size() != 7 || !std::filesystem::exists(folder / row[3])) continue;
    sections[row[3]] = {.file = folder / row[3],
                        .offset = std::stoull(row[2], nullptr, 16),
                        .size = std::stoull(row[1], nullptr, 16),
                        .address = std::stoull(row[0], nullptr, 16)};
  }
  std::vector<SectionSpec> list;
  for (auto& [image, section] : sections) list.push_back(std::move(section));
  return list;
}

class PerfDataTest : public testing::TestWithParam<std::tuple<PerfRecording, std::string>> {};

TEST_P(PerfDataTest, HasTheKnownDigests) {
  const auto& [truth, engine] = GetParam();
  const std::unique_ptr<Decoder> decoder = Engine(engine);
  FLOWBACK_NEEDS_ENGINE(decoder);
  const std::filesystem::path generated = TracesFolder() / "generated";
  OpenOptions options;
  options.input = generated / truth.name / "perf.data";
  options.sections = OwnSections(generated / truth.name);
  const Result<Recording> recording = OpenRecording(options);
  ASSERT_TRUE(recording) << recording.error().message();
  ImageSearch search;
  search.symfs = generated / "images";
  const Result<RecordingCode> code = RecordingCode::Load(*recording, search);
  ASSERT_TRUE(code) << code.error().message();

  const bool beyond_libipt =
      engine == "libipt" && (truth.name == "signals-events" || truth.name == "vcalls-pebs");
  std::vector<FlowDigest> digests;
  for (const Stream& stream : recording->streams) {
    DecodeInput input;
    input.bytes = stream.bytes;
    input.code = &code->ForStream(stream);
    input.config = recording->pt;
    input.resync = Resync::kPsb;
    input.gaps = stream.gaps;
    const Result<FlowSummary> summary = decoder->Summarize(input);
    ASSERT_TRUE(summary) << summary.error().message();
    ExpectEveryByteCounted(*summary, stream.bytes.size());
    for (const DataLoss& loss : RealLosses(summary->losses)) {
      EXPECT_TRUE(beyond_libipt && loss.cause == LossCause::kBadPacket)
          << Name(loss.cause) << " at " << loss.begin << ": " << loss.detail;
      if (HasFailure()) break;
    }
    if (summary->digest.count != 0) digests.push_back(summary->digest);
  }
  if (beyond_libipt) return;
  ASSERT_EQ(digests.size(), truth.threads.size());
  for (const TrueDigest& thread : truth.threads)
    EXPECT_TRUE(std::ranges::find(digests, thread.digest) != digests.end())
        << "no stream is that of " << thread.who << ", which executed " << thread.digest.count
        << "; the first has " << digests[0].count;
}

std::string NameOf(const testing::TestParamInfo<PerfDataTest::ParamType>& info) {
  return TestName(std::get<0>(info.param).name + "_" + std::get<1>(info.param));
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(PerfDataTest);
INSTANTIATE_TEST_SUITE_P(Recordings, PerfDataTest,
                         testing::Combine(testing::ValuesIn(Recordings()),
                                          testing::ValuesIn(kEngines)),
                         NameOf);

TEST(PerfDataFilesTest, ArePresent) { FLOWBACK_NEEDS_TRACES(); }

}  // namespace
}  // namespace flowback::golden
