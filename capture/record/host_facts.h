// SPDX-License-Identifier: MIT
// Facts of a machine that decide what it can record, read without judging them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "capture/kernel/pmu.h"
#include "capture/record/emulate/emulator_file.h"
#include "flowback/capture/record.h"

namespace flowback {

using kernel::kPmuFolder;

// One attempt at something that only trying shows.
struct Trial {
  int error = 0;         // errno; 0: it worked
  std::string text{};    // what happened, of those that are no system call
  std::string remedy{};  // where it failed and more is known

  bool ok() const { return error == 0; }
};

struct HostFacts {
  // CPU
  std::string vendor;  // "GenuineIntel", "AuthenticAMD", "ARM", ...
  std::string model;
  std::set<std::string> cpu_flags;
  uint64_t cpus = 0;
  bool Flag(const std::string& flag) const { return cpu_flags.contains(flag); }
  std::string hypervisor;  // by the firmware's tables: "QEMU", "Amazon EC2"; "" if unknown
  std::string container;   // what says that this is one: "/.dockerenv"; "" where nothing does

  // Tracing hardware as the kernel shows it.
  std::vector<std::string> pmus;  // perf's devices, by name
  std::optional<std::string> pt_type;
  std::map<std::string, std::string> pt_caps;
  std::map<std::string, std::string> pt_formats;
  std::optional<uint64_t> branch_entries;  // depth of the branch stack, by the CPU device's caps
  std::string branch_source;               // the file that says so
  bool has_brs_event = false;              // cpu/branch-brs/, AMD's first branch sampling

  // Permissions; empty: the file is not there.
  std::string kernel_release;
  std::optional<int64_t> perf_event_paranoid;
  std::optional<int64_t> perf_event_mlock_kb;
  std::optional<int64_t> kptr_restrict;
  std::optional<int64_t> ptrace_scope;
  std::string lockdown;  // "none", "integrity", "confidentiality"; "": the kernel has no lockdown
  std::set<std::string> capabilities;  // effective, of those that matter here: "CAP_PERFMON"
  std::optional<int64_t> seccomp;      // mode of this process; 2: a filter
  std::string locked_memory;           // RLIMIT_MEMLOCK as /proc shows it: "8388608", "unlimited"

  // ReadPrograms looked for what follows, and for a container: else nothing is known of them.
  bool programs_known = false;
  std::string qemu_user;                        // path of qemu-x86_64; "" when not in PATH
  std::optional<EmulatorPlugins> qemu_plugins;  // empty: it is no ELF file
  std::string qemu_version;                     // "7.2.22"; "" where it was not asked
  // The same facts of qemu-i386, which runs 32-bit programs.
  std::string short_qemu_user;
  std::optional<EmulatorPlugins> short_qemu_plugins;
  std::string short_qemu_version;

  // "software", "pt", "branches": perf_event_open of that event. "emulate", "step": recorded
  // /bin/true. Those not in here were not tried.
  std::map<std::string, Trial> trials;
  const Trial* Tried(const std::string& name) const {
    const auto found = trials.find(name);
    return found == trials.end() ? nullptr : &found->second;
  }
  bool Can(const std::string& capability) const { return capabilities.contains(capability); }
};

// Reads the kernel's facts.
HostFacts ReadHostFacts(const kernel::SystemKernel& kernel);
// The emulators, and signs of a container. They lie below `root`: "" is this machine, another
// folder holds a copy of it. `path` is the list of folders of programs, as in $PATH.
void ReadPrograms(const std::string& root, const std::string& path, HostFacts& facts);
// Both, of this machine.
HostFacts ReadThisHost();

}  // namespace flowback
