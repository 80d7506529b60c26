// SPDX-License-Identifier: MIT
// Which instruction of a path wrote to bytes of memory last.
//
// A thread of several does not know what its memory holds, because the others may write to it at
// any time (MemoryCells). Its own stores are known all the same, and each thread's can be held
// against those of the others by their times.
//
// One store may have written all bytes of a value, or several stores of one stay in a function may
// have: a loop over bytes, or a copy by vectors. A store of a part alone is passed over, because
// it may have changed nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "replay/values/known_bits.h"
#include "replay/values/value_graph.h"
#include "replay/values/value_history.h"

namespace flowback::values {

// All must outlive it.
class WriteFinder {
 public:
  WriteFinder(const ExecutedPath& path, const ValueGraph& graph, const Surroundings& surroundings,
              const std::vector<KnownBits>& values, bool stack_keeps_away)
      : path_(path),
        graph_(graph),
        surroundings_(surroundings),
        values_(values),
        stack_keeps_away_(stack_keeps_away) {}

  // As ValueHistory::LastWriteTo.
  LastWrite Before(size_t point, const StoredValue& wanted) const;
  // As ValueHistory::OnlyWriteTo.
  LastWrite Only(size_t from, size_t to, const StoredValue& wanted,
                 const std::function<bool(uint64_t)>& is_innocent) const;
  // As ValueHistory::OwnWord.
  std::optional<uint64_t> Word(size_t point, uint64_t address, unsigned bytes) const;

 private:
  // A bit for each of the value's bytes.
  using ByteSet = uint8_t;
  // What a step did to them.
  struct Met {
    ByteSet written = 0;    // it certainly wrote these, and nothing contradicts what the value has
    bool is_other = false;  // it may have stored something else, or elsewhere
  };
  static Met Other() { return {.written = 0, .is_other = true}; }

  Met Step(const GraphStep& step, const StoredValue& wanted) const;
  Met Store(const GraphStep& step, const StoredValue& wanted) const;
  Met Part(const GraphStep& step, const StoredValue& wanted) const;
  bool CallMayWrite(const GraphStep& step, const StoredValue& wanted) const;
  // Whether control stayed in one function from the one instruction to the other.
  bool IsOneStay(uint32_t from, uint32_t to) const;

  const ExecutedPath& path_;
  const ValueGraph& graph_;
  const Surroundings& surroundings_;
  const std::vector<KnownBits>& values_;
  const bool stack_keeps_away_;
};

}  // namespace flowback::values
