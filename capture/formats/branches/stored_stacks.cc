// SPDX-License-Identifier: MIT
#include "capture/formats/branches/stored_stacks.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <numeric>
#include <optional>
#include <utility>

#include "capture/formats/input/bit_field_reader.h"
#include "capture/formats/perf_records/perf_layout.h"
#include "capture/formats/perf_records/perf_record_reader.h"

namespace flowback::perf {
namespace {

constexpr uint64_t kMostCycles = 0xffff;  // the field holds no more
constexpr uint64_t kTypeIsNew = 15;       // perf_branch_entry::type: see new_type
constexpr uint64_t kNewTypes = 8;         // that have a name

// Values come in no order that a processor could foretell, so they are looked up.
constexpr BranchFacts::Prediction kPredictions[] = {
    BranchFacts::Prediction::kNotTold, BranchFacts::Prediction::kWrong,
    BranchFacts::Prediction::kRight, BranchFacts::Prediction::kWrong};
constexpr BranchRecord::Path kPaths[] = {BranchRecord::Path::kNotTold, BranchRecord::Path::kWrong,
                                         BranchRecord::Path::kRight,
                                         BranchRecord::Path::kRightSpeculative};
constexpr BranchRecord::Level kLevels[] = {
    BranchRecord::Level::kNotTold,    BranchRecord::Level::kUser,    BranchRecord::Level::kKernel,
    BranchRecord::Level::kHypervisor, BranchRecord::Level::kNotTold, BranchRecord::Level::kNotTold,
    BranchRecord::Level::kNotTold,    BranchRecord::Level::kNotTold};

BranchKind KindOf(uint64_t type, uint64_t new_type) {
  if (type < kTypeIsNew) return static_cast<BranchKind>(type);
  return new_type < kNewTypes ? static_cast<BranchKind>(kTypeIsNew + new_type)
                              : BranchKind::kNotTold;
}

uint64_t WordAt(const uint8_t* bytes, ByteOrder order) {
  const uint64_t word = LoadLittleEndian(bytes, sizeof word);
  return order == ByteOrder::kLittle ? word : std::byteswap(word);
}

BranchFacts::Cycles ToldOf(uint64_t cycles) {
  using Told = BranchFacts::Cycles;
  static_assert(Told{1} == Told::kExact && Told{2} == Told::kAtLeast);
  return static_cast<Told>((cycles != 0) + (cycles == kMostCycles));
}

// A record is written as words: to write its fields one at a time, and read all of it soon after,
// would have the processor wait for each.
static_assert(offsetof(BranchRecord, from) == 0 && offsetof(BranchRecord, to) == 8 &&
              offsetof(BranchRecord, time) == 16 && offsetof(BranchRecord, ip) == 24 &&
              offsetof(BranchRecord, counters) == 32 && offsetof(BranchRecord, cycles) == 40 &&
              offsetof(BranchRecord, level) == 48);

[[gnu::always_inline]] inline void PutWord(size_t number, uint64_t word, uint8_t* record) {
  std::memcpy(record + number * sizeof word, &word, sizeof word);
}

// The last two words, made from a word of an entry's flags.
template <ByteOrder order>
[[gnu::always_inline]] inline void PutFlags(uint64_t word, uint8_t* record) {
  const auto at = [](auto value, size_t field) {
    return static_cast<uint64_t>(value) << (field % 8 * 8);
  };
  BitFieldReader flags(word, order);
  const uint64_t wrong = flags.Take(1);
  const uint64_t predicted = flags.Take(1);
  const uint64_t in_transaction = flags.Take(1);
  const uint64_t aborted = flags.Take(1);
  const uint64_t cycles = flags.Take(16);
  const uint64_t type = flags.Take(4);
  const uint64_t path = flags.Take(2);
  const BranchKind kind = KindOf(type, flags.Take(4));
  const uint64_t level = flags.Take(3);
  const uint64_t not_taken = flags.Take(1);  // of what perf makes of SPE
  PutWord(5,
          cycles | at(ToldOf(cycles), offsetof(BranchRecord, cycles_told)) |
              at(kPredictions[predicted << 1 | wrong], offsetof(BranchRecord, prediction)) |
              at(kind, offsetof(BranchRecord, kind)) |
              at(kPaths[path], offsetof(BranchRecord, path)),
          record);
  PutWord(6,
          at(kLevels[level], offsetof(BranchRecord, level)) |
              at(in_transaction, offsetof(BranchRecord, in_transaction)) |
              at(aborted, offsetof(BranchRecord, aborted)) |
              at(not_taken, offsetof(BranchRecord, not_taken)),
          record);
}

// Fills in the last of the sample's entries before `end`; entries are the newest first.
template <ByteOrder order>
void FillRecords(const Sample& sample, size_t end, uint8_t* to, size_t count) {
  const uint8_t* entry = sample.branches.data() + end * kBranchEntrySize;
  const uint8_t* counter = nullptr;
  if (!sample.branch_counters.empty()) counter = sample.branch_counters.data() + 8 * end;
  for (size_t i = 0; i < count; ++i, to += kBranchRecordSize) {
    entry -= kBranchEntrySize;
    PutWord(0, WordAt(entry, order), to);
    PutWord(1, WordAt(entry + 8, order), to);
    PutWord(2, sample.id.time, to);
    PutWord(3, sample.ip, to);
    PutWord(4, counter == nullptr ? 0 : WordAt(counter -= 8, order), to);
    PutFlags<order>(WordAt(entry + 16, order), to);
  }
}

}  // namespace

BranchRecord ParseBranchEntry(Bytes entry, ByteOrder order) {
  BranchRecord record;
  if (entry.size() < kBranchEntrySize) return record;
  record.from = WordAt(entry.data(), order);
  record.to = WordAt(entry.data() + 8, order);
  const uint64_t flags = WordAt(entry.data() + 16, order);
  auto* const bytes = reinterpret_cast<uint8_t*>(&record);
  if (order == ByteOrder::kLittle)
    PutFlags<ByteOrder::kLittle>(flags, bytes);
  else
    PutFlags<ByteOrder::kBig>(flags, bytes);
  return record;
}

void SetCycles(uint64_t cycles, BranchRecord& record) {
  record.cycles = static_cast<uint32_t>(cycles);
  record.cycles_told = ToldOf(cycles);
}

std::optional<Sample> SampleLayout::At(const uint8_t* record) const {
  FieldReader head(Bytes(record, kRecordHeaderSize), order_);
  head.Skip(6);
  const size_t size = std::max<size_t>(head.U16(), kRecordHeaderSize);
  Record parsed;
  if (ParseRecord(Bytes(record, size), 0, order_, parsed) != RecordHead::kWhole)
    return std::nullopt;
  return ids_.ParseSample(parsed);
}

void StoredStacks::Add(const uint8_t* record, uint64_t time, size_t count) {
  sorted_ = sorted_ && (times_.empty() || times_.back() <= time);
  samples_.push_back(record);
  counts_.push_back(static_cast<uint16_t>(count));
  times_.push_back(time);
}

void StoredStacks::Finish(std::shared_ptr<const SampleLayout> layout, bool indexed) {
  layout_ = std::move(layout);
  if (!sorted_) SortByTime();
  times_ = {};
  if (indexed) FindThoseThatGoOn();
  for (size_t i = 0; i < samples_.size(); ++i) {
    if (i % kStep == 0) begins_.push_back(records_);
    records_ += CountOf(i);
  }
}

// Samples of one time stay in the order of the file.
void StoredStacks::SortByTime() {
  std::vector<uint32_t> order(samples_.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [this](uint32_t i) { return times_[i]; });
  times_ = {};
  std::vector<const uint8_t*> samples;
  samples.reserve(order.size());
  for (const uint32_t i : order) samples.push_back(samples_[i]);
  samples_ = std::move(samples);
  std::vector<uint16_t> counts;
  counts.reserve(order.size());
  for (const uint32_t i : order) counts.push_back(counts_[i]);
  counts_ = std::move(counts);
}

void StoredStacks::FindThoseThatGoOn() {
  uint64_t before = 0;
  for (size_t i = 0; i < samples_.size(); ++i) {
    const auto sample = layout_->At(samples_[i]);
    const uint64_t index = sample ? sample->branch_index : 0;
    if (i != 0 && index == before + CountOf(i)) counts_[i] |= kGoesOn;
    before = index;
  }
}

StoredStacks::Place StoredStacks::PlaceOf(size_t record) const {
  const auto next = std::ranges::upper_bound(begins_, record);
  const auto step = static_cast<size_t>(next - begins_.begin()) - 1;
  Place place{.sample = step * kStep, .record = begins_[step]};
  while (place.record + CountOf(place.sample) <= record) place.record += CountOf(place.sample++);
  return place;
}

// A record that does not fit whole is made beside.
size_t StoredStacks::Make(size_t offset, std::span<uint8_t> to) const {
  if (offset >= size()) return 0;
  const size_t end = std::min(size(), offset + to.size());
  size_t at = offset;
  Place place = PlaceOf(offset / kBranchRecordSize);
  while (at < end) {
    const size_t first = at / kBranchRecordSize - place.record;
    const size_t count = CountOf(place.sample);
    uint8_t* const into = to.data() + (at - offset);
    const size_t skipped = at % kBranchRecordSize;
    const size_t whole =
        skipped == 0 ? std::min(count - first, (end - at) / kBranchRecordSize) : size_t{0};
    if (whole != 0) {
      MakeRecords(place.sample, first, first + whole, into);
      at += whole * kBranchRecordSize;
    } else {
      uint8_t record[kBranchRecordSize];
      MakeRecords(place.sample, first, first + 1, record);
      const size_t part = std::min(kBranchRecordSize - skipped, end - at);
      std::memcpy(into, record + skipped, part);
      at += part;
    }
    if (at / kBranchRecordSize == place.record + count) {
      place.record += count;
      ++place.sample;
    }
  }
  return end - offset;
}

// The next sample is brought from memory while this one's records are made.
void StoredStacks::AskForNext(size_t sample) const {
  if (sample + 1 == samples_.size()) return;
  constexpr size_t kLine = 64;
  const uint8_t* const next = samples_[sample + 1];
  // With the fields ahead of them.
  const size_t size = kLine + CountOf(sample + 1) * kBranchEntrySize;
  for (size_t at = 0; at < size; at += kLine) __builtin_prefetch(next + at);
}

// Where the file has another sample by now than when it was opened, the records are empty.
void StoredStacks::MakeRecords(size_t sample, size_t first, size_t last, uint8_t* to) const {
  AskForNext(sample);
  const std::optional<Sample> parsed = layout_->At(samples_[sample]);
  const size_t count = CountOf(sample);
  const size_t made = last - first;
  if (parsed && parsed->branches.size() == count * kBranchEntrySize) {
    if (layout_->order() == ByteOrder::kLittle)
      FillRecords<ByteOrder::kLittle>(*parsed, count - first, to, made);
    else
      FillRecords<ByteOrder::kBig>(*parsed, count - first, to, made);
  } else {
    std::memset(to, 0, made * kBranchRecordSize);
  }
  const bool goes_on = (counts_[sample] & kGoesOn) != 0;
  if (first == 0) to[offsetof(BranchRecord, begins_stack)] = !goes_on;
  if (last == count) to[(made - 1) * kBranchRecordSize + offsetof(BranchRecord, ends_stack)] = true;
}

}  // namespace flowback::perf
