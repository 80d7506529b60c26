// SPDX-License-Identifier: MIT
// Which instruction of a path wrote to bytes of memory last.
//
// A thread of several does not know what its memory holds, because the others may write to it at
// any time (MemoryCells). Its own stores are known all the same, and each thread's can be held
// against those of the others by their times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "replay/values/known_bits.h"
#include "replay/values/value_graph.h"
#include "replay/values/value_history.h"

namespace flowback::values {

// All must outlive it.
class WriteFinder {
 public:
  WriteFinder(const ValueGraph& graph, const Surroundings& surroundings,
              const std::vector<KnownBits>& values, bool stack_keeps_away)
      : graph_(graph),
        surroundings_(surroundings),
        values_(values),
        stack_keeps_away_(stack_keeps_away) {}

  // As ValueHistory::LastWriteTo.
  LastWrite Before(size_t point, const StoredValue& wanted) const;

 private:
  enum class Meets : uint8_t {
    kNot,
    kInPart,  // it stored some of the bytes, with what the value has there
    kWholly,  // all of them
    kOther,   // it may have stored something else
  };
  Meets Step(const GraphStep& step, const StoredValue& wanted) const;
  Meets Store(const GraphStep& step, const StoredValue& wanted) const;
  bool CallMayWrite(const GraphStep& step) const;
  KnownBits Argument(const GraphStep& step, uint8_t number) const;

  const ValueGraph& graph_;
  const Surroundings& surroundings_;
  const std::vector<KnownBits>& values_;
  const bool stack_keeps_away_;
};

}  // namespace flowback::values
