// SPDX-License-Identifier: MIT
//
// perf writes each CPU's samples in a piece, and a thread may go from CPU to CPU meanwhile: so the
// stacks of a thread are collected first, and put into the order of their times at the end.
#include "capture/formats/perf_branch_stacks.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>

#include "capture/formats/bit_field_reader.h"

namespace flowback::perf {
namespace {

constexpr uint64_t kMostCycles = 0xffff;  // the field holds no more
constexpr uint64_t kTypeIsNew = 15;       // perf_branch_entry::type: see new_type
constexpr uint64_t kNewTypes = 8;         // that have a name
constexpr uint64_t kPathIsWrong = 1;      // perf_branch_entry::spec
constexpr uint64_t kPathIsRight = 2;

BranchFacts::Prediction PredictionOf(bool wrong, bool right) {
  if (wrong) return BranchFacts::Prediction::kWrong;
  return right ? BranchFacts::Prediction::kRight : BranchFacts::Prediction::kNotTold;
}

BranchKind KindOf(uint64_t type, uint64_t new_type) {
  if (type < kTypeIsNew) return static_cast<BranchKind>(type);
  return new_type < kNewTypes ? static_cast<BranchKind>(kTypeIsNew + new_type)
                              : BranchKind::kNotTold;
}

BranchRecord::Path PathOf(uint64_t spec) {
  switch (spec) {
    case 0:
      return BranchRecord::Path::kNotTold;
    case kPathIsWrong:
      return BranchRecord::Path::kWrong;
    case kPathIsRight:
      return BranchRecord::Path::kRight;
    default:
      return BranchRecord::Path::kRightSpeculative;
  }
}

// The levels that the branches are of: those of the event where nothing else is said.
TracedLevels LevelsOf(const EventAttr& attr) {
  const uint64_t type = attr.branch_sample_type;
  if ((type & (kBranchUser | kBranchKernel | kBranchHypervisor)) == 0)
    return {(attr.flags & kAttrExcludeUser) == 0, (attr.flags & kAttrExcludeKernel) == 0};
  return {(type & kBranchUser) != 0, (type & kBranchKernel) != 0};
}

// Hardware tells where in a ring the newest record was: of two samples that says little. Our
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

BranchRecord ParseBranchEntry(Bytes entry, ByteOrder order) {
  FieldReader fields(entry, order);
  BranchRecord record;
  record.from = fields.U64();
  record.to = fields.U64();
  BitFieldReader flags(fields.U64(), order);
  const bool wrong = flags.Take(1) != 0;
  record.prediction = PredictionOf(wrong, flags.Take(1) != 0);
  record.in_transaction = flags.Take(1) != 0;
  record.aborted = flags.Take(1) != 0;
  SetCycles(flags.Take(16), record);
  const uint64_t type = flags.Take(4);
  record.path = PathOf(flags.Take(2));
  record.kind = KindOf(type, flags.Take(4));
  constexpr uint64_t kLevels = 4;
  if (const uint64_t level = flags.Take(3); level < kLevels)
    record.level = static_cast<BranchRecord::Level>(level);
  return record;
}

void SetCycles(uint64_t cycles, BranchRecord& record) {
  record.cycles = static_cast<uint32_t>(cycles);
  if (cycles != 0)
    record.cycles_told =
        cycles == kMostCycles ? BranchFacts::Cycles::kAtLeast : BranchFacts::Cycles::kExact;
}

BranchStackCollector::Owner& BranchStackCollector::OwnerOf(const SampleId& id) {
  return owners_[{{id.tid, id.pid}, id.tid >= 0 ? -1 : id.cpu}];
}

void BranchStackCollector::Add(const SampleId& id, Stack stack, Owner& owner) {
  ++samples_;
  depth_ = std::max<uint64_t>(depth_, stack.count);
  stack.time = id.time;
  owner.stacks.push_back(stack);
}

void BranchStackCollector::Add(const Sample& sample, ByteOrder order, bool stays) {
  const auto kept = [&](Bytes bytes) {
    if (stays || bytes.empty()) return bytes;
    return Bytes(copies_.emplace_back(bytes.begin(), bytes.end()));
  };
  timed_ = timed_ || sample.id.time != 0;
  const size_t count = sample.branches.size() / kBranchEntrySize;
  if (count == 0) {
    ++empty_samples_;
    return;
  }
  Stack stack;
  stack.ip = sample.ip;
  stack.count = count;
  stack.index = sample.branch_index;
  stack.entries = kept(sample.branches);
  stack.counters = kept(sample.branch_counters);
  stack.order = order;
  Add(sample.id, stack, OwnerOf(sample.id));
}

void BranchStackCollector::AddStack(const SampleId& id, uint64_t ip,
                                    std::span<const BranchRecord> newest_first) {
  if (newest_first.empty()) {
    ++empty_samples_;
    return;
  }
  Owner& owner = OwnerOf(id);
  Stack stack;
  stack.ip = ip;
  stack.count = newest_first.size();
  stack.begin = owner.records.size();
  owner.records.insert(owner.records.end(), newest_first.begin(), newest_first.end());
  Add(id, stack, owner);
}

// The records take most of the memory: they are made once, and all in their places.
std::vector<BranchRecord> BranchStackCollector::Owner::TakeRecords(bool indexed) {
  std::ranges::stable_sort(stacks, {}, &Stack::time);
  size_t count = 0;
  for (const Stack& stack : stacks) count += stack.count;
  std::vector<BranchRecord> sorted;
  sorted.reserve(count);
  uint64_t index = 0;
  for (const Stack& stack : stacks) {
    const bool goes_on = indexed && !sorted.empty() && stack.index == index + stack.count;
    index = stack.index;
    for (size_t i = stack.count; i-- > 0;) {
      const Bytes entry = Slice(stack.entries, i * kBranchEntrySize, kBranchEntrySize);
      BranchRecord record =
          entry.empty() ? records[stack.begin + i] : ParseBranchEntry(entry, stack.order);
      const Bytes counters = Slice(stack.counters, 8 * i, 8);
      if (!counters.empty()) record.counters = FieldReader(counters, stack.order).U64();
      record.time = stack.time;
      record.ip = stack.ip;
      record.begins_stack = i + 1 == stack.count && !goes_on;
      record.ends_stack = i == 0;
      sorted.push_back(record);
    }
  }
  *this = {};
  return sorted;
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
  for (auto& [key, owner] : owners_) {
    auto records = std::make_shared<std::vector<BranchRecord>>(owner.TakeRecords(config.tiled));
    Stream stream;
    stream.index = static_cast<uint32_t>(recording.streams.size());
    stream.tid = key.first.first;
    stream.pid = key.first.second;
    stream.cpu = key.second;
    stream.file = recording.path;
    stream.bytes = {reinterpret_cast<const uint8_t*>(records->data()),
                    records->size() * kBranchRecordSize};
    recording.storage.push_back(std::move(records));
    recording.streams.push_back(std::move(stream));
  }
}

}  // namespace flowback::perf
