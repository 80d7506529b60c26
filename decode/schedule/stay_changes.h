// SPDX-License-Identifier: MIT
// Where in a stream one thread's trace ends and the next one's begins.
#pragma once

#include <vector>

#include "decode/schedule/resume_evidence.h"
#include "flowback/decode/schedule.h"
#include "flowback/decode/trace_source.h"
#include "flowback/model/machine.h"
#include "flowback/model/recording.h"

namespace flowback {

struct StayChanges {
  std::vector<StayChange> changes;  // by offset
  SwitchPlaces places;              // of the schedule's stays; empty where there is no choice
  bool in_doubt = false;            // for some switch more than one place was left, or none
};

// There is one change for each stay that has trace. Where several threads had stays, a stream
// without times, or whose times can't be converted, belongs to nobody. Where the times leave
// several places for a switch, the trace between those places is nobody's, too, and
// `schedule.between` gets a stay for it. `schedule` must outlive the result.
StayChanges FindStayChanges(const Stream& stream, const TraceSource& source,
                            const TimeConversion& time, Schedule& schedule);
// The same once more, now that the flow's addresses are known. `schedule` is the stream's.
StayChanges FindStayChanges(const SharedStream& stream, Schedule& schedule,
                            const ResumeEvidence& evidence);

}  // namespace flowback
