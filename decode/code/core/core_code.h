// SPDX-License-Identifier: MIT
// Core dumps as a source of a recording's code (--core).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "decode/code/core/core_file.h"
#include "decode/code/images/image_store.h"
#include "flowback/base/error.h"
#include "flowback/decode/code_image.h"
#include "flowback/model/recording.h"

namespace flowback {

// A part of a process's executable memory that one record (or none) mapped, as the dump has it.
struct DumpedRange {
  const MmapRecord* record = nullptr;  // as recorded, or made from the dump where nothing is
  uint64_t address = 0;
  uint64_t size = 0;
  uint64_t file_offset = 0;  // in the dump
  uint64_t dumped = 0;       // bytes of it that are there; 0: the file it came from has to be found
  bool verified = false;     // the recorded build-id of its file is the dump's
  std::string dump;          // its path
  ImageStore::FilePointer core;  // named after the dump and the record's path
};

class CoreCode {
 public:
  // The process of a dump where the recording names no process: raw streams.
  static constexpr int32_t kNoProcess = -1;

  // Opens the dumps and finds out which process each is of. Errors: kUnreadable for a dump that is
  // missing, damaged, or of another machine; kUsage for one that is of none of the recording's
  // processes, or, though their number is the same, of another program or run.
  static Result<CoreCode> Load(const std::vector<std::string>& paths, const Recording& recording,
                               ImageStore& store);

  bool empty() const { return processes_.empty(); }
  bool Has(int32_t pid) const { return processes_.contains(pid); }
  std::vector<int32_t> Processes() const;
  // The dumped memory that the process has had since the record at position `since` of the
  // sideband; with LastMappings::kBefore, since before all records.
  const std::vector<DumpedRange>& Dumped(int32_t pid, size_t since) const;
  // The build-id of the record's file as the dump shows it, where the record has none; else null.
  const BuildId* BuildIdOf(const MmapRecord& record) const;
  // The records made from the dump.
  const std::deque<MmapRecord>& made_records() const { return made_; }

 private:
  class Builder;
  using RangesOfOwners = std::map<size_t, std::vector<DumpedRange>>;

  std::map<int32_t, RangesOfOwners> processes_;
  std::unordered_map<const MmapRecord*, BuildId> build_ids_;
  std::deque<MmapRecord> made_;  // never moved
};

}  // namespace flowback
