// SPDX-License-Identifier: MIT
//
// perf writes each CPU's samples in a piece, and a thread may go from CPU to CPU meanwhile: so the
// stacks of a thread are collected first, and put into the order of their times at the end. Stacks
// of samples stay in the file until they are read.
#include "capture/formats/branches/perf_branch_stacks.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "capture/formats/perf_records/perf_layout.h"

namespace flowback::perf {
namespace {

// The levels that the branches are of: the event's own levels by default.
TracedLevels LevelsOf(const EventAttr& attr) {
  const uint64_t type = attr.branch_sample_type;
  if ((type & (kBranchUser | kBranchKernel | kBranchHypervisor)) == 0)
    return {(attr.flags & kAttrExcludeUser) == 0, (attr.flags & kAttrExcludeKernel) == 0};
  return {(type & kBranchUser) != 0, (type & kBranchKernel) != 0};
}

// Hardware records where in a ring the newest record was, which says little about two samples. Our
// emulator counts a thread's records from its start.
bool CountsRecords(const std::vector<EventAttr>& attrs, const Recording& recording) {
  return recording.machine.emulated && !attrs.empty() &&
         std::ranges::all_of(attrs, [](const EventAttr& attr) {
           return (attr.sample_type & kSampleBranchStack) == 0 ||
                  (attr.branch_sample_type & kBranchHardwareIndex) != 0;
         });
}

void ApplyEvents(const std::vector<EventAttr>& attrs, BranchStackConfig& config) {
  config.levels = {false, false};
  for (const EventAttr& attr : attrs) {
    if ((attr.sample_type & kSampleBranchStack) == 0) continue;
    const TracedLevels levels = LevelsOf(attr);
    config.levels.user = *config.levels.user || *levels.user;
    config.levels.kernel = *config.levels.kernel || *levels.kernel;
    config.all_kinds = config.all_kinds && (attr.branch_sample_type & kBranchAny) != 0;
    config.call_stacks = config.call_stacks || (attr.branch_sample_type & kBranchCallStack) != 0;
  }
}

}  // namespace

void ApplyArchitecture(Recording& recording, BranchStackConfig& config) {
  const std::string& architecture = recording.machine.architecture;
  const std::optional<CodeMode> mode = ModeOfMachine(architecture);
  config.readable_code = mode || architecture.empty();
  config.mode = mode.value_or(CodeMode::kX86_64);
  recording.instruction_set = mode ? TraitsOf(*mode).instruction_set : std::string_view();
}

BranchStackCollector::Owner& BranchStackCollector::OwnerOf(const SampleId& id) {
  return owners_[{{id.tid, id.pid}, id.tid >= 0 ? -1 : id.cpu}];
}

const uint8_t* BranchStackCollector::Copy(Bytes record) {
  constexpr size_t kRoom = size_t{1} << 20;
  const auto fits = [&](const std::vector<uint8_t>& copies) {
    return copies.capacity() - copies.size() >= record.size();
  };
  if (copies_.empty() || !fits(*copies_.back())) {
    copies_.push_back(std::make_shared<std::vector<uint8_t>>());
    copies_.back()->reserve(std::max(kRoom, record.size()));
  }
  std::vector<uint8_t>& copies = *copies_.back();
  const size_t at = copies.size();
  copies.insert(copies.end(), record.begin(), record.end());
  return copies.data() + at;
}

void BranchStackCollector::Add(const Record& record, const Sample& sample, bool stays) {
  timed_ = timed_ || sample.id.time != 0;
  order_ = record.order;
  const size_t count = sample.branches.size() / kBranchEntrySize;
  if (count == 0) {
    ++empty_samples_;
    return;
  }
  Count(count);
  // The header lies ahead of the body, wherever that is.
  const Bytes whole(record.body.data() - kRecordHeaderSize, record.size());
  OwnerOf(sample.id).stored.Add(stays ? whole.data() : Copy(whole), sample.id.time, count);
}

bool BranchStackCollector::AddStack(const SampleId& id, uint64_t ip,
                                    std::span<const BranchRecord> newest_first, uint64_t times) {
  if (newest_first.empty()) {
    empty_samples_ += times;
    return true;
  }
  Owner& owner = OwnerOf(id);
  const uint64_t room = RepeatedStacks::kMostRecords - owner.repeated;
  if (times > 1 && times > room / newest_first.size()) return false;
  if (times > 1) owner.repeated += newest_first.size() * times;
  Count(newest_first.size(), times);
  owner.stacks.push_back({.time = id.time,
                          .begin = owner.records.size(),
                          .count = newest_first.size(),
                          .ip = ip,
                          .times = times});
  owner.records.insert(owner.records.end(), newest_first.begin(), newest_first.end());
  return true;
}

// The records take most of the memory: they are put into their places once.
std::vector<BranchRecord> BranchStackCollector::Owner::TakeRecords() {
  std::ranges::stable_sort(stacks, {}, &Stack::time);
  std::vector<BranchRecord> sorted;
  sorted.reserve(records.size());
  for (const Stack& stack : stacks) {
    for (size_t i = stack.count; i-- > 0;) {
      BranchRecord record = records[stack.begin + i];
      record.time = stack.time;
      record.ip = stack.ip;
      record.begins_stack = i + 1 == stack.count;
      record.ends_stack = i == 0;
      sorted.push_back(record);
    }
  }
  return sorted;
}

RepeatedStacks BranchStackCollector::Owner::Repeat(std::span<const BranchRecord> sorted) const {
  RepeatedStacks result;
  for (const Stack& stack : stacks) {
    result.Add(sorted.first(stack.count), stack.times);
    sorted = sorted.subspan(stack.count);
  }
  return result;
}

// There may be very many threads with a few stacks each, and the system gives a process some ten
// thousand ranges of addresses: such streams are made at once.
template <class Stored>
void BranchStackCollector::GiveStored(std::shared_ptr<const Stored> stored, Recording& recording,
                                      Stream& stream) {
  constexpr size_t kMadeAtOnce = size_t{64} << 10;
  const size_t size = stored->size();
  if (size <= kMadeAtOnce) {
    auto bytes = std::make_shared<std::vector<uint8_t>>(size);
    stored->Make(0, *bytes);
    stream.bytes = *bytes;
    recording.storage.push_back(std::move(bytes));
    return;
  }
  stream.joined = std::make_shared<JoinedBytes>(
      size, [stored = std::move(stored)](size_t offset, std::span<uint8_t> to) {
        return stored->Make(offset, to);
      });
  stream.bytes = stream.joined->bytes();
}

void BranchStackCollector::GiveBytes(Owner owner, const std::shared_ptr<const SampleLayout>& layout,
                                     bool indexed, Recording& recording, Stream& stream) {
  if (!owner.stored.empty()) {
    auto stored = std::make_shared<StoredStacks>(std::move(owner.stored));
    stored->Finish(layout, indexed);
    return GiveStored<StoredStacks>(std::move(stored), recording, stream);
  }
  auto records = std::make_shared<std::vector<BranchRecord>>(owner.TakeRecords());
  if (owner.repeated != 0)
    return GiveStored<RepeatedStacks>(
        std::make_shared<const RepeatedStacks>(owner.Repeat(*records)), recording, stream);
  stream.bytes = {reinterpret_cast<const uint8_t*>(records->data()),
                  records->size() * kBranchRecordSize};
  recording.storage.push_back(std::move(records));
}

void BranchStackCollector::Finish(const std::vector<EventAttr>& attrs, Recording& recording) && {
  if (owners_.empty()) return;
  recording.source = kBranchStacks;
  auto& config = recording.config.Make<BranchStackConfig>();
  ApplyEvents(attrs, config);
  recording.levels = config.levels;
  ApplyArchitecture(recording, config);
  config.samples = samples_ + empty_samples_;
  config.empty_samples = empty_samples_;
  config.depth = depth_;
  config.tiled = CountsRecords(attrs, recording);
  // The records' times are those of the samples, in nanoseconds.
  if (timed_) recording.time = {.shift = 0, .mult = 1, .zero = 0};
  const auto layout = std::make_shared<const SampleLayout>(attrs, order_);
  for (auto& copies : copies_) recording.storage.push_back(std::move(copies));
  for (auto& [key, owner] : owners_) {
    Stream stream;
    stream.index = static_cast<uint32_t>(recording.streams.size());
    stream.tid = key.first.first;
    stream.pid = key.first.second;
    stream.cpu = key.second;
    stream.file = recording.path;
    GiveBytes(std::move(owner), layout, config.tiled, recording, stream);
    recording.streams.push_back(std::move(stream));
  }
}

}  // namespace flowback::perf
