// SPDX-License-Identifier: MIT
#include "replay/writers/export/export_input.h"

#include "flowback/replay/player.h"

namespace flowback {

Status PlayStacks(Session& session, FlowStacks& stacks) {
  Player player(session.Flow(), {.threads = session.options().ThreadCount(),
                                 .in_flight = session.options().in_flight});
  return player.Play(FlowsOf(session.threads().owners()), stacks);
}

}  // namespace flowback
