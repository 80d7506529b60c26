// SPDX-License-Identifier: MIT
// Sideband as perf.data's records, but for the fields that sample_id_all adds.
#pragma once

#include "capture/record/perf_data/perf_record_buffer.h"
#include "flowback/model/recording.h"

namespace flowback::record {

RecordBuffer EncodeSideband(const MmapRecord& map);
RecordBuffer EncodeSideband(const CommRecord& comm);
RecordBuffer EncodeSideband(const ForkRecord& fork);
RecordBuffer EncodeSideband(const ExitRecord& exit);
RecordBuffer EncodeSideband(const ItraceStartRecord& start);
RecordBuffer EncodeSideband(const AuxRecord& aux);
RecordBuffer EncodeSideband(const SwitchRecord& change);
RecordBuffer EncodeSideband(const LostRecord& lost);

}  // namespace flowback::record
