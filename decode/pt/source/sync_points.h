// SPDX-License-Identifier: MIT
// Where decoding of a stream may begin, and what the time is there.
#pragma once

#include <cstdint>

#include "base/recorded/pt_config.h"
#include "flowback/decode/trace_source.h"
#include "flowback/model/machine.h"
#include "flowback/model/recording.h"

namespace flowback::pt {

// As TraceSource has them.
uint64_t SyncPointBefore(const Stream& stream, const CpuId& cpu, uint64_t offset);
uint64_t FirstTime(const Stream& stream, const PtConfig& config, StreamRange range);
TscInterval Times(const Stream& stream, const PtConfig& config);

}  // namespace flowback::pt
