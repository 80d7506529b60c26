// SPDX-License-Identifier: MIT
// perf's words for events, judged by perf: on each machine the same attributes, field by field, and
// the same words refused.
#include <gtest/gtest.h>

#include <filesystem>

#include "capture/kernel/branch_filter.h"
#include "capture/kernel/event_plan.h"
#include "capture/kernel/event_words.h"
#include "capture/kernel/linux_kernel.h"
#include "tests/support/host.h"
#include "tests/support/kernel/perf_judge.h"
#include "tests/support/kernel/trees.h"

namespace flowback::test {
namespace {

namespace fs = std::filesystem;

// Tracepoints are the real kernel's, PMUs the tree's.
class TreeWithTracepoints : public kernel::TreeKernel {
 public:
  using TreeKernel::TreeKernel;
  std::optional<std::string> ReadFile(const std::string& path) const override {
    return OfTracing(path) ? real_.ReadFile(path) : TreeKernel::ReadFile(path);
  }
  std::vector<std::string> List(const std::string& folder) const override {
    return OfTracing(folder) ? real_.List(folder) : TreeKernel::List(folder);
  }

 private:
  static bool OfTracing(const std::string& path) { return path.contains("/tracing/"); }
  kernel::LinuxKernel real_;
};

bool OnIntel() {
  return kernel::LinuxKernel().ReadFile("/proc/cpuinfo").value_or("").contains("GenuineIntel");
}

// perf plans traces on Intel's CPUs only, guests among them: elsewhere the rest of what the words
// say must do.
AttrFields WordsPart(const AttrFields& fields) {
  AttrFields part;
  for (const char* name : {"type", "config", "config1", "exclude_kernel", "exclude_hv",
                           "exclude_user", "exclude_guest", "exclude_host", "aux_output"})
    if (const auto field = fields.find(name); field != fields.end()) part.insert(*field);
  if (!OnIntel()) part.erase("exclude_guest");
  return part;
}

bool IsDummy(const AttrFields& fields) {
  const auto is = [&](const char* field, uint64_t value) {
    const auto found = fields.find(field);
    return found != fields.end() && found->second == value;
  };
  return is("type", PERF_TYPE_SOFTWARE) && is("config", PERF_COUNT_SW_DUMMY);
}

// A dummy counts nothing at no level: perf asks for all, ours for those that it may have.
AttrFields WithoutLevels(AttrFields fields) {
  if (IsDummy(fields))
    for (const char* level : {"exclude_kernel", "exclude_hv", "exclude_guest"}) fields.erase(level);
  return fields;
}

struct Judged {
  std::string tree;
  std::vector<std::string> words;  // of perf record: -e EVENT, -j FILTER

  friend void PrintTo(const Judged& judged, std::ostream* out) { *out << judged.words[1]; }
};

class EventJudge : public testing::TestWithParam<Judged> {
 protected:
  EventJudge() : folder_(Made()) {}
  ~EventJudge() override { fs::remove_all(folder_); }

  // As perf's options mean it; empty: refused.
  std::optional<std::vector<AttrFields>> OursOpen() const {
    const TreeWithTracepoints machine(Tree(GetParam().tree));
    const auto pmus = kernel::ReadPmus(machine);
    std::vector<kernel::WantedEvent> wanted;
    kernel::SamplingChoice choice{.launches = true,
                                  .hybrid = kernel::FindPmu(pmus, "cpu_atom") != nullptr};
    for (size_t i = 0; i + 1 < GetParam().words.size(); i += 2) {
      const std::string& value = GetParam().words[i + 1];
      if (GetParam().words[i] == "-j") {
        const auto filter = kernel::ParseBranchFilter(value);
        if (!filter) return std::nullopt;
        choice.branches = *filter;
        continue;
      }
      auto events = kernel::ParseEvents(value, pmus, machine);
      if (!events) return std::nullopt;
      const size_t before = wanted.size();
      for (auto& event : *events) {
        if (event.leader) *event.leader += before;
        wanted.push_back(std::move(event));
      }
    }
    std::vector<AttrFields> fields;
    for (const auto& event : kernel::PlanEvents(std::move(wanted), choice))
      fields.push_back(FieldsOf(event.attr));
    return fields;
  }
  std::optional<std::vector<AttrFields>> PerfsOpen() const {
    kernel::MachineTree tree = Tree(GetParam().tree);
    // On CPUs that this machine has.
    for (const auto& [pmu, cpus] : {std::pair{"cpu_core", "0"}, std::pair{"cpu_atom", "1"},
                                    std::pair{"armv8_pmuv3_0", "0-1"}}) {
      const std::string file = std::string(kernel::kPmuFolder) + "/" + pmu + "/cpus";
      if (!tree.ReadFile(file)) continue;
      tree.Remove(file);
      tree.Add(file, cpus);
    }
    WriteTree(tree, folder_.string());
    return PerfOpens(GetParam().words, (folder_ / "sys").string());
  }

 private:
  static fs::path Made() {
    std::string pattern = (fs::temp_directory_path() / "event-judge-XXXXXX").string();
    return mkdtemp(pattern.data());
  }

  const fs::path folder_;
};

TEST_P(EventJudge, OpensWhatPerfDoes) {
  FLOWBACK_NEEDS_HOST(host::Trait::kPerf);
  FLOWBACK_NEEDS_HOST(host::Trait::kPerfEvents);
  // In this order: perf mounts tracefs where nobody has yet.
  auto theirs = PerfsOpen();
  auto ours = OursOpen();
  if (ours && theirs && GetParam().words[1].starts_with("intel_pt/"))
    for (auto* side : {&*ours, &*theirs}) *side = {WordsPart(side->front())};
  ASSERT_EQ(ours.has_value(), theirs.has_value());
  if (!ours) return;
  ASSERT_EQ(ours->size(), theirs->size());
  for (size_t i = 0; i < ours->size(); ++i)
    EXPECT_EQ(Difference(i == 0 ? (*ours)[i] : WithoutLevels((*ours)[i]),
                         i == 0 ? (*theirs)[i] : WithoutLevels((*theirs)[i])),
              "")
        << "event " << i;
}

std::vector<Judged> Events(const std::string& tree, const std::vector<std::string>& events) {
  std::vector<Judged> judged;
  for (const std::string& event : events) judged.push_back({tree, {"-e", event}});
  return judged;
}

const std::vector<std::string> kEverywhere = {"cpu-clock",
                                              "cpu-clock:u",
                                              "cpu-clock:k",
                                              "cpu-clock:h",
                                              "cpu-clock:uk",
                                              "cpu-clock:uI",
                                              "cpu-clock:e",
                                              "cpu-clock:D",
                                              "cpu-clock:upp",
                                              "cpu-clock:G",
                                              "cpu-clock:H",
                                              "cpu-clock:GH",
                                              "cpu-clock:uu",
                                              "cpu-clock:pppp",
                                              "cpu-clock:x",
                                              "cpu-clock:",
                                              "task-clock",
                                              "page-faults",
                                              "faults:u",
                                              "minor-faults",
                                              "major-faults",
                                              "context-switches",
                                              "cs",
                                              "migrations",
                                              "dummy",
                                              "dummy:u",
                                              "bpf-output",
                                              "cgroup-switches",
                                              "alignment-faults",
                                              "emulation-faults",
                                              "nosuch",
                                              "mem:0x1000",
                                              "mem:0x1000:rw",
                                              "mem:0x1000/8:w",
                                              "mem:0x1000:x",
                                              "mem:0x1000:r:u",
                                              "sched:sched_switch",
                                              "sched:sched_switch:u",
                                              "sched:sched_swit*",
                                              "sched:no_such_one",
                                              "cpu-clock,page-faults",
                                              "{cpu-clock,page-faults}:u",
                                              "{cpu-clock,page-faults}",
                                              "{cpu-clock:k,page-faults:u}",
                                              "cpu-clock,sched:sched_switch",

                                              "cpu-clock,"};

const std::vector<std::string> kOnIntel = {"cycles",
                                           "cycles:u",
                                           "cycles:ppp",
                                           "cycles:P",
                                           "cycles:upp",
                                           "instructions:k",
                                           "branches",
                                           "branch-misses:u",
                                           "cache-misses",
                                           "ref-cycles",
                                           "bus-cycles",
                                           "stalled-cycles-frontend",
                                           "r1a8",
                                           "r1a8:k",
                                           "r0x1a8",
                                           "L1-dcache-load-misses",
                                           "L1-dcache-load-misses:k",
                                           "L1-icache-loads",
                                           "LLC-stores",
                                           "LLC-misses",
                                           "dTLB-loads",
                                           "dTLB-store-misses",
                                           "iTLB-load-misses",
                                           "branch-loads",
                                           "branch-load-misses",
                                           "node-prefetches",
                                           "cycles/period=1000,name=foo/u",
                                           "cpu/event=0x3c,umask=1/",
                                           "cpu/event=0x3c,umask=1/pp",
                                           "cpu/event=0x3c,umask=1/u",
                                           "cpu/event=060/",
                                           "cpu/event,umask=0x2/",
                                           "cpu/event=0x1ff/",
                                           "cpu/bogus/",
                                           "cpu/edge/",
                                           "cpu//",
                                           "cpu/config=0x11,config1=3,config2=0x7/",
                                           "cpu/event=0x3c,period=1000/",
                                           "cpu/event=0x3c,freq=100/",
                                           "cpu/event=0x3c,branch_type=any/",
                                           "cpu/event=0x3c,time=0/",
                                           "cpu/event=0x3c,inherit=0/",
                                           "cpu/event=0x3c,no-inherit/",
                                           "cpu/mem-loads/P",
                                           "cpu/cache-misses/",
                                           "{cpu/event=0x3c/,cycles}:u",
                                           "{cycles,instructions}:S",
                                           "cycles:S",
                                           "intel_pt//",
                                           "intel_pt//u",
                                           "intel_pt//k",
                                           "intel_pt//H",
                                           "intel_pt//uG",
                                           "intel_pt/cyc=1,noretcomp/u",
                                           "no_such_pmu/x/",
                                           "uncore_imc_0/event=4,umask=3/",
                                           "intel_pt/bogus/u"};

const std::vector<std::string> kOnHybrid = {"cycles",
                                            "cycles:u",
                                            "r1a8",
                                            "L1-dcache-loads",
                                            "cpu_core/event=0x3c/u",
                                            "cpu_atom/event=0x3c/u",
                                            "cpu_core/event=0x3c/,cpu_atom/event=0xc0/",
                                            "cpu-clock"};

const std::vector<std::string> kOnArm = {"armv8_pmuv3_0/event=0x11/u", "armv8_pmuv3_0/cpu_cycles/",
                                         "armv8_pmuv3_0/br_retired/u", "cycles:u", "r11"};

std::string NameOf(const testing::TestParamInfo<Judged>& info) {
  std::string name = info.param.tree + "_" + std::to_string(info.index);
  for (const std::string& word : info.param.words)
    for (const char c : word) name += isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Everywhere, EventJudge,
                         testing::ValuesIn(Events("virtual_machine", kEverywhere)), NameOf);
INSTANTIATE_TEST_SUITE_P(Intel, EventJudge, testing::ValuesIn(Events("skylake_server", kOnIntel)),
                         NameOf);
INSTANTIATE_TEST_SUITE_P(Hybrid, EventJudge, testing::ValuesIn(Events("alder_lake", kOnHybrid)),
                         NameOf);
INSTANTIATE_TEST_SUITE_P(Arm, EventJudge, testing::ValuesIn(Events("arm_brbe", kOnArm)), NameOf);
INSTANTIATE_TEST_SUITE_P(
    Branches, EventJudge,
    testing::Values(Judged{"skylake_server", {"-e", "cycles:u", "-j", "any,u"}},
                    Judged{"skylake_server", {"-e", "cycles", "-j", "any_call,k,save_type"}},
                    Judged{"skylake_server", {"-e", "cycles", "-j", "any_ret,ind_call,cond"}},
                    Judged{"skylake_server", {"-e", "cycles", "-j", "stack,u"}},
                    Judged{"skylake_server", {"-e", "cycles", "-j", "abort_tx,in_tx,no_tx"}},
                    Judged{"skylake_server", {"-e", "cycles", "-j", "call,ind_jmp,priv,hv"}},
                    Judged{"skylake_server", {"-e", "cycles", "-j", "any,bogus"}},
                    Judged{"zen3", {"-e", "cpu/branch-brs,period=100/u", "-j", "any"}}),
    NameOf);

}  // namespace
}  // namespace flowback::test
