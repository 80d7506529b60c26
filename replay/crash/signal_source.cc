// SPDX-License-Identifier: MIT
#include "replay/crash/signal_source.h"

#include <signal.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace flowback {
namespace {

// A number of the kernel's siginfo_t; 0 behind its end.
int32_t NumberAt(Bytes info, size_t offset) {
  int32_t number = 0;
  if (offset + sizeof number <= info.size())
    std::memcpy(&number, info.data() + offset, sizeof number);
  return number;
}

}  // namespace

SignalSource SourceOf(const EndCore* core, int signal) {
  constexpr size_t kCode = 8, kSender32 = 12, kSender64 = 16;
  constexpr unsigned kWide = 64;
  SignalSource source;
  if (core == nullptr || NumberAt(core->signal(), 0) != signal) return source;
  const int32_t code = NumberAt(core->signal(), kCode);
  source.is_known = true;
  source.was_sent = code <= 0;
  source.has_address = code > 0 && code != SI_KERNEL;
  // What a timer or a message queue sends has other numbers there.
  constexpr std::array<int32_t, 3> kOfProcesses = {SI_USER, SI_QUEUE, SI_TKILL};
  const size_t sender = TraitsOf(core->mode()).bits == kWide ? kSender64 : kSender32;
  source.from_outside = std::ranges::find(kOfProcesses, code) != kOfProcesses.end() &&
                        NumberAt(core->signal(), sender) != core->pid();
  return source;
}

}  // namespace flowback
