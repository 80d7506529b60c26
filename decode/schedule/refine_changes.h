// SPDX-License-Identifier: MIT
// Second look at the switches for which the times leave several places: at the flow's addresses.
#pragma once

#include <deque>
#include <vector>

#include "decode/schedule/resume_evidence.h"
#include "flowback/decode/decoder.h"
#include "flowback/decode/schedule.h"
#include "flowback/decode/trace_source.h"
#include "flowback/model/recording.h"

namespace flowback {

// Makes the `changes` of the inputs better where it can, and the schedules' `between` with them.
// All by stream index; `places` as FindStayChanges told them. Decodes the streams concerned once
// or twice. Call it where a switch is in doubt; it does nothing where switch records may be
// missing, and for CPUs whose trace is in several buffers: where a thread stopped in the one, the
// other may tell more.
void RefineChanges(const Recording& recording, const TraceSource& source,
                   std::deque<Schedule>& schedules, std::vector<DecodeInput>& inputs,
                   const std::vector<SwitchPlaces>& places);

}  // namespace flowback
