// SPDX-License-Identifier: MIT
// Which functions look like the handler of requests: what a thread's outermost loop calls again and
// again.
//
//   main
//     read_request   1000 calls, blocks in read
//     handle         1000 calls, 80 % of the thread's instructions   <- the best
//       parse        1000 calls: as often as handle, so further in
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/linux/linux_abi.h"
#include "flowback/base/error.h"
#include "flowback/replay/threads.h"
#include "flowback/replay/timeline.h"

namespace flowback {

struct RequestLoop {
  TimelineFunction function;
  TimelineFunction caller;  // in which the loop is
  uint64_t calls = 0;
  uint64_t loops = 0;         // calls of the caller
  uint64_t instructions = 0;  // in the calls and what they called
  uint64_t all = 0;           // instructions of all threads
  // System calls that wait, made in the caller and what it called, and their number that came most
  // often.
  uint64_t waits = 0;
  std::optional<uint32_t> wait;
  LinuxAbi wait_abi{};

  double share() const {
    return all == 0 ? 0 : static_cast<double>(instructions) / static_cast<double>(all);
  }
  // Whether the loop waits for something about as often as it calls the function.
  bool waits_between() const { return 2 * waits >= calls; }
};

// Plays the flows once. Returns the functions that were called at least 16 times, eight times as
// often as their caller, with at least a fiftieth of all instructions, and that do not call
// themselves. The best come first: those whose loop waits between calls, then by instructions, and
// last those of the dynamic linker. Errors: as Player::Play's.
Result<std::vector<RequestLoop>> FindRequestLoops(const TimelineSources& sources,
                                                  const std::vector<const ThreadFlow*>& flows,
                                                  unsigned threads, size_t in_flight);

}  // namespace flowback
