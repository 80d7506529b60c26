// SPDX-License-Identifier: MIT
// Whether code ran at all, for who is about to wait for it at a breakpoint.
#pragma once

#include <cstdint>
#include <span>

#include "replay/debug/machine/machine.h"

namespace flowback {

// Instructions that are decoded at most to answer, which takes about a second.
inline constexpr uint64_t kMostDecodedForNever = 20'000'000;

// Returns whether no thread of the machine came to any of the addresses, as far as that is quick to
// find: from the index, and by decoding no more than `budget` instructions, which are taken from
// it.
bool NeverRan(ReplayedMachine& machine, std::span<const uint64_t> addresses, uint64_t& budget);
// Returns whether a thread's flow has losses, which may hide what ran.
bool HasLosses(const ReplayedMachine& machine);

}  // namespace flowback
