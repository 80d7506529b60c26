// SPDX-License-Identifier: MIT
// Core dumps that the recorder noted.
#pragma once

#include <string>

#include "flowback/model/recording.h"

namespace flowback {

// Whether the file is a core dump of a process with that number.
bool IsCoreOf(const std::string& path, const ProcessEnd& end);

// Whether the process' core dump is still where the recorder saw it: a later process may have
// written another one to the place.
bool HasNotedCore(const ProcessEnd& end);

}  // namespace flowback
