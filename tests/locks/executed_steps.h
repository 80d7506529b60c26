// SPDX-License-Identifier: MIT
// The instructions that a program executes between two marks (programs/loops.h).
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "flowback/model/code_mode.h"

namespace flowback {

struct ExecutedSteps {
  std::string error;  // empty: it worked
  CodeMode mode = CodeMode::kX86_64;
  std::vector<uint64_t> addresses;
  std::map<uint64_t, std::vector<uint8_t>> code;  // of each instruction
  std::string printed;  // by a program in qemu-aarch64 that ends by itself

  size_t LengthAt(uint64_t address) const { return code.at(address).size(); }
};

// Called before a stopped process executes the instruction that `code` holds.
using StepHook = std::function<void(pid_t pid, const std::vector<uint8_t>& code)>;

// Steps a program of this machine with ptrace, at most `steps` instructions; then ends it.
ExecutedSteps StepHere(const std::string& path, const std::string& argument, size_t steps,
                       const StepHook& before = {});
// Runs a static program for AArch64 in qemu-aarch64, which writes down each instruction.
// Instructions of the thread that executes the marks are taken, and the program runs on to its end
// behind the second.
ExecutedSteps StepInQemu(const std::string& path, const std::string& argument, size_t steps);

}  // namespace flowback
