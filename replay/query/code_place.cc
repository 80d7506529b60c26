// SPDX-License-Identifier: MIT
#include "replay/query/code_place.h"

#include <ranges>
#include <set>

namespace flowback {
namespace {

std::string LineIn(Session& session, const AddressSpaceHistory& history, uint64_t ip) {
  for (const AddressSpaceHistory::Epoch& epoch : history.epochs | std::views::reverse) {
    const SourcePlace place = session.lines().Find(*epoch.space, ip);
    if (place.known())
      return std::string(place.frames.front().file) + ":" +
             std::to_string(place.frames.front().line);
  }
  return {};
}

}  // namespace

std::string SourceTextOf(Session& session, uint64_t ip, std::optional<int32_t> pid) {
  if (pid) return LineIn(session, *session.code().OfProcess(*pid), ip);
  std::set<const AddressSpaceHistory*> seen;
  std::set<std::string> lines;
  for (const StreamOwner& owner : session.threads().owners()) {
    const RecordingCode::History history = session.code().OfProcess(owner.pid);
    if (!seen.insert(history.get()).second) continue;
    if (std::string line = LineIn(session, *history, ip); !line.empty()) lines.insert(line);
  }
  return lines.size() == 1 ? *lines.begin() : std::string();
}

}  // namespace flowback
