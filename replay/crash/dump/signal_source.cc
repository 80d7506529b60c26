// SPDX-License-Identifier: MIT
#include "replay/crash/dump/signal_source.h"

#include <signal.h>

#include <algorithm>
#include <array>

namespace flowback {
SignalSource SourceOf(const EndCore* core, int signal) {
  SignalSource source;
  if (core == nullptr || core->signal_number() != signal) return source;
  const int32_t code = core->signal_code();
  source.is_known = true;
  source.was_sent = code <= 0;
  source.has_address = code > 0 && code != SI_KERNEL;
  // The field holds other numbers if a timer or a message queue sent the signal.
  constexpr std::array<int32_t, 3> kOfProcesses = {SI_USER, SI_QUEUE, SI_TKILL};
  source.from_outside = std::ranges::find(kOfProcesses, code) != kOfProcesses.end() &&
                        core->signal_sender() != core->pid();
  return source;
}

}  // namespace flowback
