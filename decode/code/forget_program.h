// SPDX-License-Identifier: MIT
// The code of processes whose program is unknown from some time on.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "flowback/decode/recording_code.h"
#include "flowback/model/recording.h"

namespace flowback {

// When a process went on to another program without a record. Perf nanoseconds.
struct LostProgram {
  int32_t pid = -1;
  uint64_t earliest = 0;
  uint64_t latest = 0;  // records of mappings behind it are the new program's
};

// By pid, the code of these processes, and of the children that they have by fork, without what the
// program before had mapped: each up to the next program in the records.
//
//   old program | lost program: what is mapped behind `latest` | program in the records
//               earliest
std::map<int32_t, RecordingCode::History> ForgetPrograms(const Recording& recording,
                                                         const RecordingCode& code,
                                                         const std::vector<LostProgram>& lost);

}  // namespace flowback
