// SPDX-License-Identifier: MIT
// Inputs made to take much memory or time for few bytes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/cli/run_program.h"

namespace flowback::test {

// A kind of input, and the bound that docs/explanation/bounds.md states for it.
struct HostileKind {
  const char* name;
  // Writes the files into the folder; returns the words that name them on the command line.
  std::function<std::vector<std::string>(const ScratchFolder& folder)> make;
  size_t per_byte;       // bytes of memory for each byte of the input, beside kFreeMib
  int status = 0;        // of `info` and `decode`
  bool samples = false;  // so calls and timelines are refused
};

// Memory of any run: the program, its libraries, two threads, tables that are there from the start.
inline constexpr size_t kFreeMib = 160;

// perf.data files: records as small as they can be, and as many. hostile_files.cc.
std::vector<HostileKind> RecordKinds();
// Kinds with samples of calls and nothing else.
std::vector<HostileKind> CallSampleKinds();
// Raw packets: runs of one kind, `size` bytes long. hostile_trace.cc.
std::vector<HostileKind> TraceKinds(size_t size = size_t{2} << 20);

}  // namespace flowback::test
