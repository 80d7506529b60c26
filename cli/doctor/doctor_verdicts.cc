// SPDX-License-Identifier: MIT
#include "cli/doctor/doctor_verdicts.h"

#include <errno.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "capture/record/emulate/emulator_file.h"

namespace flowback::cli {
namespace {

bool IsIntel(const HostFacts& facts) { return facts.vendor == "GenuineIntel"; }
bool IsAmd(const HostFacts& facts) {
  return facts.vendor == "AuthenticAMD" || facts.vendor == "HygonGenuine";
}
bool IsArm(const HostFacts& facts) { return facts.vendor.starts_with("ARM"); }
bool IsX86(const HostFacts& facts) { return IsIntel(facts) || IsAmd(facts) || facts.Flag("lm"); }
bool IsVirtual(const HostFacts& facts) { return facts.Flag("hypervisor"); }

std::string FlagText(const HostFacts& facts, const std::string& flag) {
  return fmt::format("flag {} {}", flag, facts.Flag(flag) ? "present" : "absent");
}

std::string VendorText(const HostFacts& facts) {
  return "/proc/cpuinfo: vendor " + (facts.vendor.empty() ? "unknown" : facts.vendor);
}

// User-only tracing of one's own programs, by the rules in /proc.
bool MayOpenPerfEvents(const HostFacts& facts) {
  return !facts.perf_event_paranoid || *facts.perf_event_paranoid <= 2 ||
         facts.Can("CAP_PERFMON") || facts.Can("CAP_SYS_ADMIN");
}

// Why an event that the kernel offers can't be opened; nothing when it can, or when that was not
// tried and no rule forbids it. `kind`: also "software" stands for all events.
std::optional<Obstacle> WhyForbidden(const HostFacts& facts, const std::string& kind) {
  for (const std::string& name : {kind, std::string("software")}) {
    const Trial* trial = facts.Tried(name);
    if (trial != nullptr && !trial->ok()) return ExplainRefusal(facts, trial->error);
    if (trial != nullptr) return std::nullopt;
  }
  if (MayOpenPerfEvents(facts)) return std::nullopt;
  return ExplainRefusal(facts, EACCES);
}

// The hardware is there, `v` says so; what permissions make of it.
void JudgeUse(const HostFacts& facts, const std::string& trial, Verdict& v) {
  if (const auto obstacle = WhyForbidden(facts, trial)) {
    v.why += "; " + obstacle->why;
    v.found_by += "; " + obstacle->found_by;
    v.fix = obstacle->fix;
    return;
  }
  if (facts.Tried(trial) != nullptr) v.found_by += "; tried: perf_event_open works";
  v.machine = v.usable = true;
  v.instead.clear();
}

// ---- Intel PT ----

std::string NoPtReason(const HostFacts& facts) {
  if (!IsX86(facts)) return "Intel PT needs an Intel CPU";
  if (!IsIntel(facts)) return "Intel PT needs an Intel CPU; this one is from another maker";
  if (facts.Flag("intel_pt")) return "the CPU has Intel PT but the kernel does not offer it";
  if (IsVirtual(facts)) return "this virtual machine has no Intel PT";
  return "the CPU has no Intel PT: it is older than Broadwell, or the firmware has switched it off";
}

std::string NoPtFix(const HostFacts& facts) {
  if (!IsIntel(facts)) return "";
  if (IsVirtual(facts))
    return "on the host: modprobe kvm_intel pt_mode=1, and start the guest with -cpu "
           "host,intel-pt=on";
  if (facts.Flag("intel_pt"))
    return "boot a kernel with CONFIG_PERF_EVENTS_INTEL_PT support (4.2 or newer)";
  return "";
}

Verdict JudgePt(const HostFacts& facts, const std::string& instead) {
  Verdict v{.kind = "pt", .instead = instead};
  if (facts.pt_type) {
    v.why = "Intel PT is there";
    v.found_by = fmt::format("{}/intel_pt has type {}", kPmuFolder, *facts.pt_type);
    JudgeUse(facts, "pt", v);
  } else {
    v.why = NoPtReason(facts);
    v.found_by = fmt::format("{}/intel_pt is missing; {}, {}, {}", kPmuFolder, VendorText(facts),
                             FlagText(facts, "intel_pt"), FlagText(facts, "hypervisor"));
    v.fix = NoPtFix(facts);
  }
  return v;
}

// ---- branch stacks ----

// What the CPU would offer.
std::string LbrName(const HostFacts& facts) {
  if (!IsAmd(facts)) return facts.Flag("arch_lbr") ? "LBR (architectural)" : "LBR";
  if (facts.Flag("amd_lbr_v2")) return "AMD LBR v2 (LbrExtV2)";
  if (facts.Flag("brs") || facts.has_brs_event) return "AMD BRS";
  return "branch stack of AMD";
}

std::string NoLbrFix(const HostFacts& facts) {
  if (IsVirtual(facts))
    return IsAmd(facts)
               ? "on the host: -cpu host,pmu=on, where its hypervisor passes AMD's branch stack on"
               : "on the host: give the guest a virtual PMU with LBR (-cpu host,pmu=on)";
  if (facts.Flag("amd_lbr_v2")) return "boot Linux 6.1 or newer";
  if (facts.Flag("brs")) return "boot Linux 5.19 or newer with CONFIG_PERF_EVENTS_AMD_BRS=y";
  return "";
}

std::string NoLbrReason(const HostFacts& facts) {
  if (IsVirtual(facts)) return "this virtual machine has no branch stack";
  if (facts.Flag("amd_lbr_v2") || facts.Flag("brs"))
    return fmt::format("the CPU has {} but the kernel does not offer it", LbrName(facts));
  if (IsAmd(facts)) return "the CPU has no branch stack: AMD has one from Zen 3 on";
  return "the kernel offers no branch stack";
}

Verdict JudgeLbr(const HostFacts& facts, const std::string& instead) {
  Verdict v{.kind = "lbr", .instead = instead};
  const Trial* trial = facts.Tried("branches");
  const bool works = trial != nullptr && trial->ok();
  if (!IsX86(facts)) {
    v.why = "the CPU is of another architecture";
    v.found_by = VendorText(facts);
  } else if (facts.branch_entries || facts.has_brs_event || works) {
    v.why = LbrName(facts);
    v.why += facts.branch_entries
                 ? fmt::format(": branch stacks of {} entries", *facts.branch_entries)
                 : ": branch stacks are there";
    v.found_by = facts.branch_entries  ? facts.branch_source + " says so"
                 : facts.has_brs_event ? std::string(kPmuFolder) + "/cpu/events/branch-brs is there"
                                       : "the kernel opens them";
    // BRS works with an event of its own, and with a fixed period only: the trial's is another.
    const bool brs = facts.has_brs_event && !facts.Flag("amd_lbr_v2");
    JudgeUse(facts, brs ? "software" : "branches", v);
  } else {
    v.why = NoLbrReason(facts);
    v.found_by = fmt::format("no caps/branches under {}/cpu*; {}", kPmuFolder, VendorText(facts));
    if (trial != nullptr)
      v.found_by += fmt::format("; perf_event_open: {}", std::strerror(trial->error));
    if (const auto obstacle = WhyForbidden(facts, "software"))
      v.found_by += "; " + obstacle->found_by;
    v.fix = NoLbrFix(facts);
  }
  return v;
}

Verdict JudgeBrbe(const HostFacts& facts, const std::string& instead) {
  Verdict v{.kind = "brbe", .instead = instead};
  if (!IsArm(facts)) {
    v.why = "the CPU is of another architecture";
    v.found_by = VendorText(facts);
  } else if (facts.branch_entries) {
    v.why = fmt::format("BRBE: branch stacks of {} entries", *facts.branch_entries);
    v.found_by = facts.branch_source + " says so";
    JudgeUse(facts, "branches", v);
  } else {
    v.why = "the kernel offers no branch stack";
    v.found_by = fmt::format("{}; no caps/branches under {}/arm*", VendorText(facts), kPmuFolder);
    v.fix = "boot Linux 6.17 or newer with CONFIG_ARM64_BRBE on a CPU with FEAT_BRBE";
  }
  return v;
}

// ---- software ----

// An emulator, as far as its file shows.
struct Emulator {
  std::string_view name;
  bool known;  // somebody looked for it
  const std::string& path;
  const std::string& version;
  const std::optional<EmulatorPlugins>& plugins;

  std::string Text() const { return path + (version.empty() ? "" : ", version " + version); }
};

// Returns false, with the reason in `v`, if its file shows that it cannot record.
bool FileWillDo(const Emulator& emulator, Verdict& v) {
  if (!emulator.known) {
    v.why = "the tree does not contain whether an emulator is installed";
    v.found_by = "a tree holds the kernel's facts, not programs";
    v.fix = "flowback doctor on the machine itself looks for one";
    return false;
  }
  if (emulator.path.empty()) {
    v.why = "an emulator is not installed";
    v.found_by = fmt::format("{} is not in PATH", emulator.name);
    v.fix = kInstallEmulator;
    return false;
  }
  if (!emulator.plugins || emulator.plugins->interface_version != 0) {
    v.found_by =
        emulator.Text() + (emulator.plugins ? fmt::format(", loads plugins, interface version {}",
                                                          emulator.plugins->interface_version)
                                            : "; whether it loads plugins is not known");
    return true;
  }
  const Error error = NoPlugins(emulator.path, *emulator.plugins);
  v.why = error.message();
  v.found_by = emulator.Text() + (emulator.plugins->linked_statically
                                      ? ": its file names no dynamic linker"
                                      : ": it exports none of the functions that plugins call");
  v.fix = error.remedy();
  return false;
}

Verdict JudgeEmulator(const HostFacts& facts) {
  Verdict v{.kind = "emulate"};
  const Trial* trial = facts.Tried("emulate");
  const Emulator emulator{.name = "qemu-x86_64",
                          .known = facts.programs_known,
                          .path = facts.qemu_user,
                          .version = facts.qemu_version,
                          .plugins = facts.qemu_plugins};
  if (!facts.Flag("lm")) {
    v.why = "emulating is built for x86-64 only";
    v.found_by = "/proc/cpuinfo has no flag lm";
  } else if (!FileWillDo(emulator, v)) {
    return v;
  } else if (trial != nullptr && !trial->ok()) {
    v.why = "an emulator is installed, but recording fails: " + trial->text;
    v.found_by = emulator.Text() + "; tried";
    v.fix = trial->remedy;
  } else {
    v.machine = v.usable = true;
    v.why = "an emulator is installed: exact, 7 to 40 times slower than native (gzip; python3)";
    if (trial != nullptr) v.found_by += "; tried: " + trial->text;
  }
  return v;
}

// No 32-bit program is sure to be there: its emulator's file is all that can be judged.
Verdict JudgeShortEmulator(const HostFacts& facts) {
  Verdict v{.kind = "32-bit"};
  const Emulator emulator{.name = "qemu-i386",
                          .known = facts.programs_known,
                          .path = facts.short_qemu_user,
                          .version = facts.short_qemu_version,
                          .plugins = facts.short_qemu_plugins};
  if (!facts.Flag("lm")) {
    v.why = "emulating is built for x86-64 only";
    v.found_by = "/proc/cpuinfo has no flag lm";
  } else if (FileWillDo(emulator, v)) {
    v.machine = v.usable = true;
    v.why = "--engine emulate runs 32-bit programs, too";
    v.found_by += "; not tried, for want of such a program";
  } else {
    if (facts.programs_known) v.why = "--engine emulate can't run 32-bit programs: " + v.why;
  }
  return v;
}

std::string YamaText(const HostFacts& facts) {
  return facts.ptrace_scope
             ? fmt::format("/proc/sys/kernel/yama/ptrace_scope is {}", *facts.ptrace_scope)
             : "/proc/sys/kernel/yama is not there: ptrace is not restricted";
}

Verdict JudgeStep(const HostFacts& facts) {
  constexpr int64_t kNobodyMayAttach = 3;
  Verdict v{.kind = "step"};
  const Trial* trial = facts.Tried("step");
  v.found_by = YamaText(facts);
  if (!facts.Flag("lm")) {
    v.why = "single-stepping is built for x86-64 only";
    v.found_by = "/proc/cpuinfo has no flag lm";
  } else if (trial != nullptr
                 ? !trial->ok()
                 : facts.ptrace_scope == kNobodyMayAttach && !facts.Can("CAP_SYS_PTRACE")) {
    v.why = trial != nullptr ? trial->text : "nobody may use ptrace";
    v.fix = facts.ptrace_scope == kNobodyMayAttach || trial == nullptr
                ? "boot with kernel.yama.ptrace_scope=1 in /etc/sysctl.d"
                : trial->remedy;
  } else {
    v.machine = v.usable = true;
    v.why =
        "ptrace works for programs one starts oneself: exact, at some 25000 instructions a second";
    if (trial != nullptr) v.found_by += "; tried: " + trial->text;
  }
  return v;
}

// Judges recording of running processes.
Verdict JudgeAttach(const HostFacts& facts, const Verdict& step) {
  Verdict v{.kind = "attach", .found_by = YamaText(facts)};
  const int64_t scope = facts.ptrace_scope.value_or(0);
  if (!step.machine) {
    v.why = step.why;
    v.found_by = step.found_by;
    v.fix = step.fix;
  } else if (scope > 0 && !facts.Can("CAP_SYS_PTRACE")) {
    v.why = "only programs that one starts oneself may be traced";
    v.found_by += "; CAP_SYS_PTRACE is missing";
    v.fix = scope < 3 ? "sudo sysctl kernel.yama.ptrace_scope=0"
                      : "boot with kernel.yama.ptrace_scope=0 in /etc/sysctl.d";
  } else {
    v.machine = v.usable = true;
    v.why = facts.Can("CAP_SYS_PTRACE")
                ? "any process may be single-stepped: record -p PID"
                : "one's own processes may be single-stepped: record -p PID";
  }
  return v;
}

// The best that works here.
std::string WhatWorks(const Verdict& emulate, const Verdict& step) {
  if (emulate.usable) return "flowback record --engine emulate -- CMD";
  if (step.usable) return "flowback record --engine step -- CMD";
  return "open a recording made elsewhere: flowback info FILE";
}

}  // namespace

Obstacle ExplainRefusal(const HostFacts& facts, int error) {
  const std::string called = fmt::format("perf_event_open: {}", std::strerror(error));
  const int64_t paranoid = facts.perf_event_paranoid.value_or(0);
  if (error == EACCES && paranoid > 2)
    return {"this user may not use it",
            fmt::format("perf_event_paranoid is {} and CAP_PERFMON is missing", paranoid),
            "sudo sysctl kernel.perf_event_paranoid=2"};
  if (error == EPERM && facts.lockdown == "confidentiality")
    return {"the kernel is locked down", called + "; lockdown is confidentiality",
            "boot without lockdown=confidentiality (Secure Boot may set it)"};
  if ((error == EPERM || error == ENOSYS) && (facts.seccomp == 2 || !facts.container.empty()))
    return {"the container forbids it",
            called + (facts.container.empty() ? "; a seccomp filter is set"
                                              : "; " + facts.container + " is there"),
            "start it with --cap-add=PERFMON --security-opt seccomp=unconfined"};
  if (error == ENOSYS)
    return {"the kernel is built without perf events", called,
            "boot one with CONFIG_PERF_EVENTS=y"};
  if (error == EACCES || error == EPERM)
    return {"a security module forbids it", called,
            "sudo dmesg shows which one refused perf_event_open"};
  if (error == EBUSY)
    return {"something else uses it now", called, "end the other recording: ps -C perf"};
  return {"the kernel refuses it", called, ""};
}

std::vector<Verdict> JudgeEngines(const HostFacts& facts) {
  Verdict emulate = JudgeEmulator(facts);
  Verdict short_emulate = JudgeShortEmulator(facts);
  Verdict step = JudgeStep(facts);
  Verdict attach = JudgeAttach(facts, step);
  const std::string works = WhatWorks(emulate, step);
  for (Verdict* verdict : {&emulate, &step, &attach})
    if (!verdict->usable) verdict->instead = works;
  if (!short_emulate.usable) short_emulate.instead = WhatWorks(short_emulate, step);
  return {JudgePt(facts, works), JudgeLbr(facts, works),   JudgeBrbe(facts, works),
          std::move(emulate),    std::move(short_emulate), std::move(step),
          std::move(attach)};
}

}  // namespace flowback::cli
