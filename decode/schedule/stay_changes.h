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
  SwitchPlaces places;              // of the schedule's stays; of none when there is no choice
  bool in_doubt = false;            // more than one place was left for a switch, or none
};

// One change for each stay that has trace. A stream without time, or one whose times can't be
// converted, belongs to nobody when there are several stays. Where the times leave several places
// for a switch, what lies between them is nobody's, too: `schedule.between` gets a stay for it.
// `schedule` must outlive the result.
StayChanges FindStayChanges(const Stream& stream, const TraceSource& source,
                            const TimeConversion& time, Schedule& schedule);
// The same once more, with what the flow's addresses say. `schedule` is the stream's.
StayChanges FindStayChanges(const SharedStream& stream, Schedule& schedule,
                            const ResumeEvidence& evidence);

}  // namespace flowback
