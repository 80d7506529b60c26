// SPDX-License-Identifier: MIT
// Samples of AMD's Instruction-Based Sampling, as the kernel puts the unit's registers into
// PERF_SAMPLE_RAW: which features the unit has, then the registers, 64 bits each.
#pragma once

#include "base/recorded/event_sample.h"
#include "capture/formats/input/field_reader.h"
#include "flowback/base/bytes.h"
#include "flowback/model/machine.h"

namespace flowback::perf {

enum class IbsUnit : uint8_t { kNone, kOp, kFetch };

// Fills in the registers' facts. Facts from perf's own fields stay where the registers have none.
// False, and `sample` as it was: too short, or the registers say that they hold no sample. `cpu`
// selects the errata.
bool ApplyIbs(IbsUnit unit, Bytes raw, ByteOrder order, const CpuId& cpu, EventSample& sample);

}  // namespace flowback::perf
