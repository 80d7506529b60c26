// SPDX-License-Identifier: MIT
#include "decode/code/forget_program.h"

#include <algorithm>
#include <memory>
#include <queue>
#include <set>
#include <utility>
#include <variant>

#include "decode/code/process_code.h"

namespace flowback {
namespace {

constexpr uint64_t kUpperHalf = uint64_t{1} << 63;  // the kernel's addresses
constexpr uint64_t kNever = ~uint64_t{0};

// The records of one process, each by time.
struct ProcessRecords {
  std::vector<uint64_t> programs;  // when each began, also those of later processes of its number
  std::vector<const MmapRecord*> mappings;
  std::vector<const ForkRecord*> children;

  uint64_t NextProgram(uint64_t time) const {
    const auto next = std::ranges::upper_bound(programs, time);
    return next == programs.end() ? kNever : *next;
  }
};

class RecordsByProcess {
 public:
  explicit RecordsByProcess(const Recording& recording) {
    for (const SidebandRecord& record : recording.sideband) std::visit(*this, record);
    for (auto& [pid, records] : processes_) {
      std::ranges::sort(records.programs);
      std::ranges::stable_sort(records.mappings, {}, &MmapRecord::time);
      std::ranges::stable_sort(records.children, {}, &ForkRecord::time);
    }
  }
  const ProcessRecords& operator[](int32_t pid) const {
    static const ProcessRecords kNothing;
    const auto found = processes_.find(pid);
    return found == processes_.end() ? kNothing : found->second;
  }

  void operator()(const CommRecord& record) {
    if (record.exec) processes_[record.pid].programs.push_back(record.time);
  }
  void operator()(const ForkRecord& record) {
    if (record.pid == record.parent_pid) return;  // a thread
    processes_[record.pid].programs.push_back(record.time);
    processes_[record.parent_pid].children.push_back(&record);
  }
  void operator()(const MmapRecord& record) {
    if (!record.kernel) processes_[record.pid].mappings.push_back(&record);
  }
  template <class Other>
  void operator()(const Other&) {}

 private:
  std::map<int32_t, ProcessRecords> processes_;
};

// A child has its parent's code, so if the parent's program is unknown, its children's is, too. The
// result is sorted by pid, then by time.
std::map<int32_t, std::vector<LostProgram>> WithChildren(const std::vector<LostProgram>& lost,
                                                         const RecordsByProcess& records) {
  const auto later = [](const LostProgram& a, const LostProgram& b) {
    return a.earliest > b.earliest;
  };
  std::priority_queue<LostProgram, std::vector<LostProgram>, decltype(later)> open(
      later, std::vector<LostProgram>(lost));
  std::map<int32_t, std::vector<LostProgram>> all;
  std::set<std::pair<int32_t, uint64_t>> seen;  // process, and the end of the unknown time
  for (; !open.empty(); open.pop()) {
    const LostProgram one = open.top();
    all[one.pid].push_back(one);
    const ProcessRecords& process = records[one.pid];
    const uint64_t end = process.NextProgram(one.earliest);
    if (!seen.emplace(one.pid, end).second)
      continue;  // this one, and so its children, have been gone through from an earlier time on
    auto child = std::ranges::upper_bound(process.children, one.earliest, {}, &ForkRecord::time);
    for (; child != process.children.end() && (*child)->time < end; ++child)
      open.push({.pid = (*child)->pid, .earliest = (*child)->time, .latest = (*child)->time});
  }
  return all;
}

// What stays though the program is not known: what the user gave, and the reasons why there is no
// code at a place.
AddressSpace Unknown(const RecordingCode& code) {
  AddressSpace given = *code.Given()->epochs.front().space;
  given.Unmap(kUpperHalf, kUpperHalf);
  AddressSpace unknown;
  unknown.Explain(0, kUpperHalf,
                  CodeSection::Missing("the records of the program that ran here were lost; "
                                       "record with a larger buffer (-m PAGES)"));
  unknown.MapAll(given);
  return unknown;
}

// Goes through a process's epochs once.
class Rebuilder {
 public:
  Rebuilder(const AddressSpaceHistory& old, const ProcessRecords& records,
            const std::vector<LostProgram>& lost, const AddressSpace& unknown)
      : old_(old), records_(records), lost_(lost), unknown_(unknown) {
    history_.key = old.key;
  }

  RecordingCode::History Take() {
    const std::vector<AddressSpaceHistory::Epoch>& epochs = old_.epochs;
    for (size_t i = 0; i < epochs.size(); ++i)
      Divide(epochs[i], i + 1 < epochs.size() ? epochs[i + 1].time : kNever);
    return std::make_shared<const AddressSpaceHistory>(std::move(history_));
  }

 private:
  using Epoch = AddressSpaceHistory::Epoch;

  // Adds what becomes of an epoch that ends at `end`.
  void Divide(const Epoch& epoch, uint64_t end) {
    uint64_t begin = epoch.time;
    while (next_ < lost_.size() && lost_[next_].earliest < end) {
      Add(epoch, begin, lost_[next_].earliest);
      begin = std::max(begin, lost_[next_].earliest);
      Begin(lost_[next_++]);
    }
    Add(epoch, begin, end);
  }
  void Begin(const LostProgram& lost) {
    known_ = unknown_;
    latest_ = lost.latest;
    until_ = records_.NextProgram(lost.earliest);
  }
  // The part from `begin` up to `end`, which may be empty.
  void Add(const Epoch& epoch, uint64_t begin, uint64_t end) {
    if (begin >= end) return;
    Epoch part = epoch;
    part.time = begin;
    part.program &= begin == epoch.time;
    if (begin < until_) {
      MapKnown(*epoch.space, end);
      AddressSpace space = known_;
      CopyRange(*epoch.space, kUpperHalf, kUpperHalf, space);
      part.space = std::make_shared<const AddressSpace>(std::move(space));
      part.records_lost = true;
    }
    history_.epochs.push_back(std::move(part));
  }
  // What the records before `end` say about the program.
  void MapKnown(const AddressSpace& old, uint64_t end) {
    const std::vector<const MmapRecord*>& mappings = records_.mappings;
    for (; mapped_ < mappings.size() && mappings[mapped_]->time < end; ++mapped_) {
      const MmapRecord& record = *mappings[mapped_];
      if (record.time <= latest_) continue;
      known_.Unmap(record.address, record.size);
      CopyRange(old, record.address, record.size, known_);
    }
  }

  const AddressSpaceHistory& old_;
  const ProcessRecords& records_;
  const std::vector<LostProgram>& lost_;
  const AddressSpace& unknown_;
  AddressSpaceHistory history_;
  size_t next_ = 0;      // of lost_
  uint64_t until_ = 0;   // up to then the records do not say which program runs
  uint64_t latest_ = 0;  // when the program that runs began at the latest
  AddressSpace known_;   // its code, without the kernel's
  size_t mapped_ = 0;    // mappings looked at so far
};

}  // namespace

std::map<int32_t, RecordingCode::History> ForgetPrograms(const Recording& recording,
                                                         const RecordingCode& code,
                                                         const std::vector<LostProgram>& lost) {
  std::map<int32_t, RecordingCode::History> histories;
  if (lost.empty()) return histories;
  const RecordsByProcess records(recording);
  const AddressSpace unknown = Unknown(code);
  for (const auto& [pid, of_process] : WithChildren(lost, records))
    histories.emplace(pid,
                      Rebuilder(*code.OfProcess(pid), records[pid], of_process, unknown).Take());
  return histories;
}

}  // namespace flowback
