// SPDX-License-Identifier: MIT
// AUXTRACE records become streams.
#pragma once

#include <map>
#include <vector>

#include "capture/formats/perf_record_reader.h"
#include "flowback/model/recording.h"

namespace flowback::perf {

// Collects the pieces of every AUX buffer while the file is read, then joins them.
class StreamCollector {
 public:
  // AUXTRACE and AUX records in the file's order. REQUIRES: `record` as RecordReader gives it.
  void AddData(const Record& record);
  void AddRecord(const AuxRecord& record);
  bool empty() const { return buffers_.empty(); }
  // The buffers were written round and round and copied now and then.
  void SetSnapshots() { snapshots_ = true; }

  // Appends the streams to recording.streams, by the buffers' index. Copies only the bytes of
  // buffers that were written in several pieces. REQUIRES: recording.sideband is complete.
  void Finish(Recording& recording) &&;

 private:
  struct Piece {
    uint64_t aux_offset = 0;  // position in all that the buffer ever got
    Bytes bytes;
    uint64_t file_offset = 0;
    uint64_t stream_offset = 0;  // where it stands in the stream, once joined
    Bytes snapshot{};            // all of `bytes`, before what an earlier one has was taken off
    bool continues = true;       // of a snapshot: nothing is missing before it

    uint64_t aux_end() const { return aux_offset + bytes.size(); }
  };
  struct Buffer {
    int32_t tid = -1;
    int32_t cpu = -1;
    std::vector<Piece> pieces;
    std::vector<AuxRecord> records;  // what the kernel said of the buffer
    uint64_t repeated_bytes = 0;     // that several snapshots have
  };

  static bool EndsPiece(const std::vector<AuxRecord>& records, const Piece& piece);
  void PlaceRemainingRecords();
  void WarnOfFlags(std::vector<Warning>& warnings) const;
  bool IsSnapshots(const Buffer& buffer) const;
  static void RemoveRepeated(Buffer& buffer);
  static void AddSnapshotGaps(const Buffer& buffer, Stream& stream);
  static uint64_t RecordedEnd(const Buffer& buffer);
  static void TrimPadding(Buffer& buffer);
  static Stream Join(Buffer& buffer, Recording& recording);
  static void AddSeamGaps(const Buffer& buffer, Stream& stream);
  static void AddRecordGaps(const Buffer& buffer, Stream& stream);
  static uint64_t StreamPosition(const Buffer& buffer, uint64_t aux_position);

  bool snapshots_ = false;
  std::map<uint32_t, Buffer> buffers_;  // by AUXTRACE's idx
  std::vector<AuxRecord> pending_;      // since the last AUXTRACE
  std::vector<AuxRecord> unplaced_;     // buffer not known from the order in the file
};

}  // namespace flowback::perf
