// SPDX-License-Identifier: MIT
// Kernel records become the model's sideband records.
#pragma once

#include <optional>
#include <vector>

#include "capture/formats/perf_record_reader.h"
#include "capture/formats/perf_sample_id.h"
#include "flowback/model/recording.h"

namespace flowback::perf {

// Whether records of this type (perf_layout.h's RecordType) become sideband.
bool IsSideband(uint32_t type);

// Empty for records that are no sideband and for those too short to hold their fields.
std::optional<SidebandRecord> ToSideband(const Record& record, const SampleId& id);

// By time; records of one time, and those without time among themselves, keep their order. Those
// without time describe what existed before the trace and come first.
void SortByTime(std::vector<SidebandRecord>& sideband);

}  // namespace flowback::perf
