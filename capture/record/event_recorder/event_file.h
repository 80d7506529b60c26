// SPDX-License-Identifier: MIT
// perf.data as the kernel's records make it: they go into the file as they are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "capture/record/events/event_ring.h"
#include "capture/record/output/output_file.h"
#include "capture/record/output/recording_sink.h"
#include "capture/record/perf_data/perf_data_header.h"

namespace flowback::record {

// Facts for the header.
struct EventFileFacts {
  std::string recorder;
  std::string cpu;    // "AMD EPYC"
  std::string cpuid;  // "AuthenticAMD,25,17,1"
  std::vector<std::string> command_line;
  std::vector<PmuNumber> pmus;
  std::vector<HeaderFeature> more;
};

// A file, or pipe mode. The header's data size is kept true, so that what was written can be read
// should the recorder be killed.
class EventFile {
 public:
  // Errors: kPermission, kSystem.
  static Result<EventFile> Create(const RecordOptions& options, RecordedEvents events,
                                  EventFileFacts facts);

  // A record of our own.
  Status Add(Bytes record) { return file_.Write(record); }
  // The kernel's.
  Status AddRecords(const RingPart& records);
  // AUX data, which begins at `offset` of all that the stream has had.
  Status AddTrace(const RecordedStream& stream, const RingPart& trace, uint64_t offset);
  // All buffers were emptied once: what comes later is not older than what the round before had.
  Status EndRound();
  // What the program named, for the end of the file.
  void SetRegions(std::vector<NamedRegion> regions) { regions_ = std::move(regions); }
  // Sets how the command ended, also for the header.
  void SetEnds(std::vector<ProcessEnd> ends) { ends_ = std::move(ends); }
  Status Finish();

  uint64_t size() const { return file_.size(); }

 private:
  EventFile(OutputFile file, RecordedEvents events, EventFileFacts facts, bool pipe)
      : file_(std::move(file)), events_(std::move(events)), facts_(std::move(facts)), pipe_(pipe) {}
  Status WriteHeader();
  Status TellDataSize();
  Status WriteLast();
  Status WriteFeatures();
  std::vector<HeaderFeature> Features() const;

  OutputFile file_;
  RecordedEvents events_;
  EventFileFacts facts_;
  bool pipe_;
  uint64_t data_offset_ = 0;
  std::vector<TraceIndexEntry> trace_index_;
  std::vector<NamedRegion> regions_;
  std::vector<ProcessEnd> ends_;
};

}  // namespace flowback::record
