// SPDX-License-Identifier: MIT
// The common part of all containers of perf records: records go in, a Recording comes out.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/mapped_file.h"
#include "capture/formats/branches/perf_branch_stacks.h"
#include "capture/formats/input/samples.h"
#include "capture/formats/input/time_order.h"
#include "capture/formats/perf_data/perf_auxtrace.h"
#include "capture/formats/perf_data/perf_pt_config.h"
#include "capture/formats/perf_records/perf_counters.h"
#include "capture/formats/perf_records/perf_header.h"
#include "capture/formats/perf_records/perf_record_reader.h"
#include "capture/formats/perf_records/perf_sample_id.h"
#include "capture/formats/perf_records/perf_sched_switch.h"
#include "capture/formats/perf_records/record_decompressor.h"
#include "capture/formats/samples/perf_call_samples.h"
#include "capture/formats/samples/perf_event_samples.h"
#include "flowback/model/recording.h"

namespace flowback::perf {

// A part of a file that holds records.
struct RecordSection {
  std::string file;  // for messages
  Bytes bytes;       // of the whole file
  uint64_t begin = 0;
  uint64_t end = 0;
  const MappedFile* mapped = nullptr;  // whose bytes they are; null: no mapped file's

  RecordReader Records(ByteOrder order) const { return {bytes, begin, end, order, mapped}; }
};

class RecordingReader {
 public:
  // Keeps a reference to `recording`, whose path, machine and events are known already.
  RecordingReader(std::vector<EventAttr> attrs, ByteOrder order, Recording& recording);
  RecordingReader(const RecordingReader&) = delete;
  RecordingReader& operator=(const RecordingReader&) = delete;

  // The tracepoints' formats, from the header or a record.
  void UseTracingData(Bytes data);
  // The records' CPU if they do not name it: their file is of one CPU.
  void SetDefaultCpu(int32_t cpu) { default_cpu_ = cpu; }
  // Several files hold records of the same time: no end of a round is meant for all of them.
  void IgnoreRounds() { ignore_rounds_ = true; }

  // The streams are known from elsewhere: trace in the records' file is not looked at, and said so.
  void TakeSidebandOnly() { sideband_only_ = true; }

  // With one, Read passes it the samples of memory accesses and does nothing else.
  void VisitSamples(const SampleVisitor* visit) { visit_samples_ = visit; }

  // Damage becomes a warning, and what stands before it is kept. Errors: kUnreadable when
  // compressed records unpack to more than memory should be given for.
  Status Read(const RecordSection& section);

  // A record that is known from elsewhere.
  void Add(SidebandRecord record) { sideband_.Add(std::move(record)); }

  // Sorts the sideband, joins the streams and finds their owners.
  void Finish();

 private:
  void Take(const Record& record);
  void TakeSideband(const Record& record);
  void TakeSample(const Record& record);
  void TakePlace(const Sample& sample, const Record& record);
  void CountOfGuest(const Sample& sample);
  void TakeAccess(const Sample& sample, const Record& record);
  void TakeCounters(const Record& record);
  void TakeAuxSample(const Sample& sample, const Record& record);
  // False where nothing more may be read: recording_.refusal says why.
  bool Unpack(const Record& record, const RecordSection& section);
  std::optional<uint64_t> TakeUnpacked(Bytes unpacked, uint64_t offset);
  void EndCompression();
  void CountUnexpected(const Record& record);
  void CountMalformed(const Record& record);
  void CountLost(const SidebandRecord& record);
  void ReportLost();
  void Warn(std::string text, std::string remedy) {
    recording_.warnings.push_back({std::move(text), std::move(remedy)});
  }
  void ReportCounts();
  bool HasPtStreams();
  void ReadClock();
  void LookForSwitchEvents();

  std::vector<EventAttr> attrs_;
  ByteOrder order_;
  Recording& recording_;
  SampleIdParser ids_;
  SchedSwitch sched_switch_;
  bool has_switch_events_ = false;
  bool has_aux_samples_ = false;
  bool has_branch_stacks_ = false;
  bool has_call_samples_ = false;
  bool unpacking_ = false;  // records do not stay where they are
  std::string file_;        // whose records are read
  TimeOrder sideband_;
  StreamCollector streams_;
  std::optional<AuxtraceInfo> info_;
  std::optional<RecordDecompressor> decompressor_;
  uint64_t last_compressed_ = 0;     // offset of the last compressed record
  bool compression_broken_ = false;  // what follows can't be unpacked
  bool ignore_rounds_ = false;
  bool sideband_only_ = false;
  uint64_t unexpected_ = 0;       // records with trace where only sideband should be
  std::string first_unexpected_;  // where
  int32_t default_cpu_ = -1;
  std::map<std::string_view, uint64_t> counts_;
  BranchStackCollector branch_stacks_;
  CallSampleCollector call_samples_;
  CounterCollector counters_;
  EventSampleReader event_samples_;
  const SampleVisitor* visit_samples_ = nullptr;  // null: they are counted
  uint64_t accesses_ = 0;                         // samples that contain one
  uint64_t guest_samples_ = 0;                    // of guests' code
  uint64_t bad_ibs_ = 0;                          // samples of IBS without its registers
  uint64_t malformed_ = 0;                        // records too short for their fields
  uint64_t first_malformed_ = 0;
  uint64_t lost_samples_ = 0;        // as the kernel counted them
  std::string first_decoder_error_;  // of AUXTRACE_ERROR records
};

}  // namespace flowback::perf
