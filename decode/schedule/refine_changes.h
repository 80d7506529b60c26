// SPDX-License-Identifier: MIT
// The times leave several places for some switches. This takes a second look at those: the flow's
// addresses may show where the switch was.
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
// All arguments are by stream index, and `places` come from FindStayChanges. Call it where a switch
// is in doubt: it decodes the streams concerned once or twice. It does nothing where switch records
// may be missing, nor for CPUs whose trace lies in several buffers, because where a thread stopped
// in one buffer, another one may continue it.
void RefineChanges(const Recording& recording, const TraceSource& source,
                   std::deque<Schedule>& schedules, std::vector<DecodeInput>& inputs,
                   const std::vector<SwitchPlaces>& places);

}  // namespace flowback
