// SPDX-License-Identifier: MIT
// AUXTRACE records become streams.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "capture/formats/perf_data/perf_aux_buffer.h"
#include "capture/formats/perf_records/perf_record_reader.h"
#include "flowback/model/recording.h"

namespace flowback::perf {

// Collects the parts of every AUX buffer while the file is read, then joins them.
class StreamCollector {
 public:
  // The records that follow are of another file than the recording's own.
  void BeginFile(const std::string& name);
  // AUXTRACE and AUX records in the file's order. REQUIRES: `record` as RecordReader gives it.
  void AddData(const Record& record);
  void AddRecord(const AuxRecord& record, uint64_t file_offset);
  // A sample's AUX data; with a CPU it is the CPU's trace, else the thread's. `record_offset` is of
  // the SAMPLE record, `file_offset` of the data.
  struct SampleOwner {
    uint64_t time = 0;
    int32_t tid = -1;
    int32_t cpu = -1;
  };
  void AddSample(const SampleOwner& owner, Bytes data, uint64_t record_offset,
                 uint64_t file_offset);
  bool empty() const { return buffers_.empty(); }
  // The buffers were written round and round and copied now and then.
  void SetSnapshots() { snapshots_ = true; }

  // Sets PtConfig::tsc_reference from the records, and appends the streams to recording.streams, by
  // the buffers' index. Streams of buffers written in several parts have Stream::joined. REQUIRES:
  // recording.sideband is complete.
  void Finish(Recording& recording) &&;

 private:
  AuxPlace At(uint64_t offset) const;
  static bool EndsPart(const std::vector<AuxEntry>& records, const AuxPart& part);
  void PlaceRemainingRecords();
  bool IsSnapshots(const AuxBuffer& buffer) const;
  static void RemoveRepeated(AuxBuffer& buffer);
  static void AddSnapshotGaps(const AuxBuffer& buffer, Stream& stream);
  static void TrimPadding(AuxBuffer& buffer);
  static void RemoveSaidTwice(AuxBuffer& buffer);
  AuxBuffer& BufferOf(uint32_t index, int32_t tid, int32_t cpu, const AuxPlace& place);
  static Stream Join(AuxBuffer& buffer, Recording& recording);
  static void AddSeamGaps(const AuxBuffer& buffer, Stream& stream);
  static void AddRecordGaps(const AuxBuffer& buffer, Stream& stream);
  uint64_t MiddleReference();
  static uint64_t StreamPosition(const AuxBuffer& buffer, uint64_t aux_position);

  bool snapshots_ = false;
  std::deque<std::string> files_;          // a deque: its elements stay where they are
  std::map<uint32_t, AuxBuffer> buffers_;  // by AUXTRACE's idx, then those of samples
  std::map<std::pair<int32_t, int32_t>, uint32_t> sample_buffers_;  // by CPU, or by thread
  // Those whose records contradict themselves: index, thread, CPU.
  std::map<std::tuple<uint32_t, int32_t, int32_t>, uint32_t> doubtful_;
  AuxContradictions owners_;
  std::vector<uint64_t> references_;  // of the AUXTRACE records; without zeros
  std::vector<AuxEntry> pending_;     // since the last AUXTRACE
  std::vector<AuxEntry> unplaced_;    // buffer not known from the order in the file
};

}  // namespace flowback::perf
