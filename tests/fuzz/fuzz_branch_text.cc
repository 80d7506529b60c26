// SPDX-License-Identifier: MIT
// Texts of branch stacks and dumps of branch registers: whatever they have, they are read or
// refused in words, and each stream holds whole records.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/recorded/branch_records.h"
#include "capture/formats/input/format.h"
#include "flowback/base/joined_bytes.h"

namespace {

// Records of stacks with counts are made as they are read.
flowback::BranchRecord RecordAt(const flowback::Stream& stream, uint64_t offset) {
  using namespace flowback;
  if (stream.joined == nullptr) return BranchRecordAt(stream.bytes, offset);
  BranchRecord record;
  const size_t size =
      stream.joined->Copy(offset, {reinterpret_cast<uint8_t*>(&record), kBranchRecordSize});
  if (size != kBranchRecordSize) std::abort();
  return record;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace flowback;
  Candidate candidate;
  candidate.path = "input";
  candidate.bytes = {data, size};
  for (const bool is_dump : {false, true}) {
    if (!(is_dump ? MatchesRegisterDump(candidate) : MatchesBrstackText(candidate))) continue;
    Recording recording;
    recording.path = candidate.path;
    const Status status =
        is_dump ? ReadRegisterDump(candidate, recording) : ReadBrstackText(candidate, recording);
    if (!status && status.error().message().empty()) std::abort();
    for (const Stream& stream : recording.streams) {
      const Bytes bytes = stream.bytes;
      if (bytes.empty() || bytes.size() % kBranchRecordSize != 0) std::abort();
      if (!RecordAt(stream, 0).begins_stack) std::abort();
      if (!RecordAt(stream, bytes.size() - kBranchRecordSize).ends_stack) std::abort();
    }
  }
  return 0;
}
