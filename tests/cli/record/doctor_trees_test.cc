// SPDX-License-Identifier: MIT
// `doctor` on machines that there are only files of.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "tests/cli/run_program.h"
#include "tests/support/kernel/trees.h"

namespace flowback::test {
namespace {

using nlohmann::json;

// For one engine: the verdict on the machine, and the remedy; "": none.
struct Expected {
  std::string tree;
  std::string engine;
  bool there = false;  // the hardware is, and may be used
  std::string why;
  std::string fix;
};

const Expected kExpected[] = {
    {"skylake_server", "pt", true, "Intel PT is there", "intel_pt"},
    {"skylake_server", "lbr", true, "branch stacks of 32 entries", "any,u"},
    {"alder_lake", "pt", true, "Intel PT is there", "intel_pt"},
    {"alder_lake", "lbr", true, "LBR (architectural): branch stacks of 32", "any,u"},
    {"sapphire_rapids", "pt", false, "this user may not use it", "perf_event_paranoid=2"},
    {"sapphire_rapids", "lbr", false, "this user may not use it", "perf_event_paranoid=2"},
    {"zen3", "pt", false, "from another maker", ""},
    {"zen3", "lbr", true, "AMD BRS: branch stacks of 16 entries", "branch-brs"},
    {"zen4", "lbr", true, "AMD LBR v2 (LbrExtV2): branch stacks of 16", "any,u"},
    {"arm_brbe", "brbe", true, "BRBE: branch stacks of 64 entries", "any,u"},
    {"arm_brbe", "pt", false, "needs an Intel CPU", ""},
    {"virtual_machine", "pt", false, "this virtual machine has no Intel PT", "pt_mode=1"},
    {"virtual_machine", "lbr", false, "this virtual machine has no branch stack", "pmu=on"}};

json Diagnose(const std::string& file) {
  const ProgramResult result = RunFlowback({"doctor", "--json", "--tree", file});
  EXPECT_EQ(result.status, 0) << result.err;
  return json::parse(result.out, nullptr, false);
}

json Verdict(const json& diagnosis, const std::string& engine) {
  for (const json& verdict : diagnosis["recording"])
    if (verdict["engine"] == engine) return verdict;
  ADD_FAILURE() << "no verdict on " << engine;
  return {};
}

TEST(DoctorTrees, EachMachineHasItsVerdicts) {
  std::map<std::string, json> machines;
  for (const std::string& name : TreeNames()) machines[name] = Diagnose(TreeFile(name));
  for (const Expected& expected : kExpected) {
    const json verdict = Verdict(machines[expected.tree], expected.engine);
    SCOPED_TRACE(expected.tree + " " + expected.engine);
    EXPECT_EQ(verdict["machine"], expected.there);
    EXPECT_TRUE(verdict["why"].get<std::string>().contains(expected.why)) << verdict["why"];
    EXPECT_FALSE(verdict["found_by"].get<std::string>().empty());
    if (expected.fix.empty()) {
      EXPECT_TRUE(verdict["fix"].is_null()) << verdict["fix"];
    } else if (!verdict["usable"].get<bool>()) {
      EXPECT_TRUE(verdict["fix"].get<std::string>().contains(expected.fix)) << verdict["fix"];
    }
  }
}

TEST(DoctorTrees, ASavedMachineIsJudgedAsTheMachine) {
  const ScratchFolder folder;
  const std::string file = folder.File("machine.tree");
  ASSERT_EQ(RunFlowback({"doctor", "--save-tree", file}).status, 0);
  const json here = json::parse(RunFlowback({"doctor", "--json"}).out, nullptr, false);
  const json saved = Diagnose(file);
  for (const char* part : {"vendor", "kernel", "flags", "pmus", "virtual"})
    EXPECT_EQ(saved["machine"][part], here["machine"][part]) << part;
  EXPECT_EQ(saved["intel_pt"], here["intel_pt"]);
  ASSERT_EQ(saved["recording"].size(), here["recording"].size());
  for (const json& verdict : here["recording"]) {
    const std::string engine = verdict["engine"];
    const json told = Verdict(saved, engine);
    const bool of_programs = engine == "emulate" || engine == "32-bit";
    // Only trying shows some refusals.
    const bool refused = verdict["found_by"].get<std::string>().contains("perf_event_open: ");
    if (of_programs) {
      EXPECT_TRUE(told["why"].get<std::string>().contains("tree does not contain")) << told;
      EXPECT_EQ(told["usable"], false);
    } else if (!refused) {
      EXPECT_EQ(told["why"], verdict["why"]);
      EXPECT_EQ(told["machine"], verdict["machine"]) << engine;
    }
  }
  for (const json& note : saved["permissions"])
    if (note["name"] == "container") {
      EXPECT_EQ(note["text"], "not in the tree");
    }
}

TEST(DoctorTrees, WhatIsNoTreeIsRefused) {
  const ScratchFolder folder;
  const ProgramResult result =
      RunFlowback({"doctor", "--tree", folder.Write("nonsense", "no tree at all\n")});
  EXPECT_NE(result.status, 0);
  EXPECT_TRUE(result.err.contains("line 1")) << result.err;
  EXPECT_NE(RunFlowback({"doctor", "--tree", folder.File("missing")}).status, 0);
}

}  // namespace
}  // namespace flowback::test
