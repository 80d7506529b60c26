// SPDX-License-Identifier: MIT
// Generated recordings as perf.data files: found by their sideband, decoded with both engines.
//
// Whatever the buffers are, each thread's flow is put together from them. The code comes from the
// recorded paths below a
// --symfs folder; the vDSO and anonymous memory, which no path names, are given as sections.
#include <gtest/gtest.h>

#include <map>
#include <optional>

#include "decode/pt/packets/packet.h"
#include "flowback/capture/open.h"
#include "flowback/decode/recording_code.h"
#include "flowback/decode/stream_input.h"
#include "flowback/replay/thread_flow.h"
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
bool Fits(const PerfRecording& recording) { return !recording.name.ends_with("-ovf"); }

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

// A recording's threads, ready to decode.
struct Opened {
  Recording recording;
  std::vector<std::vector<uint8_t>>
      without_timing;  // of the streams, if some packets were left out
  std::optional<RecordingCode> code;
  std::optional<StreamInputs> inputs;
};

// Leaves out timing packets: so a recording with other options would look.
std::vector<uint8_t> Without(Bytes stream, bool mtc) {
  std::vector<uint8_t> rest;
  pt::PebsState pebs;
  pt::Packet packet;
  for (size_t at = 0; at < stream.size();) {
    const pt::ReadResult size = pt::ReadPacket(stream.subspan(at), pebs, packet);
    if (!size) break;
    const bool drop =
        std::holds_alternative<pt::Cyc>(packet) || (mtc && std::holds_alternative<pt::Mtc>(packet));
    if (!drop) rest.insert(rest.end(), stream.begin() + at, stream.begin() + at + *size);
    at += *size;
  }
  return rest;
}

enum class Timing : uint8_t { kAsRecorded, kNoCyc, kTscOnly };

void Open(const PerfRecording& truth, Timing timing, Opened& opened) {
  const std::filesystem::path generated = TracesFolder() / "generated";
  OpenOptions options;
  options.input = generated / truth.name / "perf.data";
  options.sections = OwnSections(generated / truth.name);
  Result<Recording> recording = OpenRecording(options);
  ASSERT_TRUE(recording) << recording.error().message();
  opened.recording = std::move(*recording);
  if (timing != Timing::kAsRecorded)
    for (Stream& stream : opened.recording.streams)
      stream.bytes =
          opened.without_timing.emplace_back(Without(stream.bytes, timing == Timing::kTscOnly));
  ImageSearch search;
  search.symfs = generated / "images";
  Result<RecordingCode> code = RecordingCode::Load(opened.recording, search);
  ASSERT_TRUE(code) << code.error().message();
  opened.code.emplace(std::move(*code));
  opened.inputs.emplace(opened.recording, *opened.code, Resync::kPsb);
}

class Digester final : public ExecutionConsumer {
 public:
  void OnBlock(const BlockRun& run) override {
    uint64_t ip = run.address;
    for (const uint8_t length : run.lengths) {
      digest.Append(ip);
      ip += length;
    }
  }
  void OnEvent(const TraceEvent&) override {}
  void OnLoss(const DataLoss&) override {}

  FlowDigest digest;
};

using DigestOfThread = std::map<int32_t, FlowDigest>;

DigestOfThread DigestsOf(const PerfRecording& truth) {
  DigestOfThread digests;
  for (const TrueDigest& thread : truth.threads)
    digests[static_cast<int32_t>(thread.Number())] = thread.digest;
  return digests;
}

// Thread by thread, piece by piece, as a listing does.
DigestOfThread ListedDigests(const Opened& opened, Decoder& decoder) {
  DigestOfThread digests;
  for (const ThreadFlow& flow : ThreadFlows(opened.recording, *opened.inputs)) {
    Digester digester;
    for (const FlowPiece& piece : flow.pieces)
      EXPECT_TRUE(DecodePiece(piece, *opened.inputs, decoder, digester));
    if (digester.digest.count != 0) digests[flow.tid] = digester.digest;
  }
  return digests;
}

// Each stream once, its parts given to the threads, as a summary does.
DigestOfThread SummedDigests(const Opened& opened, Decoder& decoder) {
  std::map<const ThreadStay*, FlowDigest> parts;
  for (const Stream& stream : opened.recording.streams) {
    const Result<FlowSummary> summary = decoder.Summarize(opened.inputs->For(stream));
    EXPECT_TRUE(summary);
    if (!summary) continue;
    ExpectEveryByteCounted(*summary, stream.bytes.size());
    EXPECT_EQ(Describe(RealLosses(summary->losses)), "");
    for (const FlowPart& part : summary->parts) parts[part.stay].Append(part.totals.digest);
  }
  DigestOfThread digests;
  for (const ThreadFlow& flow : ThreadFlows(opened.recording, *opened.inputs))
    for (const FlowPiece& piece : flow.pieces)
      if (parts[piece.stay].count != 0) digests[flow.tid].Append(parts[piece.stay]);
  return digests;
}

class PerfDataTest : public testing::TestWithParam<std::tuple<PerfRecording, std::string>> {};

TEST_P(PerfDataTest, HasTheKnownDigests) {
  const auto& [truth, engine] = GetParam();
  const std::unique_ptr<Decoder> decoder = Engine(engine);
  FLOWBACK_NEEDS_ENGINE(decoder);
  if (engine == "libipt" && (truth.name == "signals-events" || truth.name == "vcalls-pebs"))
    GTEST_SKIP() << "libipt 2.0.5 does not know its packets";
  Opened opened;
  ASSERT_NO_FATAL_FAILURE(Open(truth, Timing::kAsRecorded, opened));
  EXPECT_EQ(SummedDigests(opened, *decoder), DigestsOf(truth));
  if (truth.threads.size() == 1) return;
  EXPECT_EQ(ListedDigests(opened, *decoder), DigestsOf(truth));
}

class SharedCpusTest : public testing::TestWithParam<PerfRecording> {};

// The fewer timing packets, the more places a switch can have been.
TEST_P(SharedCpusTest, FindsTheThreadsWithoutCycles) {
  const PerfRecording& truth = GetParam();
  Opened opened;
  ASSERT_NO_FATAL_FAILURE(Open(truth, Timing::kNoCyc, opened));
  EXPECT_EQ(SummedDigests(opened, *Engine("native")), DigestsOf(truth));
}

TEST_P(SharedCpusTest, GivesNoThreadWhatMayBeAnothers) {
  const PerfRecording& truth = GetParam();
  Opened opened;
  ASSERT_NO_FATAL_FAILURE(Open(truth, Timing::kTscOnly, opened));
  const DigestOfThread told = SummedDigests(opened, *Engine("native"));
  uint64_t all = 0;
  for (const auto& [tid, digest] : told) all += digest.count;
  for (const auto& [tid, digest] : DigestsOf(truth)) {
    EXPECT_LE(told.contains(tid) ? told.at(tid).count : 0, digest.count) << tid;
    all -= digest.count;
  }
  EXPECT_EQ(all, 0) << "every instruction is a thread's or nobody's";
}

std::string NameOf(const testing::TestParamInfo<PerfDataTest::ParamType>& info) {
  return TestName(std::get<0>(info.param).name + "_" + std::get<1>(info.param));
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(PerfDataTest);
INSTANTIATE_TEST_SUITE_P(Recordings, PerfDataTest,
                         testing::Combine(testing::ValuesIn(Recordings()),
                                          testing::ValuesIn(kEngines)),
                         NameOf);

std::vector<PerfRecording> WithSharedCpus() {
  std::vector<PerfRecording> recordings = Recordings();
  std::erase_if(recordings, [](const PerfRecording& recording) {
    return recording.threads.size() == 1 || recording.name.ends_with("-perthread");
  });
  return recordings;
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SharedCpusTest);
INSTANTIATE_TEST_SUITE_P(Recordings, SharedCpusTest, testing::ValuesIn(WithSharedCpus()),
                         [](const auto& test) { return TestName(test.param.name); });

TEST(PerfDataFilesTest, ArePresent) { FLOWBACK_NEEDS_TRACES(); }

}  // namespace
}  // namespace flowback::golden
