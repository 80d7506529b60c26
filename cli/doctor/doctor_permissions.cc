// SPDX-License-Identifier: MIT
// `doctor` on permissions and limits.
#include <fmt/format.h>

#include "cli/doctor/doctor_verdicts.h"

namespace flowback::cli {
namespace {

Note JudgeParanoid(const HostFacts& facts) {
  Note note{.name = "perf_event_paranoid", .text = {}, .fix = {}};
  if (!facts.perf_event_paranoid) {
    note.text = "not there: the kernel is built without perf events";
    return note;
  }
  const int64_t value = *facts.perf_event_paranoid;
  const bool privileged = facts.Can("CAP_PERFMON") || facts.Can("CAP_SYS_ADMIN");
  const char* what = value >= 3   ? "nobody without CAP_PERFMON may trace"
                     : value == 2 ? "own programs may be traced, user space only"
                     : value >= 0 ? "own programs may be traced, kernel included"
                                  : "everything may be traced";
  note.text = fmt::format("{}: {}{}", value, what, privileged ? "; this process may anyway" : "");
  if (value >= 2 && !privileged)
    note.fix = value >= 3 ? "sudo sysctl kernel.perf_event_paranoid=2"
                          : "sudo sysctl kernel.perf_event_paranoid=1 (for the kernel's part)";
  return note;
}

Note JudgeMlock(const HostFacts& facts) {
  if (!facts.perf_event_mlock_kb) return {"perf_event_mlock_kb", "not there", ""};
  const bool unlimited = facts.Can("CAP_IPC_LOCK") || facts.locked_memory == "unlimited";
  Note note{"perf_event_mlock_kb",
            fmt::format("{}: {}", *facts.perf_event_mlock_kb,
                        unlimited ? "does not bind this process"
                                  : "KiB for each CPU bound the trace buffers"),
            ""};
  if (!unlimited && !facts.locked_memory.empty())
    note.text += fmt::format(", with RLIMIT_MEMLOCK: {} bytes", facts.locked_memory);
  if (!unlimited && *facts.perf_event_mlock_kb < 4096)
    note.fix = "sudo sysctl kernel.perf_event_mlock_kb=65536";
  return note;
}

Note JudgeKernelPointers(const HostFacts& facts) {
  if (!facts.kptr_restrict) return {"kptr_restrict", "not there", ""};
  const bool hidden =
      *facts.kptr_restrict == 2 || (*facts.kptr_restrict == 1 && !facts.Can("CAP_SYSLOG"));
  return {"kptr_restrict",
          fmt::format("{}: kernel symbols are {}", *facts.kptr_restrict,
                      hidden ? "hidden" : "readable"),
          hidden ? "sudo sysctl kernel.kptr_restrict=0" : ""};
}

Note JudgePtraceScope(const HostFacts& facts) {
  if (!facts.ptrace_scope) return {"ptrace_scope", "not there: ptrace is not restricted", ""};
  const int64_t value = *facts.ptrace_scope;
  const char* what = value == 0   ? "may attach to own processes"
                     : value == 1 ? "may trace what one starts"
                     : value == 2 ? "only with CAP_SYS_PTRACE"
                                  : "nobody may attach";
  return {"ptrace_scope", fmt::format("{}: {}", value, what), ""};
}

Note JudgeLockdown(const HostFacts& facts) {
  if (facts.lockdown.empty() || facts.lockdown == "none") return {"lockdown", "none", ""};
  return {"lockdown", facts.lockdown + ": kernel memory (kcore) can't be read", ""};
}

Note JudgeSeccomp(const HostFacts& facts) {
  const bool filtered = facts.seccomp.value_or(0) == 2;
  return {"seccomp",
          filtered ? "a filter decides on system calls, as containers have it" : "no filter", ""};
}

Note JudgeContainer(const HostFacts& facts) {
  if (!facts.programs_known) return {"container", "not in the tree", ""};
  if (facts.container.empty()) return {"container", "no sign of one", ""};
  return {"container", "this is one: " + facts.container + " is there", ""};
}

Note JudgePerfEvents(const HostFacts& facts) {
  const Trial* trial = facts.Tried("software");
  if (trial == nullptr) return {"perf_event_open", "not tried", ""};
  if (trial->ok()) return {"perf_event_open", "tried: works", ""};
  const Obstacle obstacle = ExplainRefusal(facts, trial->error);
  return {"perf_event_open", "tried: " + obstacle.found_by + ": " + obstacle.why, obstacle.fix};
}

}  // namespace

std::vector<Note> JudgePermissions(const HostFacts& facts) {
  std::string capabilities;
  for (const std::string& name : facts.capabilities)
    capabilities += (capabilities.empty() ? "" : ", ") + name;
  return {JudgePerfEvents(facts),
          JudgeParanoid(facts),
          JudgeMlock(facts),
          JudgeKernelPointers(facts),
          JudgePtraceScope(facts),
          JudgeLockdown(facts),
          JudgeSeccomp(facts),
          JudgeContainer(facts),
          {"capabilities", capabilities.empty() ? "none" : capabilities, ""}};
}

}  // namespace flowback::cli
