// SPDX-License-Identifier: MIT
// capstone, loaded when text is first asked for: the addresses in its tables take a millisecond to
// fill in at program start, and most runs print no instruction.
#pragma once

#include <capstone/capstone.h>

namespace flowback {

struct CapstoneLibrary {
  // All null where there is no capstone of the version that this was built for.
  decltype(&cs_open) open = nullptr;
  decltype(&cs_close) close = nullptr;
  decltype(&cs_malloc) allocate = nullptr;
  decltype(&cs_free) free = nullptr;
  decltype(&cs_disasm_iter) decode = nullptr;
  decltype(&cs_insn_name) name = nullptr;

  // Thread-safe. Loaded once and kept to the end of the process.
  static const CapstoneLibrary& Get();
};

}  // namespace flowback
