// SPDX-License-Identifier: MIT
// The order in which one thread's trace on several CPUs executed, without records.
#pragma once

#include <deque>
#include <vector>

#include "flowback/decode/decoder.h"
#include "flowback/decode/schedule.h"
#include "flowback/decode/trace_source.h"
#include "flowback/model/recording.h"

namespace flowback {

// For each stream whose whole trace is one thread's, while other streams have trace of that thread,
// too: divides these streams into parts and puts the parts in the order of time. That makes the
// `changes` of the inputs and the `moves` of the schedules, which are both by stream index. The
// order of streams without times is not known: such a stream becomes nobody's, and its
// schedule.nobody names the thread as first_tid and last_tid. This reads the streams.
void OrderMoves(const Recording& recording, const TraceSource& source,
                std::deque<Schedule>& schedules, std::vector<DecodeInput>& inputs);

}  // namespace flowback
