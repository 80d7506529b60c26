// SPDX-License-Identifier: MIT
// Where in a stream one thread's trace ends and the next one's begins.
#pragma once

#include <vector>

#include "flowback/decode/schedule.h"
#include "flowback/model/machine.h"
#include "flowback/model/recording.h"

namespace flowback {

// One change for each stay that has trace, by offset. A stream without time, or one whose times
// can't be converted, belongs to nobody when there are several stays. Where the times leave several
// places for a switch, what lies between them is nobody's, too: `schedule.between` gets a stay for
// it. `schedule` must outlive the result.
std::vector<StayChange> FindStayChanges(const Stream& stream, const PtConfig& config,
                                        Schedule& schedule);

}  // namespace flowback
