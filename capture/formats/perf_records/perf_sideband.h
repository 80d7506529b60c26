// SPDX-License-Identifier: MIT
// Kernel records become the model's sideband records.
#pragma once

#include <optional>
#include <vector>

#include "capture/formats/perf_records/perf_record_reader.h"
#include "capture/formats/perf_records/perf_sample_id.h"
#include "flowback/model/recording.h"

namespace flowback::perf {

// Whether each record of this type (perf_layout.h's RecordType) becomes one sideband record.
bool IsSideband(uint32_t type);

// Empty for records that are no sideband and for those too short to hold their fields.
std::optional<SidebandRecord> ToSideband(Record record, const SampleId& id);

// THREAD_MAP: the threads that the recorder was asked to trace, as many as the record holds.
std::vector<ThreadMapRecord> ParseThreadMap(const Record& record);

}  // namespace flowback::perf
