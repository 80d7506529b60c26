// SPDX-License-Identifier: MIT
// Samples with branch stacks (perf record -b) become streams of branch records.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "capture/formats/field_reader.h"
#include "capture/formats/perf_sample_id.h"
#include "flowback/model/branch_records.h"
#include "flowback/model/recording.h"

namespace flowback::perf {

// How Recording::record_counts names those samples that have branches.
inline constexpr std::string_view kBranchStackSamples = "SAMPLE with branch stack";

// The entry in perf's form, 24 bytes. Its time, ip and place in the stack are not in it.
BranchRecord ParseBranchEntry(Bytes entry, ByteOrder order);
// perf can't tell a count of zero from none: some of its drivers write zero for both.
void SetCycles(uint64_t cycles, BranchRecord& record);

// What the machine's code is.
void ApplyArchitecture(Recording& recording, BranchStackConfig& config);

class BranchStackCollector {
 public:
  // REQUIRES: sample.has_branches. `stays`: its bytes are there until Finish; else they are copied.
  void Add(const Sample& sample, ByteOrder order, bool stays);
  // A stack whose entries have no time, ip and place yet. id.time may be the order alone.
  void AddStack(const SampleId& id, uint64_t ip, std::span<const BranchRecord> newest_first);
  // Those that have branches.
  uint64_t samples() const { return samples_; }

  // A stream for each thread, or for each CPU where the samples do not name their threads. Does
  // nothing when there are no branches. `attrs` are the recording's events.
  void Finish(const std::vector<EventAttr>& attrs, Recording& recording) &&;

 private:
  struct Stack {
    uint64_t time = 0;
    uint64_t ip = 0;
    size_t count = 0;
    uint64_t index = 0;  // of the newest, as the recorder counts
    Bytes entries;  // as the file has them; empty: its records are in `records`, from `begin` on
    Bytes counters;
    size_t begin = 0;
    ByteOrder order = ByteOrder::kLittle;
  };
  struct Owner {
    std::vector<Stack> stacks;
    std::vector<BranchRecord> records;  // the newest first

    // In program order, of all stacks. `indexed`: their indices count the thread's records.
    std::vector<BranchRecord> TakeRecords(bool indexed);
  };
  // Thread, process, CPU; -1: not told.
  using Key = std::pair<std::pair<int32_t, int32_t>, int32_t>;

  Owner& OwnerOf(const SampleId& id);
  void Add(const SampleId& id, Stack stack, Owner& owner);

  std::map<Key, Owner> owners_;
  std::deque<std::vector<uint8_t>> copies_;
  uint64_t samples_ = 0;
  uint64_t empty_samples_ = 0;
  uint64_t depth_ = 0;
  bool timed_ = false;
};

}  // namespace flowback::perf
