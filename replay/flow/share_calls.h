// SPDX-License-Identifier: MIT
// What each share of a thread's flow did to the thread's call stack.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/number_bytes.h"
#include "decode/call_change.h"

namespace flowback {

struct ShareCalls {
  CallChange change{.usual = false, .replaced = false, .returned = {}, .called = {}, .deepest = 0};
  uint64_t first = 0;  // the address at which it begins
  uint64_t next = 0;   // and of the instruction that comes behind it
};

// As bytes, and back. Null is written as none.
void WriteCalls(NumberWriter& out, const std::vector<ShareCalls>* calls);
std::vector<ShareCalls> ReadCalls(NumberReader& in);

class FlowIndex;

// Gives out what the pass that made an index has found out about calls.
class IndexCalls {
 public:
  // Returns the calls of each of the thread's shares. Null: not followed.
  static const std::vector<ShareCalls>* Of(const FlowIndex& index, size_t thread);
};

}  // namespace flowback
