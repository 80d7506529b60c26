// SPDX-License-Identifier: MIT
// What a perf.data file says of one AUX buffer, and where that contradicts itself.
#pragma once

#include <string>
#include <vector>

#include "flowback/base/bytes.h"
#include "flowback/model/recording.h"

namespace flowback::perf {

// Where a record stands: "0x2b70", or "0x2b70 of FILE" in a recording of several files.
struct AuxPlace {
  uint64_t offset = 0;
  const std::string* file = nullptr;  // outlives the place; null: the recording's own

  std::string Text() const;
};

// The data of one AUXTRACE record.
struct AuxPart {
  uint64_t aux_offset = 0;  // position in all that the buffer ever got
  Bytes bytes;
  uint64_t file_offset = 0;
  uint64_t stream_offset = 0;  // where it stands in the stream, once joined
  Bytes snapshot{};            // all of `bytes`, before what an earlier one has was taken off
  bool continues = true;       // of a snapshot: nothing is missing before it
  AuxPlace place{};            // of the record
  uint64_t time = 0;           // of a sample
  uint64_t told_offset = 0;    // what the record says; `aux_offset` is what can be true
  uint64_t zeros = 0;          // Record::aux_zeros
  bool cut = false;            // the record promises more than the section has
  bool misplaced = false;      // the record lies about its offset; the file's order is kept

  uint64_t aux_end() const { return aux_offset + bytes.size(); }
};

// The kernel's statement about the buffer: an AUX record.
struct AuxEntry {
  AuxRecord told;
  AuxPlace place;

  // The end of the data in AUX offsets; 0 for a record whose end wraps round.
  uint64_t end() const { return told.size <= ~told.offset ? told.offset + told.size : 0; }
};

struct AuxBuffer {
  int32_t tid = -1;
  int32_t cpu = -1;
  std::vector<AuxPart> parts;  // in the file's order, until they are sorted
  std::vector<AuxEntry> records;
  uint64_t repeated_bytes = 0;  // that several snapshots have
  bool sampled = false;         // the parts are of samples: small snapshots

  // Where the data ends by the kernel's word; 0: it said nothing.
  uint64_t RecordedEnd() const;
};

// Contradictions of one kind, represented by the first.
class AuxContradictions {
 public:
  void Add(std::string text);
  void Report(Recording& recording) const;

 private:
  uint64_t count_ = 0;
  std::string first_;
};

// Takes out of buffers what their records and their data contradict.
class AuxBufferCheck {
 public:
  // REQUIRES: the buffer is not of snapshots, whose offsets say nothing, and has a part.
  void Check(AuxBuffer& buffer);
  void Report(Recording& recording) const;

 private:
  void CheckRecords(AuxBuffer& buffer);
  void CheckOffsets(AuxBuffer& buffer);
  void BoundCutPieces(AuxBuffer& buffer);

  AuxContradictions records_;
  AuxContradictions offsets_;
  AuxContradictions sizes_;
};

}  // namespace flowback::perf
