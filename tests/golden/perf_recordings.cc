// SPDX-License-Identifier: MIT
// The code comes from the recorded paths below a --symfs folder; the vDSO and anonymous memory,
// which no path names, are given as sections.
#include "tests/golden/perf_recordings.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "decode/pt/packets/packet.h"
#include "flowback/capture/open.h"
#include "tests/golden/shared_traces.h"

namespace flowback::golden {
namespace {

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

}  // namespace

std::vector<PerfRecording> PerfRecordings() {
  std::vector<PerfRecording> recordings;
  for (const TrueDigest& truth : TrueDigests()) {
    if (truth.IsStream()) continue;
    if (recordings.empty() || recordings.back().name != truth.recording)
      recordings.push_back({truth.recording, {}});
    recordings.back().threads.push_back(truth);
  }
  return recordings;
}

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

}  // namespace flowback::golden
