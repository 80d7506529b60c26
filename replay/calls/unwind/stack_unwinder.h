// SPDX-License-Identifier: MIT
// Callers found from a copy of a thread's stack and its registers, by the tables that the files of
// its code have for exceptions and debuggers (.eh_frame). What perf record --call-graph dwarf
// records; it needs no frame pointers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/recorded/call_samples.h"
#include "flowback/decode/code_image.h"
#include "flowback/model/code_mode.h"

namespace flowback {

struct UnwoundStack {
  enum class End : uint8_t {
    kOutermost,    // the last frame has no caller
    kNoRegisters,  // the sample has none
    kNoTable,      // no file of code at `where`, or one without a table
    kCopyEnds,     // what comes next is not in the copy
    kTooDeep,      // or going in circles
  };
  // Where control stood, and where each call goes on that had not returned, the innermost first.
  std::vector<uint64_t> addresses;
  // Which of them are where control stood: the first, and what a signal interrupted.
  std::vector<bool> exact;
  End end = End::kNoRegisters;
  uint64_t where = 0;  // the last address
};

// Keeps the tables of files that it has read. Belongs to one thread.
class StackUnwinder {
 public:
  explicit StackUnwinder(CodeMode mode);
  ~StackUnwinder();
  StackUnwinder(const StackUnwinder&) = delete;
  StackUnwinder& operator=(const StackUnwinder&) = delete;

  // `space`: in which the thread ran then.
  UnwoundStack Unwind(const StackCopy& copy, const AddressSpace& space);
  // The same from a whole memory, such as a core dump's, beside the copy. Only this memory counts:
  // files are read for code and tables alone.
  struct WholeMemory {
    // Copies bytes from `address` on; returns how many.
    std::function<size_t(uint64_t address, std::span<uint8_t> bytes)> read;
    size_t most_frames = 0;
  };
  UnwoundStack Unwind(const StackCopy& copy, const AddressSpace& space, const WholeMemory& memory);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace flowback
