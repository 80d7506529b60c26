// SPDX-License-Identifier: MIT
// The optional features of a perf.data header: machine, command line, build-ids.
#pragma once

#include "capture/formats/perf_header.h"
#include "capture/formats/perf_record_reader.h"
#include "flowback/model/recording.h"

namespace flowback::perf {

// Fills recording.machine, pt.cpu, build_ids and events. A feature that is cut or lies is left out
// with a warning.
void ReadFeatures(Bytes file, const FileHeader& header, Recording& recording);
// The same for one feature that comes as a HEADER_FEATURE record.
void ReadFeatureRecord(Bytes file, const Record& record, Recording& recording);

}  // namespace flowback::perf
