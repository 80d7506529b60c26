// SPDX-License-Identifier: MIT
#include "replay/spikes/slow_recording.h"

#include <algorithm>
#include <string_view>

namespace flowback {

std::string TriggerFunctionOf(const Recording& recording) {
  constexpr std::string_view kProbe = "uprobe:";
  constexpr std::string_view kReturn = ":return";
  if (recording.streams.empty()) return {};
  for (const std::string& event : recording.events) {
    if (!event.starts_with(kProbe) || event.ends_with(kReturn)) continue;
    if (std::ranges::find(recording.events, event + std::string(kReturn)) != recording.events.end())
      return event.substr(kProbe.size());
  }
  return {};
}

}  // namespace flowback
