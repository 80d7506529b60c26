// SPDX-License-Identifier: MIT
// Core dumps that the recorder noted.
#pragma once

#include "flowback/model/recording.h"

namespace flowback {

// Whether the process' core dump is still where the recorder saw it: a later process may have
// written another one to the place.
bool HasNotedCore(const ProcessEnd& end);

}  // namespace flowback
