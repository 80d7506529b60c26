// SPDX-License-Identifier: MIT
// The places in a stream where the thread can have changed, and when that was.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "flowback/base/joined_bytes.h"
#include "flowback/decode/trace_source.h"
#include "flowback/model/machine.h"
#include "flowback/model/recording.h"

namespace flowback::pt {

// TraceSource::VisitPauses, with the times that config.time makes.
bool VisitPauses(StreamWindow stream, const std::vector<StreamGap>& gaps, const PtConfig& config,
                 const std::function<bool(const Pause&)>& visit);

}  // namespace flowback::pt
