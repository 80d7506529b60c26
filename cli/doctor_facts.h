// SPDX-License-Identifier: MIT
// What `doctor` reads of a machine, without judging it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace flowback::cli {

struct DoctorFacts {
  // CPU
  std::string vendor;  // "GenuineIntel", "AuthenticAMD", "ARM", ...
  std::string model;
  std::set<std::string> cpu_flags;
  uint64_t cpus = 0;
  bool Flag(const std::string& flag) const { return cpu_flags.contains(flag); }

  // Tracing hardware as the kernel shows it.
  bool has_event_sources = false;  // the folder of perf's devices is there
  std::optional<std::string> pt_type;
  std::map<std::string, std::string> pt_caps;
  std::map<std::string, std::string> pt_formats;
  std::optional<uint64_t> branch_entries;  // depth of the branch stack, by the CPU device's caps
  std::string branch_source;               // the file that says so
  bool arm_pmu = false;

  // Permissions; empty: the file is not there.
  std::string kernel_release;
  std::optional<int64_t> perf_event_paranoid;
  std::optional<int64_t> perf_event_mlock_kb;
  std::optional<int64_t> kptr_restrict;
  std::optional<int64_t> ptrace_scope;
  std::string lockdown;  // "none", "integrity", "confidentiality"; "" where there is none
  std::set<std::string> capabilities;  // effective, of those that matter here: "CAP_PERFMON"
  std::optional<int64_t> seccomp;      // mode of this process

  std::string qemu_user;  // path of qemu-x86_64; "" when not in PATH
  bool Can(const std::string& capability) const { return capabilities.contains(capability); }
};

// Reads them below `root`: "" is this machine, another folder holds a copy of /proc, /sys and the
// like. `path` is the list of folders of programs, as in $PATH.
DoctorFacts ReadDoctorFacts(const std::string& root, const std::string& path);

}  // namespace flowback::cli
