// SPDX-License-Identifier: MIT
// The text of branch stacks, as `perf script -F ip,brstack` prints it: a line for each, the newest
// branch first.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "replay/profile/flow_stacks.h"

namespace flowback {

// Nearly all of the work is to write numbers, and most branches come again: what a branch of a
// number (TakenBranch) looks like is kept. So an object serves one decoder.
class StackText {
 public:
  // REQUIRES: there is an entry.
  void Append(std::span<const TakenBranch> oldest_first, std::string& out);

 private:
  // " 0xFROM/0xTO/"; as long as it can be.
  static constexpr size_t kMostEnds = 39;
  struct Ends {
    char text[kMostEnds];
    uint8_t size = 0;
  };
  static_assert(sizeof(Ends) == 40);

  const Ends& EndsOf(const TakenBranch& entry);
  char* Write(const TakenBranch& entry, char* at);

  std::vector<Ends> ends_;  // by number
  Ends unnumbered_;
};

}  // namespace flowback
