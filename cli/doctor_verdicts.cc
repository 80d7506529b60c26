// SPDX-License-Identifier: MIT
#include "cli/doctor_verdicts.h"

#include <fmt/format.h>

#include <algorithm>

namespace flowback::cli {
namespace {

constexpr char kPtDevice[] = "/sys/bus/event_source/devices/intel_pt";
constexpr char kRecordByStep[] = "flowback record --engine step -- CMD";

bool IsX86(const DoctorFacts& facts) {
  return facts.vendor == "GenuineIntel" || facts.vendor == "AuthenticAMD" ||
         facts.vendor == "HygonGenuine" || facts.Flag("lm");
}

// User-only tracing of one's own programs.
bool MayOpenPerfEvents(const DoctorFacts& facts) {
  return !facts.perf_event_paranoid || *facts.perf_event_paranoid <= 2 ||
         facts.Can("CAP_PERFMON") || facts.Can("CAP_SYS_ADMIN");
}

// The hardware is there; judges the permission and what this version can do with it.
void JudgeUse(const DoctorFacts& facts, const std::string& perf_command, bool built, Verdict& v) {
  if (!MayOpenPerfEvents(facts)) {
    v.why += "; this user may not use it";
    v.found_by += fmt::format("; perf_event_paranoid is {} and CAP_PERFMON is missing",
                              *facts.perf_event_paranoid);
    v.fix = "sudo sysctl kernel.perf_event_paranoid=2";
    v.instead = kRecordByStep;
    return;
  }
  v.machine = true;
  v.usable = built;
  if (built) return;
  v.why += "; this version of flowback can't drive it yet";
  v.fix = perf_command;
  v.instead = perf_command + ": flowback reads what it writes";
}

std::string NoPtFix(const DoctorFacts& facts) {
  if (facts.Flag("hypervisor"))
    return "on the host: modprobe kvm_intel pt_mode=1, and start the guest with -cpu "
           "host,intel-pt=on";
  if (facts.Flag("intel_pt"))
    return "boot a kernel with CONFIG_PERF_EVENTS_INTEL_PT support (4.2 or newer)";
  return "";
}

std::string NoPtReason(const DoctorFacts& facts) {
  if (!IsX86(facts)) return "no Intel PT: not an Intel CPU";
  if (facts.vendor != "GenuineIntel") return "no Intel PT: the CPU is from another maker";
  if (facts.Flag("intel_pt")) return "the CPU has Intel PT but the kernel does not offer it";
  if (facts.Flag("hypervisor")) return "no Intel PT: this virtual machine is not given it";
  return "no Intel PT: the CPU is older than Broadwell, or the firmware has switched it off";
}

Verdict JudgePt(const DoctorFacts& facts, bool built) {
  Verdict v{.kind = "pt"};
  if (facts.pt_type) {
    v.why = "Intel PT is there";
    v.found_by = fmt::format("{} has type {}", kPtDevice, *facts.pt_type);
    JudgeUse(facts, "perf record -e intel_pt//u -o perf.data -- CMD", built, v);
    return v;
  }
  v.why = NoPtReason(facts);
  v.found_by =
      fmt::format("{} is missing; /proc/cpuinfo: vendor {}, flag intel_pt {}, flag hypervisor {}",
                  kPtDevice, facts.vendor.empty() ? "unknown" : facts.vendor,
                  facts.Flag("intel_pt") ? "present" : "absent",
                  facts.Flag("hypervisor") ? "present" : "absent");
  v.fix = NoPtFix(facts);
  v.instead = kRecordByStep;
  return v;
}

// Branch stacks of either architecture, told apart by `here`: the CPU is of the right kind.
Verdict JudgeBranchStack(const DoctorFacts& facts, const std::string& kind, const std::string& name,
                         bool here, bool built) {
  Verdict v{.kind = kind};
  if (here && facts.branch_entries) {
    v.why = fmt::format("branch stacks of {} entries are there", *facts.branch_entries);
    v.found_by = facts.branch_source + " says so";
    JudgeUse(facts, "perf record -j any,u -o perf.data -- CMD", built, v);
    if (v.machine && !built)
      v.instead = "perf record -j any,u -- CMD; exact flow: " + std::string(kRecordByStep);
    return v;
  }
  v.instead = kRecordByStep;
  v.found_by =
      fmt::format("/proc/cpuinfo: vendor {}", facts.vendor.empty() ? "unknown" : facts.vendor);
  if (!here) {
    v.why = fmt::format("no {}: the CPU is of another architecture", name);
    return v;
  }
  v.why = fmt::format("no {}: the kernel offers no branch stack", name);
  v.found_by += "; no caps/branches under /sys/bus/event_source/devices/cpu*";
  if (facts.Flag("hypervisor"))
    v.fix = "on the host: give the guest a virtual PMU with LBR (-cpu host,pmu=on)";
  if (kind == "brbe") v.fix = "boot Linux 6.17 or newer on a CPU with FEAT_BRBE";
  return v;
}

Verdict JudgeEmulator(const DoctorFacts& facts, bool built) {
  Verdict v{.kind = "emulate", .machine = !facts.qemu_user.empty()};
  v.usable = v.machine && built;
  v.why = v.machine ? "an emulator is installed" : "no emulator is installed";
  v.found_by = v.machine ? facts.qemu_user : "qemu-x86_64 is not in PATH";
  if (!v.machine) v.fix = "apt-get install qemu-user";
  if (!built) {
    v.why += "; this version of flowback has no emulating engine yet";
    v.fix.clear();
  }
  if (!v.usable) v.instead = kRecordByStep;
  return v;
}

Verdict JudgeStep(const DoctorFacts& facts, bool built) {
  constexpr int64_t kNobodyMayAttach = 3;
  Verdict v{.kind = "step"};
  v.instead = "open a recording made elsewhere: flowback info FILE";
  if (!facts.Flag("lm")) {
    v.why = "single-stepping is built for x86-64 only";
    v.found_by = "/proc/cpuinfo has no flag lm";
  } else if (facts.ptrace_scope == kNobodyMayAttach && !facts.Can("CAP_SYS_PTRACE")) {
    v.why = "nobody may use ptrace";
    v.found_by = "/proc/sys/kernel/yama/ptrace_scope is 3 (until the next boot)";
    v.fix = "boot with kernel.yama.ptrace_scope=1 in /etc/sysctl.d";
  } else {
    v.machine = true;
    v.usable = built;
    v.why =
        "ptrace works for programs one starts oneself: exact, at some 25000 instructions a second";
    v.found_by = facts.ptrace_scope
                     ? fmt::format("/proc/sys/kernel/yama/ptrace_scope is {}", *facts.ptrace_scope)
                     : "/proc/sys/kernel/yama is not there: ptrace is not restricted";
    if (built) v.instead.clear();
  }
  return v;
}

Note JudgeParanoid(const DoctorFacts& facts) {
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

Note JudgeMlock(const DoctorFacts& facts) {
  if (!facts.perf_event_mlock_kb) return {"perf_event_mlock_kb", "not there", ""};
  const bool unlimited = facts.Can("CAP_IPC_LOCK");
  Note note{"perf_event_mlock_kb",
            fmt::format("{}: {}", *facts.perf_event_mlock_kb,
                        unlimited ? "does not bind this process" : "bounds the trace buffers"),
            ""};
  if (!unlimited && *facts.perf_event_mlock_kb < 4096)
    note.fix = "sudo sysctl kernel.perf_event_mlock_kb=65536";
  return note;
}

Note JudgeKernelPointers(const DoctorFacts& facts) {
  if (!facts.kptr_restrict) return {"kptr_restrict", "not there", ""};
  const bool hidden =
      *facts.kptr_restrict == 2 || (*facts.kptr_restrict == 1 && !facts.Can("CAP_SYSLOG"));
  return {"kptr_restrict",
          fmt::format("{}: kernel symbols are {}", *facts.kptr_restrict,
                      hidden ? "hidden" : "readable"),
          hidden ? "sudo sysctl kernel.kptr_restrict=0" : ""};
}

Note JudgePtraceScope(const DoctorFacts& facts) {
  if (!facts.ptrace_scope) return {"ptrace_scope", "not there: ptrace is not restricted", ""};
  const int64_t value = *facts.ptrace_scope;
  const char* what = value == 0   ? "may attach to own processes"
                     : value == 1 ? "may trace what one starts"
                     : value == 2 ? "only with CAP_SYS_PTRACE"
                                  : "nobody may attach";
  return {"ptrace_scope", fmt::format("{}: {}", value, what), ""};
}

Note JudgeLockdown(const DoctorFacts& facts) {
  if (facts.lockdown.empty() || facts.lockdown == "none") return {"lockdown", "none", ""};
  return {"lockdown", facts.lockdown + ": kernel memory (kcore) can't be read", ""};
}

}  // namespace

std::vector<Verdict> JudgeEngines(const DoctorFacts& facts,
                                  const std::vector<std::string_view>& engines) {
  const auto built = [&](std::string_view name) {
    return std::ranges::find(engines, name) != engines.end();
  };
  const bool arm = facts.vendor.starts_with("ARM");
  return {JudgePt(facts, built("pt")),
          JudgeBranchStack(facts, "lbr", "LBR", IsX86(facts), built("lbr")),
          JudgeBranchStack(facts, "brbe", "BRBE", arm, built("brbe")),
          JudgeEmulator(facts, built("emulate")), JudgeStep(facts, built("step"))};
}

std::vector<Note> JudgePermissions(const DoctorFacts& facts) {
  std::string capabilities;
  for (const std::string& name : facts.capabilities)
    capabilities += (capabilities.empty() ? "" : ", ") + name;
  return {JudgeParanoid(facts),
          JudgeMlock(facts),
          JudgeKernelPointers(facts),
          JudgePtraceScope(facts),
          JudgeLockdown(facts),
          {"capabilities", capabilities.empty() ? "none" : capabilities, ""}};
}

}  // namespace flowback::cli
