// SPDX-License-Identifier: MIT
// The branch stacks of one thread as a perf.data file has them, read as the stream of records that
// they are: nothing is made of them until it is asked for.
//
//   the file   |sample|..|sample|mmap|sample|        each: newest branch ... oldest branch
//   the stream |oldest ... newest|oldest ... newest|...   in the order of the samples' times
//
// A sample takes ten bytes: its place, and its number of branches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/recorded/branch_records.h"
#include "capture/formats/perf_records/perf_header.h"
#include "capture/formats/perf_records/perf_sample_id.h"
#include "flowback/base/bytes.h"

namespace flowback::perf {

// The entry in perf's form, 24 bytes. Its time, ip and place in the stack are not in it.
BranchRecord ParseBranchEntry(Bytes entry, ByteOrder order);
// perf cannot distinguish a count of zero from none: some of its drivers write zero for both.
void SetCycles(uint64_t cycles, BranchRecord& record);

// How a recording's samples are laid out.
class SampleLayout {
 public:
  SampleLayout(std::vector<EventAttr> attrs, ByteOrder order)
      : attrs_(std::move(attrs)), ids_(attrs_, told_already_), order_(order) {}
  SampleLayout(const SampleLayout&) = delete;
  SampleLayout& operator=(const SampleLayout&) = delete;

  ByteOrder order() const { return order_; }
  // The sample whose record begins there; empty where it can't be read.
  std::optional<Sample> At(const uint8_t* record) const;

 private:
  std::vector<EventAttr> attrs_;
  std::vector<Warning> told_already_;  // by who read the records first
  SampleIdParser ids_;
  ByteOrder order_;
};

class StoredStacks {
 public:
  // The sample's record begins at `record`, which must outlive the object. REQUIRES: `count` is
  // the number of its branches, 1 or more.
  void Add(const uint8_t* record, uint64_t time, size_t count);
  bool empty() const { return samples_.empty(); }

  // Puts them into the order of their times; nothing may be added any more. `indexed`: a stack goes
  // on where the one before ended, if its index says so.
  void Finish(std::shared_ptr<const SampleLayout> layout, bool indexed);

  // All below REQUIRE Finish, and may be called by any thread.
  // Bytes of the stream.
  size_t size() const { return records_ * kBranchRecordSize; }
  // Makes the stream's bytes from `offset` on, as many as there are and fit; returns how many.
  size_t Make(size_t offset, std::span<uint8_t> to) const;

 private:
  static constexpr size_t kStep = 32;           // samples for each one whose place is kept
  static constexpr uint16_t kGoesOn = 1 << 15;  // what a record can hold is far below that
  struct Place {
    size_t sample = 0;
    size_t record = 0;  // its oldest one
  };

  size_t CountOf(size_t sample) const { return counts_[sample] & (kGoesOn - 1); }
  void SortByTime();
  void FindThoseThatGoOn();
  Place PlaceOf(size_t record) const;
  void AskForNext(size_t sample) const;
  // Makes the sample's records from `first` to `last`, the oldest first.
  void MakeRecords(size_t sample, size_t first, size_t last, uint8_t* to) const;

  std::shared_ptr<const SampleLayout> layout_;
  std::vector<const uint8_t*> samples_;
  std::vector<uint16_t> counts_;
  std::vector<uint64_t> times_;  // until Finish
  bool sorted_ = true;
  std::vector<size_t> begins_;  // the first record of each kStep'th sample
  size_t records_ = 0;
};

}  // namespace flowback::perf
