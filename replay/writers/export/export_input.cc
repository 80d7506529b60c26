// SPDX-License-Identifier: MIT
#include "replay/writers/export/export_input.h"

#include "flowback/replay/player.h"

namespace flowback {

Status PlayStacks(Session& session, FlowStacks& stacks, const ThreadPart& part) {
  Player player(session.Flow(), {.threads = session.options().ThreadCount(),
                                 .in_flight = session.options().in_flight});
  if (part.IsAll()) return player.Play(FlowsOf(session.threads().owners()), stacks);
  FlowCut cut(stacks, part, nullptr);
  return player.Play({part.thread}, cut);
}

}  // namespace flowback
