// SPDX-License-Identifier: MIT
// The bits of the time-stamp counter that TSC packets lack.
#pragma once

#include "base/recorded/pt_config.h"
#include "flowback/model/recording.h"

namespace flowback {

// Makes config.tsc_reference, which comes from AUXTRACE records (0: none), agree with the other
// records' times. Finds a reference if AUXTRACE records name none. Reads no more than the beginning
// of each stream. Adds a warning where they contradict each other.
void ChooseTscReference(Recording& recording, PtConfig& config);

}  // namespace flowback
