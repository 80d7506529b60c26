// SPDX-License-Identifier: MIT
//
// The kernel's AUX records and perf's AUXTRACE records both say where in the buffer the data is.
// The records of a buffer follow on each other, [0, a), [a, b), ..., and the parts cover the same
// range. So one that stands far out alone is damaged, and the others are true:
//
//      AUX [0, 0x470)   AUX [1<<50, ...)   AUXTRACE [0, 0x570)     the second AUX record lies
//      AUX [0, 0x570)                      AUXTRACE [1<<40, ...)   the AUXTRACE record lies
//
// Differences that missing data or records explain are left alone.
#include "capture/formats/perf_data/perf_aux_buffer.h"

#include <algorithm>

#include "capture/formats/input/text.h"
#include "capture/formats/perf_records/perf_record_reader.h"

namespace flowback::perf {
namespace {

// An AUX offset counts all that was ever written to a buffer: at 10 GB a second for ten years not
// so much. And a record names no more than its buffer holds, whose pages the kernel counts with an
// int. So nothing adds up to more than 64 bits by being true.
constexpr uint64_t kMostOffset = uint64_t{1} << 62;
constexpr uint64_t kMostSize = uint64_t{1} << 43;

}  // namespace

std::string AuxPlace::Text() const { return Hex(offset) + (file ? " of " + *file : ""); }

uint64_t AuxBuffer::RecordedEnd() const {
  uint64_t end = 0;
  for (const AuxEntry& record : records) end = std::max(end, record.end());
  return end;
}

void AuxContradictions::Add(std::string text) {
  if (count_++ == 0) first_ = std::move(text);
}

void AuxContradictions::Report(Recording& recording) const {
  if (count_ == 0) return;
  const std::string more = count_ == 1 ? "" : "; so do " + Dec(count_ - 1) + " more";
  recording.warnings.push_back({first_ + more, kDamageRemedy});
}

// A record past the buffer's data is true when it follows on another one and none begins inside it:
// then data is missing.
void AuxBufferCheck::CheckRecords(AuxBuffer& buffer) {
  uint64_t held = 0;
  for (const AuxPart& part : buffer.parts)
    if (part.aux_offset <= kMostOffset) held = std::max(held, part.aux_end());
  std::vector<uint64_t> begins, ends;
  begins.reserve(buffer.records.size());
  ends.reserve(buffer.records.size());
  for (const AuxEntry& record : buffer.records) {
    begins.push_back(record.told.offset);
    ends.push_back(record.end());
  }
  // Mostly they are sorted.
  for (std::vector<uint64_t>* const sorted : {&begins, &ends})
    if (!std::ranges::is_sorted(*sorted)) std::ranges::sort(*sorted);
  const auto lies = [&](const AuxEntry& record) {
    const AuxRecord& told = record.told;
    const bool impossible =
        told.size > kMostSize || told.offset > kMostOffset || record.end() > kMostOffset;
    if (!impossible && record.end() <= held) return false;
    const bool follows = told.offset <= held || std::ranges::binary_search(ends, told.offset);
    const auto next = std::ranges::upper_bound(begins, told.offset);
    const bool overlaps = next != begins.end() && *next < record.end();
    if (!impossible && follows && !overlaps) return false;
    records_.Add("the AUX record at offset " + record.place.Text() +
                 " is damaged and not used: " + ByteCount(told.size) + " at AUX offset " +
                 Hex(told.offset) + " contradict the buffer's data, which ends at " + Hex(held) +
                 ", and its other records");
    return true;
  };
  std::erase_if(buffer.records, lies);
}

// Finds a part after all parts in the kernel's records, and not even where the part before it
// ended.
void AuxBufferCheck::CheckOffsets(AuxBuffer& buffer) {
  const uint64_t recorded = buffer.RecordedEnd();
  uint64_t end = 0;
  for (AuxPart& part : buffer.parts) {
    const bool impossible = part.aux_offset > kMostOffset;
    if (impossible || (recorded != 0 && part.aux_offset >= recorded && part.aux_offset > end)) {
      offsets_.Add("the AUXTRACE record at offset " + part.place.Text() +
                   " is damaged: it says that its data stands at AUX offset " +
                   Hex(part.told_offset) +
                   (recorded == 0 ? std::string(", which can't be")
                                  : ", but the buffer's AUX records end at " + Hex(recorded)) +
                   "; decoded in the file's order");
      part.misplaced = end != 0;
      part.aux_offset = end;
    }
    end = part.aux_end();
  }
}

// A cut part ends with the section, or the record's size lies and other records follow its data.
void AuxBufferCheck::BoundCutPieces(AuxBuffer& buffer) {
  const uint64_t recorded = buffer.RecordedEnd();
  for (AuxPart& part : buffer.parts) {
    if (!part.cut || recorded <= part.aux_offset || recorded >= part.aux_end()) continue;
    const uint64_t size = recorded - part.aux_offset;
    sizes_.Add("the size in the AUXTRACE record at offset " + part.place.Text() +
               " is damaged: the buffer's AUX records describe " + ByteCount(size) +
               "; only they are decoded, not the " + Dec(part.bytes.size() - size) +
               " that follow at " + Hex(part.file_offset + size));
    part.bytes = part.bytes.first(size);
    part.snapshot = part.bytes;
    part.zeros = ZerosAtEnd(part.bytes);
  }
}

void AuxBufferCheck::Check(AuxBuffer& buffer) {
  CheckRecords(buffer);
  CheckOffsets(buffer);
  BoundCutPieces(buffer);
}

void AuxBufferCheck::Report(Recording& recording) const {
  records_.Report(recording);
  offsets_.Report(recording);
  sizes_.Report(recording);
}

}  // namespace flowback::perf
