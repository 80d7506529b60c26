// SPDX-License-Identifier: MIT
// The letters behind an event: `:u`, `/pp`.
#pragma once

#include <string_view>

#include "capture/kernel/wanted_event.h"
#include "flowback/base/error.h"

namespace flowback::kernel {

// Whether perf has a modifier of that letter.
bool IsModifier(char letter);

// What the letters behind an event, or behind its group, ask for. The group's come on top of its
// own. Errors: kUsage, one sentence without the event's name.
Status ApplyModifiers(std::string_view letters, bool of_group, WantedEvent& event);

}  // namespace flowback::kernel
