// SPDX-License-Identifier: MIT
// Counting without the memo: the block graph walked outcome by outcome, which is what the memo is
// measured against.
#pragma once

#include <cstdint>
#include <memory>

#include "flowback/decode/decoder.h"

namespace flowback::bench {

// Keeps its graph: a second Count() of the same input is warm.
class GraphWalk {
 public:
  GraphWalk();
  ~GraphWalk();

  // Number of instructions.
  uint64_t Count(const DecodeInput& input);

 private:
  struct Graphs;
  std::unique_ptr<Graphs> graphs_;
};

}  // namespace flowback::bench
