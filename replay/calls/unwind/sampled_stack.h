// SPDX-License-Identifier: MIT
// The call stack of a sample, put together from its sources.
//
//   source               knows                                   misses
//   callchain            all frames, as far as frame pointers    who called a function without a
//                        (or the kernel's unwinder) lead         frame of its own; may follow junk
//   hardware's calls     the calls that had not returned         what is beyond its depth, or began
//   (call-stack mode)                                            before it was switched on
//   last branches        the calls among them that had not       all calls further back
//                        returned
//   copy of the stack    all frames whose files have tables,     what lies beyond the copy
//                        frame pointers or not
//
// A frame counts as known from two sources when a call is made at the one's address that returns to
// the other's. Where they contradict each other, both are there.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/recorded/call_samples.h"
#include "flowback/decode/code_image.h"
#include "flowback/model/code_mode.h"
#include "replay/calls/unwind/stack_unwinder.h"

namespace flowback {

struct SampledFrame {
  enum Source : uint8_t {
    kChain = 1 << 0,     // the callchain
    kCalls = 1 << 1,     // the hardware's stack of calls
    kBranches = 1 << 2,  // calls among the last branches
    kBefore = 1 << 3,    // the hardware's stack in the thread's sample before: likely, not proven
    kUnwound =
        1 << 4,  // a copy of the stack, by the files' unwind tables: in the callchain's place
  };

  uint64_t address = 0;  // with which it goes on; 0: not known
  uint64_t call = 0;     // the call that it is in; 0: not known, or it is in none
  uint64_t entry = 0;    // where that call led; 0: not known
  uint8_t sources = 0;
  bool is_exact = false;  // `address` is where control stood, not what follows a call
  bool is_kernel = false;
  // The callchain alone has it, where a stronger source has no such call.
  bool is_doubted = false;
  // The callchain goes past it, though it has frames further out.
  bool is_skipped = false;
};

struct SampledStack {
  enum class Stitch : uint8_t {
    kNotTried,   // not asked for, or all calls are in the sample
    kNoSlots,    // the hardware does not say where in its stack the newest call is
    kNoOverlap,  // the stack before has no such calls
    kAmbiguous,  // it has them at more than one place, as recursion makes
    kStitched,
  };

  std::vector<SampledFrame> frames;  // the innermost first; the kernel's, then the user's
  const AddressSpace* space = nullptr;
  uint8_t sources = 0;   // with the user's frames, SampledFrame::Source
  bool is_full = false;  // the hardware's stack of calls was: more may be outside
  Stitch stitch = Stitch::kNotTried;
  std::optional<UnwoundStack::End> copy_end;  // why unwinding the copy ended; empty: no copy

  // Frames in which its sources contradict each other.
  size_t Disagreements() const;
};

// Reads one thread's samples, in the order of their times.
class SampledStackReader {
 public:
  struct Options {
    CodeMode mode = CodeMode::kX86_64;
    uint64_t depth = 0;   // of the hardware's stack
    bool stitch = false;  // takes frames beyond its depth from the sample before
    // Unwinds copies of stacks; null: copies are ignored.
    StackUnwinder* unwinder = nullptr;
    const std::vector<StackCopy>* copies = nullptr;  // by CallSample::copy
  };
  explicit SampledStackReader(Options options) : options_(options) {}

  // `space`, in which the thread ran then, must outlive the result.
  SampledStack Of(const CallSample& sample, const AddressSpace& space);

 private:
  // An entry of the hardware's stack, as it was.
  struct Entry {
    uint64_t from = 0;
    uint64_t to = 0;
    uint64_t flags = 0;
    bool operator==(const Entry&) const = default;
  };

  void AddHardwareCalls(const CallSample& sample, std::vector<SampledFrame>& calls,
                        SampledStack& stack);
  SampledStack::Stitch StitchTo(std::vector<Entry>& entries, uint64_t slot) const;

  Options options_;
  std::vector<Entry> before_;  // of the sample before, with what was stitched to it
  uint64_t slot_before_ = 0;
};

}  // namespace flowback
