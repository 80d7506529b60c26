// SPDX-License-Identifier: MIT
// The thread or CPU of a stream, as far as the sideband proves it.
#pragma once

#include "flowback/model/recording.h"

namespace flowback {

// Sets a per-thread stream's pid. Sets a per-CPU stream's pid and tid when the whole sideband names
// just one process or just one thread; otherwise they stay -1, for the schedule to find out.
void AssignOwners(Recording& recording);

}  // namespace flowback
