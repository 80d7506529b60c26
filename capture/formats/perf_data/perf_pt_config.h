// SPDX-License-Identifier: MIT
// The settings of Intel PT, from records of perf.data.
#pragma once

#include <vector>

#include "base/recorded/pt_config.h"
#include "capture/formats/perf_records/perf_header.h"
#include "capture/formats/perf_records/perf_record_reader.h"
#include "flowback/model/machine.h"

namespace flowback::perf {

// One PERF_RECORD_AUXTRACE_INFO: which hardware wrote the AUX data, and an array of numbers that
// only this hardware's decoder understands. Newer perfs append to the array; older ones have less.
struct AuxtraceInfo {
  uint32_t type = 0;
  std::vector<uint64_t> values;
  std::string filter;  // Intel PT's address filter, as perf's --filter takes it

  bool is_intel_pt() const { return type == kAuxtraceIntelPt; }
  // The value at `index`, 0 where the array ends before.
  uint64_t At(size_t index) const { return index < values.size() ? values[index] : 0; }
};

AuxtraceInfo ParseAuxtraceInfo(const Record& record);

// Warns and leaves out what can't be true. The event is the first one whose PMU is the info's.
void ApplyPtInfo(const AuxtraceInfo& info, const std::vector<EventAttr>& attrs,
                 Recording& recording);

// PERF_RECORD_TIME_CONV, for recordings whose AUXTRACE_INFO has no time conversion.
void ApplyTimeConv(const Record& record, Recording& recording);

// The ranges of "filter START/SIZE" terms with absolute addresses; a term that names a file or a
// symbol has no address before the file is mapped and is left out.
std::vector<AddressRange> ParseFilterRanges(const std::string& filter);

}  // namespace flowback::perf
