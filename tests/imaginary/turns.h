// SPDX-License-Identifier: MIT
// An analysis that nobody needs: how often each thread's control turned back.
#pragma once

#include <cstdint>
#include <vector>

#include "flowback/base/error.h"
#include "flowback/session.h"

namespace flowback {

// Taken branches of one thread.
struct ThreadTurns {
  const StreamOwner* thread = nullptr;
  uint64_t back = 0;  // to the branch itself or to a lower address
  uint64_t ahead = 0;
};

// Plays the selected threads. The session's losses get those that are met. Errors: as
// Session::Play's.
Result<std::vector<ThreadTurns>> CountTurns(Session& session);

// What writers of turns get.
struct TurnsView {
  const std::vector<ThreadTurns>& threads;
};

}  // namespace flowback
