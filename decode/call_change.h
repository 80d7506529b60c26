// SPDX-License-Identifier: MIT
// What a stretch of one thread's flow did to the thread's call stack.
//
// A stretch that only calls functions, returns to where they were called, and jumps to other
// functions is usual. Return addresses describe its whole effect, without the calls themselves:
//
//   stack before     main+8   f+20   g+12          the newest is on the right
//   the stretch      returns to g+12, returns to f+20, calls h from main (returns to main+30)
//   the change       returned: g+12, f+20    called: main+30
//   stack behind     main+8   main+30
//
// So a caller that knows a stack before a usual stretch need not play it to know how deep the stack
// is behind it, and which of its calls are still the same.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "decode/address_stack.h"
#include "flowback/model/block_batch.h"
#include "flowback/model/execution.h"

namespace flowback {

struct CallChange {
  bool usual = true;  // false: all else says nothing
  // A jump to another function has taken the place of the innermost call that was open before and
  // still is.
  bool replaced = false;
  std::vector<uint64_t> returned;  // to these addresses calls returned that were open before; the
                                   // innermost first
  AddressStack called;             // return addresses of calls that are open now; the outermost
                                   // first
  uint64_t deepest = 0;  // most of its own calls that were open at once, except those that
                         // return within a path of the decoder's memo: a few blocks

  void Call(uint64_t return_address) {
    if (!usual) return;
    called.Push(return_address);
    deepest = std::max<uint64_t>(deepest, called.size());
  }
  void Return(uint64_t target) {
    if (!usual) return;
    if (called.empty()) {
      replaced = false;
      returned.push_back(target);
    } else {
      usual = usual && called.newest() == target;
      called.Pop();
    }
  }
  void Replace() { replaced = replaced || called.empty(); }
  // The flow goes on with `next`.
  void Append(const CallChange& next) {
    usual = usual && next.usual;
    if (!usual) return;
    for (const uint64_t target : next.returned) Return(target);
    if (next.replaced) Replace();
    deepest = std::max(deepest, called.size() + next.deepest);
    for (const uint64_t address : next.called.all()) called.Push(address);
  }
  // But for `deepest`.
  bool Nothing() const { return usual && !replaced && returned.empty() && called.empty(); }
  size_t size() const { return returned.size() + called.size(); }
};

// A stretch that a FlowReader has read over, and what that did to the call stack.
struct OverCalls {
  // Instructions of the stream, half-open, as BlockBatch::before and behind count them.
  uint64_t begin = 0;
  uint64_t end = 0;
  CallChange change;
};

// What a step of the flow means to the call stack. Only kStays is odd, so that several steps can be
// asked at once whether all of them stay.
enum class StepMeaning : uint8_t {
  kUnknown = 0,
  kStays = 1,           // in its call
  kCalls = 2,           // and will return behind the block
  kReturns = 4,         // to where its call was made
  kReplaces = 6,        // its call goes on in another function
  kReplacesByStub = 8,  // its call goes on in a procedure linkage table's stub
  kLeadsOn = 10,        // a stub's jump: usual only right behind a call, or kReplacesByStub
  kUnusual = 12,        // anything else
};

class CallJudge {
 public:
  virtual ~CallJudge() = default;
  // Returns the meaning of a whole block that was executed and led to `next`. Never kUnknown.
  virtual StepMeaning Of(const BlockTable& table, BlockStep step, uint64_t next) = 0;
  // Returns the known meanings of steps, wherever they lead, by their values. Empty: ask for each.
  // Else it has all steps of the table, and is valid until the next call.
  virtual std::span<const StepMeaning> Known(const BlockTable&) { return {}; }
  // Whether nothing in the code of a run is unusual, wherever that leads. For blocks that were left
  // in the middle, or at whose end the flow stops.
  virtual bool IsUsual(const BlockRun& run) = 0;
};

}  // namespace flowback
