// SPDX-License-Identifier: MIT
#include "replay/debug/values/dumped_ends.h"

#include <algorithm>
#include <utility>

namespace flowback {

ProcessEnd EndByDump(const EndCore& core) {
  ProcessEnd end;
  end.pid = core.pid();
  end.tid = core.killed_tid();
  end.wait_status = core.signal_number();
  end.ip = core.Counter(end.tid);
  return end;
}

Recording WithDumpedEnds(Recording recording, const std::vector<std::string>& cores) {
  for (const std::string& path : cores) {
    const Result<EndCore> core = EndCore::Open(path);
    if (!core || !core->IsOfDeath(recording)) continue;
    const bool is_noted = std::ranges::find(recording.process_ends, core->pid(),
                                            &ProcessEnd::pid) != recording.process_ends.end();
    if (!is_noted) recording.process_ends.push_back(EndByDump(*core));
  }
  return recording;
}

}  // namespace flowback
