// SPDX-License-Identifier: MIT
// The records of a perf.data file's data section, one after the other, whatever their sizes say.
#pragma once

#include <string>

#include "capture/formats/field_reader.h"
#include "flowback/base/bytes.h"

namespace flowback::perf {

// Points into the file, or, for a record that was compressed, into a buffer that lives as long as
// the record is looked at.
struct Record {
  uint32_t type = 0;
  uint16_t misc = 0;
  uint64_t offset = 0;  // in the file; of the compressed record that holds it
  ByteOrder order = ByteOrder::kLittle;
  Bytes body;  // after the 8-byte header
  // AUXTRACE, HEADER_TRACING_DATA: the data that follows the record, cut at the section's end.
  Bytes aux;
  uint64_t aux_offset = 0;

  uint64_t size() const { return body.size() + 8; }
  FieldReader Fields() const { return FieldReader(body, order); }
};

// What a record's first bytes promise.
enum class RecordHead : uint8_t {
  kWhole,     // all of the record is there
  kCut,       // more bytes are needed
  kTooSmall,  // its size is less than its header's: not a record
};

// Looks at the record at bytes[at]. Fills `record`, but for its offset, with what is there.
RecordHead ParseRecord(Bytes bytes, uint64_t at, ByteOrder order, Record& record);

// Stops at the first record that can't be: what was read before stays valid.
class RecordReader {
 public:
  // Reads [begin, end) of `file`. REQUIRES: begin <= end <= file.size().
  RecordReader(Bytes file, uint64_t begin, uint64_t end, ByteOrder order = ByteOrder::kLittle)
      : file_(file), at_(begin), end_(end), order_(order) {}

  // False at the end of the section and at damage.
  bool Next(Record& record);
  // A sentence with the offset when the reading stopped early or an AUX area was cut; else empty.
  const std::string& damage() const { return damage_; }

 private:
  bool ReadDataBehind(Record& record);

  Bytes file_;
  uint64_t at_;
  uint64_t end_;
  ByteOrder order_;
  std::string damage_;
};

}  // namespace flowback::perf
