// SPDX-License-Identifier: MIT
// In which order one thread's trace on several CPUs executed, where no record tells.
#pragma once

#include <deque>
#include <vector>

#include "flowback/decode/decoder.h"
#include "flowback/decode/schedule.h"
#include "flowback/decode/trace_source.h"
#include "flowback/model/recording.h"

namespace flowback {

// Divides the streams that are all of one thread's, and not the only ones with its trace, into
// parts in the order of time: `changes` of the inputs and `moves` of the schedules, both by stream
// index. Of streams without time the order is not known: they become nobody's, with
// schedule.nobody's first_tid and last_tid the thread. Reads the streams.
void OrderMoves(const Recording& recording, const TraceSource& source,
                std::deque<Schedule>& schedules, std::vector<DecodeInput>& inputs);

}  // namespace flowback
