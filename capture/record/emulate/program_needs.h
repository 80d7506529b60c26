// SPDX-License-Identifier: MIT
// What a program needs that QEMU does not have, as far as its file shows.
#pragma once

#include <string>

#include "capture/record/target/program_file.h"

namespace flowback::record {

// The sanitizer that the program was built with and that reserves terabytes of addresses:
// "AddressSanitizer"; empty: none.
std::string SanitizerOf(const ProgramFile& program);

// Why a QEMU with this version of the plugin interface can't run the program, as a sentence; empty:
// nothing is known that would prevent it.
std::string ObstacleInEmulator(const ProgramFile& program, int plugin_interface);

// The instruction set extension ("AVX-512") that this machine has, QEMU's processor lacks, and the
// program's own code uses without asking the processor for it; empty: none. The libraries are not
// looked at: they ask.
std::string ExtensionOf(const ProgramFile& program);

// Whether this machine's processor has it: "avx512f", as /proc/cpuinfo says.
bool HostHasFlag(const std::string& flag);

}  // namespace flowback::record
