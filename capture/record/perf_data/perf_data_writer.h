// SPDX-License-Identifier: MIT
// Writes perf.data as perf 6.1 does for `perf record`, with buffers per thread or per CPU: a file,
// or pipe mode, which needs no seeking.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "capture/record/generate/trace_clock.h"
#include "capture/record/output/code_file.h"
#include "capture/record/output/output_file.h"
#include "capture/record/output/recording_sink.h"
#include "capture/record/perf_data/branch_samples.h"
#include "capture/record/perf_data/little_endian_buffer.h"
#include "capture/record/perf_data/perf_data_events.h"
#include "capture/record/perf_data/perf_data_header.h"
#include "capture/record/watch/watched_functions.h"

namespace flowback::record {

// Facts for the file's header.
struct PerfHeaderFacts {
  std::string recorder;                   // perf's VERSION feature, but for the watched functions
  WatchedFunctions watched;               // the functions between which is recorded
  std::string cpu;                        // which one that is, in words
  std::string cpuid;                      // CPU identity that decoders take errata from
  std::string architecture;               // of the programs, as uname has it; empty: this one
  std::vector<std::string> command_line;  // of the recorder
};

// Everything goes to the file as it comes, twice a second at least, and the header's data size with
// it. Should the recorder be killed, the header's features are missing; perf and flowback read such
// a file up to its last whole record, and find recorder and processor in HEADER_FEATURE records at
// the data's beginning.
class PerfDataWriter : public RecordingSink {
 public:
  // Errors: kPermission or kSystem when the file can't be created.
  static Result<std::unique_ptr<PerfDataWriter>> Create(const RecordOptions& options,
                                                        const TraceClock& clock,
                                                        PerfHeaderFacts facts);

  Status AddStream(const RecordedStream& stream) override;
  Status AddSideband(const SidebandRecord& record) override;
  Status AddTrace(const RecordedStream& stream, Bytes bytes, uint64_t tsc) override;
  Status AddSnapshot(const RecordedStream& stream, Bytes bytes, uint64_t offset,
                     uint64_t tsc) override;
  // Into a file of its own, OUTPUT.code, made when the first comes, which the records name as they
  // name any other file of code. Code without a time has no place here.
  Status AddCode(const MemoryCode& code) override;
  Status Finish(const RecordSummary& summary) override;
  uint64_t file_size() const override { return file_.size(); }

 private:
  PerfDataWriter(OutputFile file, PerfHeaderFacts facts, const TimeConversion& conversion,
                 const RecordOptions& options)
      : file_(std::move(file)),
        facts_(std::move(facts)),
        conversion_(conversion),
        per_cpu_(options.streams.per_cpu),
        branches_(options.streams.branch_depth.has_value()),
        pipe_(options.files.pipe >= 0),
        events_{
            {TraceAttributes(options), branches_ ? "branches:u" : "intel_pt//u", {kTraceEventId}},
            {SidebandAttributes(options), "dummy:u", {kSidebandEventId}}} {}

  Status WritePreamble(const RecordOptions& options, const TraceClock& clock);
  Status WriteSideband(const SidebandRecord& record);
  Status TellDataSize();
  Status WriteLast(const RecordSummary& summary);
  Status WriteFeatures(const RecordSummary& summary);
  // The recorder and the processor; and where the watched functions are, as far as known.
  std::vector<HeaderFeature> Identity(const RecordSummary& summary) const;
  Status WriteTrace(const RecordedStream& stream, Bytes bytes, uint64_t offset, uint64_t flags,
                    uint64_t tsc);
  Status WriteSamples(const RecordedStream& stream, Bytes bytes);
  void NoteTime(uint64_t time);
  void NoteBuildId(const MmapRecord& record);

  OutputFile file_;
  std::optional<CodeFile> code_file_;
  PerfHeaderFacts facts_;
  TimeConversion conversion_;
  bool per_cpu_;
  bool branches_;  // the trace is of those: samples
  bool pipe_;
  RecordedEvents events_;
  std::vector<uint64_t> stream_sizes_;         // by stream index
  std::map<uint32_t, BranchSamples> samples_;  // the same
  std::vector<TraceIndexEntry> trace_index_;
  std::vector<MmapRecord> build_ids_;  // one per path and build-id
  std::optional<ClockMoment> moment_;  // none of a clock that counts instructions
  uint64_t first_time_ = 0;
  uint64_t last_time_ = 0;
  uint64_t data_offset_ = 0;
};

}  // namespace flowback::record
