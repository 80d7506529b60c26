// SPDX-License-Identifier: MIT
// Programs that began where records were lost.
//
// A process that goes on to another program, by execve, has none of its old code any more. The
// records that say so may be among those that the kernel had no room for (PERF_RECORD_LOST); then
// the old code would be taken for what runs. But the trace shows it: a thread makes that system
// call, and goes on elsewhere than behind it. Or it runs code without a record: then records of
// this process's mappings are missing, and behind them any other may be.
//
//   CPU's records  ... a record |  lost  | LOST, another record ...
//   CPU's trace    ... execve -> the flow goes on elsewhere ...    -> the process's code is unknown
//
// From then on only code in later records of mappings is known; after the next recorded execve all
// code is known again.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "flowback/decode/decoder.h"
#include "flowback/decode/recording_code.h"
#include "flowback/decode/trace_source.h"
#include "flowback/model/recording.h"

namespace flowback {

// The code of the processes to which that happened, by pid, without what may be another program's.
// `inputs` are the streams' inputs, by index. This decodes the stretches of streams in whose time
// records of the CPU were lost, and nothing where no records were lost.
std::map<int32_t, RecordingCode::History> FindLostPrograms(const Recording& recording,
                                                           const RecordingCode& code,
                                                           const TraceSource& source,
                                                           const std::vector<DecodeInput>& inputs);

}  // namespace flowback
