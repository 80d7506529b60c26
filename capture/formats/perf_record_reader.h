// SPDX-License-Identifier: MIT
// The records of a perf.data file's data section, one after the other, whatever their sizes say.
#pragma once

#include <string>

#include "flowback/base/bytes.h"

namespace flowback::perf {

// Points into the file.
struct Record {
  uint32_t type = 0;
  uint16_t misc = 0;
  uint64_t offset = 0;  // in the file
  Bytes body;           // after the 8-byte header
  Bytes aux;  // AUXTRACE: the trace data that follows the record, cut at the section's end
  uint64_t aux_offset = 0;
};

// Stops at the first record that can't be: what was read before stays valid.
class RecordReader {
 public:
  // Reads [begin, end) of `file`. REQUIRES: begin <= end <= file.size().
  RecordReader(Bytes file, uint64_t begin, uint64_t end) : file_(file), at_(begin), end_(end) {}

  // False at the end of the section and at damage.
  bool Next(Record& record);
  // A sentence with the offset when the reading stopped early or an AUX area was cut; else empty.
  const std::string& damage() const { return damage_; }

 private:
  bool ReadAuxData(Record& record);

  Bytes file_;
  uint64_t at_;
  uint64_t end_;
  std::string damage_;
};

}  // namespace flowback::perf
