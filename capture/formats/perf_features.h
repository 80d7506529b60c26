// SPDX-License-Identifier: MIT
// The optional features of a perf.data header: machine, command line, build-ids.
#pragma once

#include "capture/formats/perf_header.h"
#include "capture/formats/perf_record_reader.h"
#include "flowback/model/recording.h"

namespace flowback::perf {

// Fills recording.machine, pt.cpu, clock, build_ids and events. A feature that is cut or lies is
// left out with a warning. Returns the feature TRACING_DATA, the tracepoints' formats.
Bytes ReadFeatures(Bytes file, const FileHeader& header, Recording& recording);

// One feature, whose place in the file is `section`: `content` is what of it is there.
void ReadFeature(unsigned bit, Bytes content, const FileSection& section, ByteOrder order,
                 Recording& recording);

// The same for one that comes as a HEADER_FEATURE record.
void ReadFeatureRecord(const Record& record, Recording& recording);

// A HEADER_BUILD_ID record of a stream in pipe mode. False when it is too short.
bool ReadBuildIdRecord(const Record& record, Recording& recording);

}  // namespace flowback::perf
