// SPDX-License-Identifier: MIT
// `doctor` on machines made of files.
#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/run_program.h"

namespace flowback::test {
namespace {

using nlohmann::json;

// A machine as /proc and /sys describe it.
class FakeMachine {
 public:
  FakeMachine(const std::string& vendor, const std::string& flags) {
    root_.Write("proc/cpuinfo", "processor\t: 0\nvendor_id\t: " + vendor +
                                    "\nmodel name\t: Test CPU\nflags\t\t: " + flags + "\n");
    Set("proc/sys/kernel/perf_event_paranoid", "2");
    Set("proc/sys/kernel/perf_event_mlock_kb", "516");
    Set("proc/sys/kernel/kptr_restrict", "0");
    Set("proc/sys/kernel/osrelease", "6.1.0-test");
    SetCapabilities("0000000000000000");
    std::filesystem::create_directories(root_.File("sys/bus/event_source/devices/software"));
  }

  void Set(const std::string& file, const std::string& line) const {
    root_.Write(file, line + "\n");
  }
  void SetCapabilities(const std::string& mask) const {
    Set("proc/self/status", "Name:\ttest\nCapEff:\t" + mask + "\nSeccomp:\t0");
  }
  void AddEmulator(const std::string& content, const std::string& name = "qemu-x86_64") const {
    const std::string path = root_.Write("usr/bin/" + name, content);
    std::filesystem::permissions(path, std::filesystem::perms(0755));
  }
  void AddIntelPt() const {
    Set("sys/bus/event_source/devices/intel_pt/type", "8");
    Set("sys/bus/event_source/devices/intel_pt/caps/psb_cyc", "1");
    Set("sys/bus/event_source/devices/intel_pt/format/cyc", "config:1");
  }

  json Diagnose() const {
    const ProgramResult result = RunFlowback({"doctor", "--json", "--sysroot", root_.path()});
    EXPECT_EQ(result.status, 0) << result.err;
    return json::parse(result.out, nullptr, false);
  }
  // The verdict on one engine.
  json Judge(const std::string& engine) const {
    const json diagnosis = Diagnose();
    for (const json& verdict : diagnosis["recording"])
      if (verdict["engine"] == engine) return verdict;
    ADD_FAILURE() << "no verdict on " << engine;
    return {};
  }
  json Permission(const std::string& name) const {
    const json diagnosis = Diagnose();
    for (const json& note : diagnosis["permissions"])
      if (note["name"] == name) return note;
    ADD_FAILURE() << "nothing on " << name;
    return {};
  }

 private:
  ScratchFolder root_;
};

bool Says(const json& text, const std::string& words) {
  return text.is_string() && text.get<std::string>().contains(words);
}

TEST(Doctor, IntelMachineWithPt) {
  FakeMachine machine("GenuineIntel", "lm intel_pt");
  machine.AddIntelPt();
  const json verdict = machine.Judge("pt");
  EXPECT_EQ(verdict["machine"], true);
  EXPECT_TRUE(Says(verdict["found_by"], "has type 8")) << verdict;
  EXPECT_EQ(machine.Diagnose()["intel_pt"]["caps"]["psb_cyc"], "1");
}

TEST(Doctor, PtForbiddenByParanoid) {
  FakeMachine machine("GenuineIntel", "lm intel_pt");
  machine.AddIntelPt();
  machine.Set("proc/sys/kernel/perf_event_paranoid", "3");
  const json verdict = machine.Judge("pt");
  EXPECT_EQ(verdict["usable"], false);
  EXPECT_EQ(verdict["machine"], false);
  EXPECT_TRUE(Says(verdict["found_by"], "perf_event_paranoid is 3")) << verdict;
  EXPECT_EQ(verdict["fix"], "sudo sysctl kernel.perf_event_paranoid=2");
}

TEST(Doctor, PrivilegeOverridesParanoid) {
  FakeMachine machine("GenuineIntel", "lm intel_pt");
  machine.AddIntelPt();
  machine.Set("proc/sys/kernel/perf_event_paranoid", "4");
  machine.SetCapabilities("0000004000000000");  // CAP_PERFMON
  EXPECT_EQ(machine.Judge("pt")["machine"], true);
  EXPECT_EQ(machine.Permission("capabilities")["text"], "CAP_PERFMON");
  EXPECT_TRUE(machine.Permission("perf_event_paranoid")["fix"].is_null());
}

TEST(Doctor, VirtualMachineWithoutPt) {
  const FakeMachine machine("GenuineIntel", "lm hypervisor");
  const json verdict = machine.Judge("pt");
  EXPECT_EQ(verdict["machine"], false);
  EXPECT_TRUE(Says(verdict["why"], "virtual machine")) << verdict;
  EXPECT_TRUE(Says(verdict["found_by"], "intel_pt is missing"));
  EXPECT_TRUE(Says(verdict["found_by"], "flag hypervisor present"));
  EXPECT_TRUE(Says(verdict["fix"], "pt_mode=1"));
  EXPECT_TRUE(Says(verdict["instead"], "--engine step"));
  const json machine_facts = machine.Diagnose()["machine"];
  EXPECT_EQ(machine_facts["virtual"], true);
  EXPECT_EQ(machine_facts["flags"], (json{"lm", "hypervisor"}));
  EXPECT_EQ(machine_facts["pmus"], (json{"software"}));
}

// No PMU at all: the branch stack is the host's to give.
TEST(Doctor, VirtualMachineWithoutPmu) {
  FakeMachine machine("GenuineIntel", "lm hypervisor arch_lbr");
  machine.Set("sys/class/dmi/id/product_name", "Standard PC");
  machine.Set("perf_event_open", "software 0\nbranches 2");
  const json lbr = machine.Judge("lbr");
  EXPECT_EQ(lbr["machine"], false);
  EXPECT_TRUE(Says(lbr["why"], "virtual machine")) << lbr;
  EXPECT_TRUE(Says(lbr["found_by"], "No such file")) << lbr;
  EXPECT_TRUE(Says(lbr["fix"], "on the host"));
  EXPECT_EQ(machine.Diagnose()["machine"]["hypervisor"], "Standard PC");
}

// Only trying shows what a container's filter refuses.
TEST(Doctor, ContainerWithoutPerfEventOpen) {
  FakeMachine machine("GenuineIntel", "lm intel_pt");
  machine.AddIntelPt();
  machine.Set("proc/self/status", "CapEff:\t0000000000000000\nSeccomp:\t2");
  machine.Set(".dockerenv", "");
  machine.Set("perf_event_open", "software 1\npt 1\nbranches 1");
  const json pt = machine.Judge("pt");
  EXPECT_EQ(pt["machine"], false);
  EXPECT_TRUE(Says(pt["why"], "the container forbids it")) << pt;
  EXPECT_TRUE(Says(pt["found_by"], "perf_event_open: Operation not permitted")) << pt;
  EXPECT_TRUE(Says(pt["fix"], "--cap-add=PERFMON")) << pt;
  EXPECT_TRUE(Says(machine.Permission("perf_event_open")["text"], "the container forbids"));
  EXPECT_TRUE(Says(machine.Permission("seccomp")["text"], "a filter"));
  EXPECT_TRUE(Says(machine.Permission("container")["text"], "/.dockerenv"));
}

TEST(Doctor, LockedDownKernel) {
  FakeMachine machine("GenuineIntel", "lm intel_pt");
  machine.AddIntelPt();
  machine.Set("sys/kernel/security/lockdown", "none integrity [confidentiality]");
  machine.Set("perf_event_open", "software 0\npt 1");
  const json pt = machine.Judge("pt");
  EXPECT_EQ(pt["machine"], false);
  EXPECT_TRUE(Says(pt["why"], "locked down")) << pt;
  EXPECT_TRUE(Says(pt["fix"], "lockdown=confidentiality")) << pt;
}

// What the kernel says counts more than what the rules would make one expect.
TEST(Doctor, TryingDecides) {
  FakeMachine machine("GenuineIntel", "lm intel_pt");
  machine.AddIntelPt();
  machine.Set("perf_event_open", "software 0\npt 16");
  EXPECT_TRUE(Says(machine.Judge("pt")["why"], "something else uses it now"));
  machine.Set("perf_event_open", "software 0\npt 0");
  machine.Set("proc/sys/kernel/perf_event_paranoid", "3");
  EXPECT_EQ(machine.Judge("pt")["machine"], true);
  EXPECT_TRUE(Says(machine.Judge("pt")["found_by"], "tried: perf_event_open works"));
}

TEST(Doctor, CpuHasPtButTheKernelDoesNot) {
  const FakeMachine machine("GenuineIntel", "lm intel_pt");
  EXPECT_TRUE(Says(machine.Judge("pt")["why"], "the kernel does not offer it"));
}

TEST(Doctor, AmdMachine) {
  FakeMachine machine("AuthenticAMD", "lm amd_lbr_v2");
  machine.Set("sys/bus/event_source/devices/cpu/caps/branches", "16");
  EXPECT_TRUE(Says(machine.Judge("pt")["why"], "another maker"));
  const json lbr = machine.Judge("lbr");
  EXPECT_EQ(lbr["machine"], true);
  EXPECT_TRUE(Says(lbr["why"], "16 entries")) << lbr;
  EXPECT_TRUE(Says(machine.Judge("brbe")["why"], "another architecture"));
}

TEST(Doctor, AmdZen3SamplesBranchesWithAnEventOfItsOwn) {
  FakeMachine machine("AuthenticAMD", "lm brs");
  EXPECT_TRUE(Says(machine.Judge("lbr")["why"], "has AMD BRS but the kernel"));
  EXPECT_TRUE(Says(machine.Judge("lbr")["fix"], "Linux 5.19"));
  machine.Set("sys/bus/event_source/devices/cpu/caps/branches", "16");
  machine.Set("sys/bus/event_source/devices/cpu/events/branch-brs", "event=0xc4");
  machine.Set("perf_event_open", "software 0\nbranches 22");  // any other event is refused
  const json lbr = machine.Judge("lbr");
  EXPECT_EQ(lbr["machine"], true) << lbr;
  EXPECT_TRUE(Says(lbr["why"], "AMD BRS: branch stacks of 16 entries")) << lbr;
  EXPECT_EQ(lbr["usable"], true) << lbr;
}

TEST(Doctor, AmdZen4WithAnOldKernel) {
  const json lbr = FakeMachine("AuthenticAMD", "lm amd_lbr_v2").Judge("lbr");
  EXPECT_TRUE(Says(lbr["why"], "LbrExtV2"));
  EXPECT_EQ(lbr["fix"], "boot Linux 6.1 or newer");
}

TEST(Doctor, IntelBranchStacksOfAnOlderKernelShowWhenTried) {
  FakeMachine machine("GenuineIntel", "lm");
  EXPECT_EQ(machine.Judge("lbr")["machine"], false);
  machine.Set("perf_event_open", "software 0\nbranches 0");
  EXPECT_EQ(machine.Judge("lbr")["machine"], true);
}

TEST(Doctor, AttachingNeedsMoreThanStarting) {
  FakeMachine machine("GenuineIntel", "lm");
  EXPECT_EQ(machine.Judge("attach")["usable"], true);
  machine.Set("proc/sys/kernel/yama/ptrace_scope", "1");
  EXPECT_EQ(machine.Judge("step")["usable"], true);
  const json attach = machine.Judge("attach");
  EXPECT_EQ(attach["usable"], false);
  EXPECT_EQ(attach["fix"], "sudo sysctl kernel.yama.ptrace_scope=0");
  EXPECT_TRUE(Says(attach["instead"], "--engine step"));
  machine.SetCapabilities("0000000000080000");  // CAP_SYS_PTRACE
  EXPECT_EQ(machine.Judge("attach")["usable"], true);
}

TEST(Doctor, EmulatorMustLoadPlugins) {
  FakeMachine machine("AuthenticAMD", "lm");
  EXPECT_TRUE(Says(machine.Judge("emulate")["fix"], "sudo apt-get install qemu-user"));
  EXPECT_TRUE(machine.Diagnose()["emulator"].is_null());
  machine.AddEmulator(std::string("\x7f") + "ELF");
  const json without = machine.Judge("emulate");
  EXPECT_EQ(without["usable"], false);
  EXPECT_TRUE(Says(without["why"], "without support for plugins")) << without;
  EXPECT_FALSE(Says(without["fix"], "apt-get")) << without;
  EXPECT_TRUE(Says(without["fix"], "--enable-plugins")) << without;
  EXPECT_EQ(machine.Diagnose()["emulator"]["plugins"], false);
  EXPECT_TRUE(machine.Diagnose()["emulator"]["plugin_interface"].is_null());
  EXPECT_TRUE(Says(machine.Judge("pt")["instead"], "--engine step"));
}

// As Debian 13's: no dynamic linker is there to load them.
TEST(Doctor, AStaticEmulatorCantLoadPlugins) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_phoff = sizeof header;
  header.e_phnum = 1;
  Elf64_Phdr segment{};
  segment.p_type = PT_LOAD;
  std::string file(reinterpret_cast<const char*>(&header), sizeof header);
  file.append(reinterpret_cast<const char*>(&segment), sizeof segment);
  FakeMachine machine("AuthenticAMD", "lm");
  machine.AddEmulator(file);
  const json verdict = machine.Judge("emulate");
  EXPECT_EQ(verdict["usable"], false);
  EXPECT_TRUE(Says(verdict["why"], "is linked statically")) << verdict;
  EXPECT_TRUE(Says(verdict["found_by"], "names no dynamic linker")) << verdict;
  EXPECT_TRUE(Says(verdict["fix"], "Debian 12's qemu-user")) << verdict;
  EXPECT_FALSE(Says(verdict["fix"], "apt-get")) << verdict;
  EXPECT_TRUE(Says(verdict["instead"], "--engine step"));
}

// The emulator comes before single-stepping wherever something else is missing.
TEST(Doctor, EmulatorIsTheNextBest) {
  const std::string emulator = ReadFile("/usr/bin/qemu-x86_64");
  if (emulator.empty()) GTEST_SKIP() << "qemu-user is not installed";
  FakeMachine machine("AuthenticAMD", "lm");
  machine.AddEmulator(emulator);
  const json verdict = machine.Judge("emulate");
  EXPECT_EQ(verdict["machine"], true) << verdict;
  EXPECT_TRUE(Says(verdict["found_by"], "/usr/bin/qemu-x86_64, loads plugins, interface version "))
      << verdict;
  EXPECT_GE(machine.Diagnose()["emulator"]["plugin_interface"], 1);
  if (verdict["usable"] == true) {
    EXPECT_TRUE(Says(machine.Judge("lbr")["instead"], "--engine emulate"));
  }
}

// The package has both, but one may be there alone.
TEST(Doctor, ThirtyTwoBitProgramsHaveAnEmulatorOfTheirOwn) {
  FakeMachine machine("AuthenticAMD", "lm");
  const json missing = machine.Judge("32-bit");
  EXPECT_EQ(missing["usable"], false);
  EXPECT_TRUE(Says(missing["why"], "32-bit programs")) << missing;
  EXPECT_EQ(missing["found_by"], "qemu-i386 is not in PATH");
  EXPECT_TRUE(Says(missing["fix"], "sudo apt-get install qemu-user"));
  EXPECT_TRUE(Says(missing["instead"], "--engine step"));
  EXPECT_TRUE(machine.Diagnose()["emulator_32"].is_null());
  machine.AddEmulator(std::string("\x7f") + "ELF", "qemu-i386");
  const json without = machine.Judge("32-bit");
  EXPECT_EQ(without["usable"], false);
  EXPECT_TRUE(Says(without["why"], "32-bit programs: the emulator /")) << without;
  EXPECT_TRUE(Says(without["fix"], "--enable-plugins")) << without;
  EXPECT_EQ(machine.Diagnose()["emulator_32"]["plugins"], false);
  EXPECT_EQ(machine.Judge("emulate")["found_by"], "qemu-x86_64 is not in PATH");
  const std::string emulator = ReadFile("/usr/bin/qemu-i386");
  if (emulator.empty()) GTEST_SKIP() << "qemu-user is not installed";
  machine.AddEmulator(emulator, "qemu-i386");
  const json there = machine.Judge("32-bit");
  EXPECT_EQ(there["machine"], true) << there;
  EXPECT_TRUE(Says(there["found_by"], "/usr/bin/qemu-i386, loads plugins, interface version "))
      << there;
}

TEST(Doctor, ArmMachineWithBrbe) {
  FakeMachine machine("", "");
  machine.Set("proc/cpuinfo", "processor\t: 0\nFeatures\t: fp asimd\nCPU implementer\t: 0x41");
  machine.Set("sys/bus/event_source/devices/armv8_pmuv3_0/caps/branches", "32");
  EXPECT_EQ(machine.Judge("brbe")["machine"], true);
  EXPECT_TRUE(Says(machine.Judge("brbe")["why"], "32 entries"));
  EXPECT_EQ(machine.Judge("step")["usable"], false);
  EXPECT_TRUE(Says(machine.Judge("step")["why"], "x86-64 only"));
  EXPECT_TRUE(Says(machine.Judge("pt")["why"], "needs an Intel CPU"));
}

TEST(Doctor, StepWorksAnywhereOnX86) {
  const json verdict = FakeMachine("AuthenticAMD", "lm").Judge("step");
  EXPECT_EQ(verdict["usable"], true);
  EXPECT_TRUE(verdict["instead"].is_null());
}

TEST(Doctor, StepForbiddenByYama) {
  FakeMachine machine("GenuineIntel", "lm");
  machine.Set("proc/sys/kernel/yama/ptrace_scope", "3");
  const json verdict = machine.Judge("step");
  EXPECT_EQ(verdict["usable"], false);
  EXPECT_TRUE(Says(verdict["found_by"], "ptrace_scope is 3"));
  EXPECT_TRUE(Says(verdict["fix"], "ptrace_scope=1"));
}

TEST(Doctor, ReportsLimits) {
  FakeMachine machine("GenuineIntel", "lm");
  machine.Set("sys/kernel/security/lockdown", "none [integrity] confidentiality");
  machine.Set("proc/sys/kernel/kptr_restrict", "1");
  EXPECT_TRUE(Says(machine.Permission("lockdown")["text"], "integrity"));
  EXPECT_TRUE(Says(machine.Permission("kptr_restrict")["text"], "hidden"));
  EXPECT_EQ(machine.Permission("perf_event_mlock_kb")["fix"],
            "sudo sysctl kernel.perf_event_mlock_kb=65536");
}

// Nothing is there: no crash, and a verdict on everything.
TEST(Doctor, EmptyMachine) {
  const ScratchFolder nothing;
  const ProgramResult result = RunFlowback({"doctor", "--sysroot", nothing.path()});
  EXPECT_EQ(result.status, 0);
  for (const char* engine :
       {"  pt ", "  lbr ", "  brbe ", "  emulate ", "  32-bit ", "  step ", "  attach "})
    EXPECT_TRUE(result.out.contains(engine)) << result.out;
}

TEST(Doctor, ThisMachine) {
  const ProgramResult result = RunFlowback({"doctor"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_TRUE(result.out.contains("machine:")) << result.out;
  EXPECT_TRUE(result.out.contains("perf_event_open: tried: ")) << result.out;
  // The verdicts on the software engines agree with their behaviour.
  const json diagnosis = json::parse(RunFlowback({"doctor", "--json"}).out);
  for (const json& verdict : diagnosis["recording"]) {
    const std::string engine = verdict["engine"];
    if (engine != "emulate" && engine != "step") continue;
    const ProgramResult recorded =
        RunFlowback({"record", "--engine", engine, "-o", "/dev/null", "--", "true"});
    EXPECT_EQ(recorded.status == 0, verdict["usable"] == true) << verdict << recorded.err;
  }
}

}  // namespace
}  // namespace flowback::test
