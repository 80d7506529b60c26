// SPDX-License-Identifier: MIT
// A process's end, as capture/formats/perf_records/process_end.h reads it.
#pragma once

#include "capture/formats/perf_records/process_end.h"
#include "capture/record/perf_data/feature_buffer.h"

namespace flowback::record {

inline void AppendProcessEnd(const ProcessEnd& end, FeatureBuffer& out) {
  out.U32(static_cast<uint32_t>(end.pid));
  out.U32(static_cast<uint32_t>(end.tid));
  out.U64(end.time);
  out.U64(end.ip.value_or(0));
  out.U64(end.fault_address.value_or(0));
  out.U64(end.file_offset);
  out.U32(static_cast<uint32_t>(end.wait_status));
  out.U32((end.ip ? kEndKnowsIp : 0) | (end.fault_address ? kEndKnowsFault : 0));
  for (const std::string* text : {&end.comm, &end.file, &end.core}) out.String(*text);
}

}  // namespace flowback::record
