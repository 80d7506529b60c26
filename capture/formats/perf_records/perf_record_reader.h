// SPDX-License-Identifier: MIT
// Reads the records of a perf.data file's data section, one after the other, safely for any sizes
// that they claim.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "base/file_reader.h"
#include "capture/formats/input/field_reader.h"
#include "flowback/base/bytes.h"

namespace flowback::perf {

// Points into the file, or, for a record that was compressed and one that MayBeCopied, into a
// buffer that lives as long as the record is looked at.
struct Record {
  uint32_t type = 0;
  uint16_t misc = 0;
  uint64_t offset = 0;  // in the file; of the compressed record that holds it
  ByteOrder order = ByteOrder::kLittle;
  Bytes body;  // after the 8-byte header
  // AUXTRACE, HEADER_TRACING_DATA: the data that follows the record, cut at the section's end.
  Bytes aux;
  uint64_t aux_offset = 0;
  // AUXTRACE: the number of zero bytes at the data's end, up to the largest padding.
  uint64_t aux_zeros = 0;

  uint64_t size() const { return body.size() + 8; }
  FieldReader Fields() const { return FieldReader(body, order); }
};

// What a record's first bytes promise.
enum class RecordHead : uint8_t {
  kWhole,     // all of the record is there
  kCut,       // more bytes are needed
  kTooSmall,  // its size is less than its header's: not a record
};

// Looks at the record at bytes[at]. Fills in the parts of `record` that the bytes hold, but not its
// offset.
RecordHead ParseRecord(Bytes bytes, uint64_t at, ByteOrder order, Record& record);

// Whether nothing that is made of such a record points into it.
bool MayBeCopied(uint32_t type);

// Returns the number of zero bytes at the end of AUX data, up to the largest padding.
uint64_t ZerosAtEnd(Bytes data);

// Stops at the first record that can't be: what was read before stays valid.
//
// A recording of a gigabyte is AUX data but for some ten thousand places. The bytes between two
// pieces of it, the padding of the one and the few records ahead of the other, is read into a
// window, so that none of the mapping is touched (FileReader says why).
class RecordReader {
 public:
  // Reads [begin, end) of `file`, which, where it is a mapped file, is all of that. REQUIRES:
  // begin <= end <= file.size().
  RecordReader(Bytes file, uint64_t begin, uint64_t end, ByteOrder order = ByteOrder::kLittle,
               const MappedFile* mapped = nullptr)
      : file_(file), at_(begin), end_(end), order_(order) {
    if (mapped != nullptr) reader_.emplace(*mapped);
  }

  // False at the end of the section and at damage.
  bool Next(Record& record);
  // A sentence with the offset when the reading stopped early or an AUX area was cut; else empty.
  const std::string& damage() const { return damage_; }

 private:
  static constexpr uint64_t kWindow = 512;

  RecordHead Parse(Record& record) const;
  void AskFor(uint64_t offset) const;
  bool ReadDataBehind(Record& record);
  void OpenWindow(Record& record);

  Bytes file_;
  std::optional<FileReader> reader_;
  // One is of the record that has been given, while the next one is filled.
  std::array<std::array<uint8_t, kWindow>, 2> windows_;
  size_t newer_ = 0;
  uint64_t window_at_ = 0;    // in the file
  uint64_t window_size_ = 0;  // no further than the section
  uint64_t at_;
  uint64_t end_;
  ByteOrder order_;
  std::string damage_;
};

}  // namespace flowback::perf
