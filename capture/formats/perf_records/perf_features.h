// SPDX-License-Identifier: MIT
// The optional features of a perf.data header: machine, command line, build-ids.
#pragma once

#include <string>

#include "capture/formats/perf_records/perf_header.h"
#include "capture/formats/perf_records/perf_record_reader.h"
#include "flowback/model/recording.h"

namespace flowback::perf {

// The unreadable features. A cut costs many at once, and one sentence reports them.
class FeatureDamage {
 public:
  void Add(const char* name, const PerfFileSection& section);
  void Report(Recording& recording) const;

 private:
  std::string names_;
  uint64_t count_ = 0;
  uint64_t first_ = 0;  // the lowest offset in the file
};

// Fills recording.machine, pt.cpu, clock, build_ids and events. A feature that is cut or lies is
// left out with a warning. Returns the feature TRACING_DATA, the tracepoints' formats.
Bytes ReadFeatures(Bytes file, const FileHeader& header, Recording& recording);

// The same for one that comes as a HEADER_FEATURE record.
void ReadFeatureRecord(const Record& record, Recording& recording, FeatureDamage& damage);

// A HEADER_BUILD_ID record of a stream in pipe mode. False when it is too short.
bool ReadBuildIdRecord(const Record& record, Recording& recording);

}  // namespace flowback::perf
