// SPDX-License-Identifier: MIT
// Formats that are recognised, so that the message names them, but not read.
#include "capture/formats/input/format.h"
#include "capture/formats/perf_records/perf_layout.h"
#include "flowback/base/bytes.h"

namespace flowback {
namespace {

std::unexpected<Error> NotRead(const Candidate& candidate, std::string what, std::string remedy) {
  return Fail(Error(ErrorCode::kUnsupported,
                    candidate.path + ": is " + std::move(what) + ", which is not read yet")
                  .Remedy(std::move(remedy)));
}

}  // namespace

bool MatchesPerfDataVersion1(const Candidate& candidate) {
  return StartsWith(candidate.bytes, perf::kMagicVersion1);
}

Status ReadPerfDataVersion1(const Candidate& candidate, Recording&) {
  return NotRead(candidate, "a perf.data file of version 1 (magic PERFFILE)",
                 "record with a perf of this decade: version 1 is older than Intel PT");
}

bool MatchesZstdFile(const Candidate& candidate) {
  return StartsWith(candidate.bytes, "\x28\xb5\x2f\xfd");
}

Status ReadZstdFile(const Candidate& candidate, Recording&) {
  return NotRead(candidate, "a zstd-compressed file", "unpack it first: `zstd -d`");
}

}  // namespace flowback
