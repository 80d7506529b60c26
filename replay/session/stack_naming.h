// SPDX-License-Identifier: MIT
// Names the frames of a session's call stacks.
#pragma once

#include <string>

#include "flowback/session.h"
#include "replay/calls/stack_names.h"

namespace flowback {

// Returns names that belong to the session, which must outlive them.
inline StackNames StackNamesOf(Session& session) {
  return {session.symbols(), session.lines(),
          [&session](const std::string& file) { return session.RecordedPath(file); }};
}

}  // namespace flowback
