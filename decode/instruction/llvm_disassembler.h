// SPDX-License-Identifier: MIT
// LLVM's disassembler of one target.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>

#include "flowback/base/bytes.h"

namespace flowback {

struct LlvmTarget {
  const char* name;      // "X86", as LLVM's functions that set a target up have it
  const char* triple;    // "x86_64-unknown-unknown"
  const char* features;  // "+all"; empty: those of the triple
  // Text in the second of the target's syntaxes, which is Intel's on x86.
  bool second_syntax = false;
  bool hexadecimal = false;  // numbers in the text
};

// Thread-safety: Run may be called from any thread; one waits for the other.
class LlvmDisassembler {
 public:
  // The first one costs some ten milliseconds, because it loads libLLVM.
  explicit LlvmDisassembler(const LlvmTarget& target);
  ~LlvmDisassembler();
  LlvmDisassembler(const LlvmDisassembler&) = delete;
  LlvmDisassembler& operator=(const LlvmDisassembler&) = delete;

  // False: libLLVM is not installed, or knows no such target.
  bool usable() const { return context_ != nullptr; }
  // Length of the instruction at the start of `code`, 0 when LLVM knows none there. Bytes behind
  // the longest instruction of any set are not looked at. `text`, where wanted, receives its text.
  unsigned Run(Bytes code, uint64_t address, std::string* text);

 private:
  void* context_ = nullptr;
  std::mutex mutex_;  // a context may be used by one thread at a time
};

}  // namespace flowback
