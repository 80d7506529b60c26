// SPDX-License-Identifier: MIT
// Formats that are recognised, so that the message names them, but not read.
#include <algorithm>
#include <filesystem>

#include "capture/formats/format.h"
#include "capture/formats/perf_layout.h"
#include "flowback/base/bytes.h"

namespace flowback {
namespace {

std::unexpected<Error> NotRead(const Candidate& candidate, std::string what, std::string remedy) {
  return Fail(Error(ErrorCode::kUnsupported,
                    candidate.path + ": is " + std::move(what) + ", which is not read yet")
                  .Remedy(std::move(remedy)));
}

// A bundle's description is small; the key that tells it stands in its first lines.
constexpr size_t kJsonSearch = 64 << 10;

}  // namespace

bool MatchesPerfDataPipe(const Candidate& candidate) {
  return StartsWith(candidate.bytes, perf::kMagic) && candidate.bytes.size() >= 16 &&
         LoadLittleEndian(candidate.bytes.data() + 8, 8) == perf::kPipeHeaderSize;
}

Status ReadPerfDataPipe(const Candidate& candidate, Recording&) {
  return NotRead(candidate, "a perf.data stream in pipe mode (`perf record -o -`)",
                 "turn it into a file: `perf inject -i " + candidate.path + " -o perf.data`");
}

bool MatchesPerfDataDirectory(const Candidate& candidate) {
  std::error_code ignored;
  return candidate.is_directory &&
         std::filesystem::exists(std::filesystem::path(candidate.path) / "data", ignored);
}

Status ReadPerfDataDirectory(const Candidate& candidate, Recording&) {
  return NotRead(candidate, "a perf.data in directory form (`perf record --kcore`)",
                 "open the file `" + candidate.path + "/data`: user-space code decodes from it");
}

bool MatchesPerfDataForeign(const Candidate& candidate) {
  return StartsWith(candidate.bytes, perf::kForeignMagic);
}

Status ReadPerfDataForeign(const Candidate& candidate, Recording&) {
  return NotRead(candidate, "a perf.data file of a big-endian machine (magic 2ELIFREP)",
                 "Intel PT is recorded on little-endian machines only: check where it comes from");
}

bool MatchesPerfDataVersion1(const Candidate& candidate) {
  return StartsWith(candidate.bytes, perf::kMagicVersion1);
}

Status ReadPerfDataVersion1(const Candidate& candidate, Recording&) {
  return NotRead(candidate, "a perf.data file of version 1 (magic PERFFILE)",
                 "record with a perf of this decade: version 1 is older than Intel PT");
}

bool MatchesLldbBundle(const Candidate& candidate) {
  const Bytes head = Slice(candidate.bytes, 0, kJsonSearch);
  const auto is_space = [](uint8_t c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; };
  const auto first = std::find_if_not(head.begin(), head.end(), is_space);
  constexpr std::string_view kKey = "\"intel-pt\"";
  return first != head.end() && *first == '{' &&
         std::search(first, head.end(), kKey.begin(), kKey.end()) != head.end();
}

Status ReadLldbBundle(const Candidate& candidate, Recording&) {
  return NotRead(candidate, "an LLDB trace bundle (JSON)",
                 "give its trace with --raw-pt, its modules with --image FILE@LOADADDRESS and its "
                 "cpuInfo with --cpu");
}

bool MatchesZstdFile(const Candidate& candidate) {
  return StartsWith(candidate.bytes, "\x28\xb5\x2f\xfd");
}

Status ReadZstdFile(const Candidate& candidate, Recording&) {
  return NotRead(candidate, "a zstd-compressed file", "unpack it first: `zstd -d`");
}

}  // namespace flowback
