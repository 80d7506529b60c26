// SPDX-License-Identifier: MIT
// Compares kept stacks with playing each thread from its begin.
#pragma once

#include <cstdint>

#include "flowback/decode/recording_code.h"
#include "flowback/decode/stream_input.h"
#include "flowback/model/recording.h"
#include "flowback/replay/flow_index.h"

namespace flowback::calls_test {

struct AnywhereOptions {
  uint64_t segment_bytes = 1024;
  size_t places = 40;  // of a kind, of each thread
  IndexCache cache{};
  // Shares of which it is known what they do to the stack are passed over.
  bool leaps = false;
};

struct AnywhereSums {
  size_t stacks = 0;       // compared
  size_t kept = 0;         // places at which stacks are kept
  size_t shares = 0;       // there are so many
  size_t passed_over = 0;  // of them, where they leap
  size_t guesses = 0;      // stacks with frames that are guessed
  size_t found = 0;        // stacks whose outermost frames were found later
  size_t lost = 0;         // behind a loss
};

// All threads: before instructions, at times, at the end. Fails the running test where anything
// differs. The inputs are with times.
AnywhereSums ExpectStacksAnywhere(const Recording& recording, const StreamInputs& inputs,
                                  Decoder& decoder, const AnywhereOptions& options);

}  // namespace flowback::calls_test
