// SPDX-License-Identifier: MIT
#include "tests/golden/perf_recordings.h"

#include <filesystem>
#include <functional>

#include "flowback/capture/open.h"
#include "flowback/replay/threads.h"
#include "tests/golden/engines.h"
#include "tests/golden/shared_traces.h"
#include "tests/support/random.h"

namespace flowback::golden {
namespace {

bool HasOverflows(const PerfRecording& recording) { return recording.name.ends_with("-ovf"); }

std::vector<PerfRecording> AllPerfRecordings() {
  std::vector<PerfRecording> recordings;
  for (const TrueDigest& truth : TrueDigests()) {
    if (truth.IsStream()) continue;
    if (recordings.empty() || recordings.back().name != truth.recording)
      recordings.push_back({truth.recording, {}});
    recordings.back().threads.push_back(truth);
  }
  return recordings;
}

}  // namespace

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

std::vector<PerfRecording> PerfRecordings() {
  std::vector<PerfRecording> recordings = AllPerfRecordings();
  std::erase_if(recordings, HasOverflows);
  return recordings;
}

std::vector<PerfRecording> OverflownPerfRecordings() {
  std::vector<PerfRecording> recordings = AllPerfRecordings();
  std::erase_if(recordings, std::not_fn(HasOverflows));
  return recordings;
}

DigestOfThread DigestsOf(const PerfRecording& truth) {
  DigestOfThread digests;
  for (const TrueDigest& thread : truth.threads)
    digests[static_cast<int32_t>(thread.Number())] = thread.digest;
  return digests;
}

Change Damaged(size_t apart) {
  return [apart](const Stream& stream) {
    std::vector<uint8_t> bytes(stream.bytes.begin(), stream.bytes.end());
    flowback::testing::Random random(bytes.size());
    for (size_t at = random.Below(4096); at < bytes.size(); at += random.Below(apart))
      bytes[at] = static_cast<uint8_t>(random.Below(256));
    return bytes;
  };
}

void OpenPerf(const PerfRecording& truth, const Change& change, OpenedPerf& opened) {
  OpenOptions options;
  options.input = TracesFolder() / "generated" / truth.name / "perf.data";
  OpenPerf(truth, options, change, opened);
}

void OpenPerf(const PerfRecording& truth, OpenOptions options, const Change& change,
              OpenedPerf& opened) {
  const std::filesystem::path generated = TracesFolder() / "generated";
  options.sections = OwnSections(generated / truth.name);
  Result<Recording> recording = OpenRecording(options);
  ASSERT_TRUE(recording) << recording.error().message();
  opened.recording = std::move(*recording);
  opened.changed.reserve(opened.recording.streams.size());
  if (change)
    for (Stream& stream : opened.recording.streams)
      stream.bytes = opened.changed.emplace_back(change(stream));
  ImageSearch search;
  search.symfs = generated / "images";
  Result<RecordingCode> code = RecordingCode::Load(opened.recording, search);
  ASSERT_TRUE(code) << code.error().message();
  opened.code.emplace(std::move(*code));
  opened.inputs.emplace(opened.recording, *opened.code, Resync::kSyncPoint);
}

DigestOfThread SummedDigests(const OpenedPerf& opened, Decoder& decoder) {
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

}  // namespace flowback::golden
