// SPDX-License-Identifier: MIT
// Which CPU or thread wrote each raw stream, where sideband stands beside it.
#pragma once

#include "flowback/model/recording.h"

namespace flowback {

// Corrects the owners that AssignOwners gave raw streams, in case the kernel's switch records name
// several threads. Gives each stream the CPU whose records belong to it, so that the schedule of
// that CPU divides the stream among the threads. A stream whose CPU the records do not name loses
// its owner, with a warning. REQUIRES: all streams are raw files, and the sideband is complete.
void AssignRawStreams(Recording& recording);

}  // namespace flowback
