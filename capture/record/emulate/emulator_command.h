// SPDX-License-Identifier: MIT
// The command line that runs a program under the emulator with our plugin.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "capture/record/emulate/plugin_interface.h"
#include "capture/record/target/program_file.h"
#include "capture/record/watch/function_watch.h"

namespace flowback::record {

// An emulator's file, and the version of the plugin interface that it offers.
struct EmulatorFile {
  std::string path;  // empty: not found
  int plugin_interface = 1;
};

// The emulator's name by the mode of the programs that it runs.
constexpr const char* EmulatorName(CodeMode mode) {
  if (mode == CodeMode::kAArch64) return "qemu-aarch64";
  return mode == CodeMode::kX86_32 ? "qemu-i386" : "qemu-x86_64";
}

// What stays the same for every program of a recording, but which of the two emulators runs it.
struct EmulatorSetup {
  std::string emulator;      // file name of qemu-x86_64, or of qemu-i386
  std::string plugin;        // file name of flowback-tcg.so
  std::string area;          // file name of the shared area
  int open_area = -1;        // a descriptor of it, for the new program's emulator; -1: by its name
  int plugin_interface = 1;  // the version that the emulator offers
  bool one_instruction_blocks = false;
  bool tells_addresses = false;       // of the data of atomic operations and futex calls
  WatchedFunctions watched{};         // the functions between which is recorded
  bool starts_on = true;              // the program's first thread is recorded from its start
  bool same_random_numbers = false;   // those the kernel gives a program at its start
  CodeMode mode = CodeMode::kX86_64;  // of the programs that `emulator` runs
  std::string root{};                 // of AArch64 ones: the folder their libraries lie in
  EmulatorFile other{};               // runs those of the other one of 64-bit and 32-bit

  // Whether same addresses take more than same random numbers.
  bool WantsSamePlaces() const {
    return same_random_numbers && MapsWhereTheKernelDoes(plugin_interface);
  }
  // What FindProgram is to be asked with.
  std::optional<std::string> ForeignRoot() const {
    return mode == CodeMode::kAArch64 ? std::optional(root) : std::nullopt;
  }
  // For a program of that mode, whose emulator may be missing.
  EmulatorSetup For(CodeMode program) const;
};

// The program to run, by the name it was asked for, and its arguments from argv[0] on.
std::vector<std::string> EmulatorCommand(const EmulatorSetup& setup, const ProgramFile& program,
                                         const std::string& asked_for,
                                         const std::vector<std::string>& arguments);

// `path` as the kernel would follow it, were the program not emulated: where it is the link `exe`
// of a process in /proc that `emulator`, or the other one, runs in, that process's program. An
// emulator that the program calls by its own name stays what it is.
std::string BehindExeLink(const std::string& path, const std::string& emulator,
                          const std::string& other = {});

// The environment as the emulator gets it. Variables of the dynamic loader are for the program
// only: they come back as words for the emulator's command line. `same_places`: the emulator is to
// map the same each time, so that the program's mappings come to lie at the same places.
struct EmulatorEnvironment {
  std::vector<std::string> variables;
  std::vector<std::string> words;
};
EmulatorEnvironment SplitEnvironment(const std::vector<std::string>& variables, bool same_places);

// Any text as the plugin takes it: its arguments can't hold commas.
std::string ToHex(const std::string& text);
std::string FromHex(const std::string& hex);

}  // namespace flowback::record
