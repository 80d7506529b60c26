// SPDX-License-Identifier: MIT
// Samples with branch stacks (perf record -b) become streams of branch records.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/recorded/branch_records.h"
#include "capture/formats/branches/repeated_stacks.h"
#include "capture/formats/branches/stored_stacks.h"
#include "capture/formats/input/field_reader.h"
#include "capture/formats/perf_records/perf_record_reader.h"
#include "capture/formats/perf_records/perf_sample_id.h"
#include "flowback/model/recording.h"

namespace flowback::perf {

// How Recording::record_counts names those samples that have branches.
inline constexpr std::string_view kBranchStackSamples = "SAMPLE with branch stack";

// What the machine's code is.
void ApplyArchitecture(Recording& recording, BranchStackConfig& config);

class BranchStackCollector {
 public:
  // REQUIRES: sample.has_branches, and it is `record`'s. `stays`: the record is there as long as
  // the recording; else it is copied.
  void Add(const Record& record, const Sample& sample, bool stays);
  // Adds a stack whose entries have no time, ip and place yet, and that `times` samples had.
  // id.time may be the order alone. Returns false, and adds nothing, if there are too many records
  // (RepeatedStacks::kMostRecords).
  bool AddStack(const SampleId& id, uint64_t ip, std::span<const BranchRecord> newest_first,
                uint64_t times = 1);
  // Number of samples with branches.
  uint64_t samples() const { return samples_; }

  // A stream for each thread, or for each CPU where the samples do not name their threads. Does
  // nothing when there are no branches. `attrs` are the recording's events.
  void Finish(const std::vector<EventAttr>& attrs, Recording& recording) &&;

 private:
  struct Stack {
    uint64_t time = 0;
    size_t begin = 0;  // of its records, in `records`
    size_t count = 0;
    uint64_t ip = 0;
    uint64_t times = 1;
  };
  struct Owner {
    StoredStacks stored;  // of samples; made into records when they are read
    std::vector<Stack> stacks;
    std::vector<BranchRecord> records;  // of `stacks`, the newest first
    uint64_t repeated = 0;              // records, each as often as samples had its stack

    // In program order, of all stacks.
    std::vector<BranchRecord> TakeRecords();
    // REQUIRES: TakeRecords was called, with that result.
    RepeatedStacks Repeat(std::span<const BranchRecord> sorted) const;
  };
  // Thread, process, CPU; -1: unknown.
  using Key = std::pair<std::pair<int32_t, int32_t>, int32_t>;

  Owner& OwnerOf(const SampleId& id);
  void Count(size_t branches, uint64_t times = 1) {
    samples_ += times;
    depth_ = std::max<uint64_t>(depth_, branches);
  }
  const uint8_t* Copy(Bytes record);
  // `stored` is StoredStacks or RepeatedStacks.
  template <class Stored>
  static void GiveStored(std::shared_ptr<const Stored> stored, Recording& recording,
                         Stream& stream);
  static void GiveBytes(Owner owner, const std::shared_ptr<const SampleLayout>& layout,
                        bool indexed, Recording& recording, Stream& stream);

  std::map<Key, Owner> owners_;
  ByteOrder order_ = ByteOrder::kLittle;
  std::vector<std::shared_ptr<std::vector<uint8_t>>> copies_;  // of records, one behind the other
  uint64_t samples_ = 0;
  uint64_t empty_samples_ = 0;
  uint64_t depth_ = 0;
  bool timed_ = false;
};

}  // namespace flowback::perf
