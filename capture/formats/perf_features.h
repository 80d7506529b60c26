// SPDX-License-Identifier: MIT
// The optional features of a perf.data header: machine, command line, build-ids.
#pragma once

#include "capture/formats/perf_header.h"
#include "flowback/model/recording.h"

namespace flowback::perf {

// Fills recording.machine, pt.cpu, build_ids and events. A feature that is cut or lies is left out
// with a warning.
void ReadFeatures(Bytes file, const FileHeader& header, Recording& recording);

}  // namespace flowback::perf
