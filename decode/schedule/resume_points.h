// SPDX-License-Identifier: MIT
// Where the flow stopped before each pause of a stream, and where it went on behind it.
#pragma once

#include <cstdint>
#include <vector>

#include "flowback/base/error.h"
#include "flowback/decode/decoder.h"

namespace flowback {

struct ResumePoint {
  uint64_t offset = 0;    // of the packet that begins the flow again
  uint64_t expected = 0;  // where the thread that ran before the pause goes on; 0: not known
  uint64_t resumed = 0;   // where the flow goes on behind the pause
  // The thread stopped in the middle of user code, or in a system call that, by its number, ...
  bool no_clone = false;    // ... makes no thread,
  bool no_detour = false;   // ... and does not make its thread go on elsewhere.
  bool after_call = false;  // the flow goes on behind a SYSCALL, where no signal handler begins

  bool SameThread() const { return expected != 0 && expected == resumed; }
  // Only a switch explains it.
  bool OtherThread() const {
    return expected != 0 && resumed != 0 && expected != resumed && no_detour && after_call;
  }
};

// The points of a stream, by offset. This decodes the whole stream. Errors: as Decoder::Decode.
Result<std::vector<ResumePoint>> FindResumePoints(const DecodeInput& input, Decoder& decoder);

}  // namespace flowback
