// SPDX-License-Identifier: MIT
// `doctor` on machines made of files.
#include <gtest/gtest.h>

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

TEST(Doctor, ArmMachineWithBrbe) {
  FakeMachine machine("", "");
  machine.Set("proc/cpuinfo", "processor\t: 0\nFeatures\t: fp asimd\nCPU implementer\t: 0x41");
  machine.Set("sys/bus/event_source/devices/armv8_pmuv3_0/caps/branches", "32");
  EXPECT_EQ(machine.Judge("brbe")["machine"], true);
  EXPECT_TRUE(Says(machine.Judge("brbe")["why"], "32 entries"));
  EXPECT_EQ(machine.Judge("step")["usable"], false);
  EXPECT_TRUE(Says(machine.Judge("step")["why"], "x86-64 only"));
  EXPECT_TRUE(Says(machine.Judge("pt")["why"], "not an Intel CPU"));
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
  for (const char* engine : {"  pt ", "  lbr ", "  brbe ", "  emulate ", "  step "})
    EXPECT_TRUE(result.out.contains(engine)) << result.out;
}

TEST(Doctor, ThisMachine) {
  const ProgramResult result = RunFlowback({"doctor"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_TRUE(result.out.contains("machine:")) << result.out;
}

}  // namespace
}  // namespace flowback::test
