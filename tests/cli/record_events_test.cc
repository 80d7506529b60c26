// SPDX-License-Identifier: MIT
// `record` with the kernel's events, as users run it, judged by what perf opens for the same words.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/run_program.h"
#include "tests/support/host.h"
#include "tests/support/kernel/perf_judge.h"

namespace flowback::test {
namespace {

using nlohmann::json;

#define FLOWBACK_NEEDS_PERF_EVENTS() FLOWBACK_NEEDS_HOST(flowback::host::Trait::kPerfEvents)

// The same events with the same attributes, field by field, for perf's words on this machine.
TEST(RecordEvents, OpensWhatPerfOpens) {
  FLOWBACK_NEEDS_PERF_EVENTS();
  FLOWBACK_NEEDS_HOST(host::Trait::kPerf);
  const std::vector<std::vector<std::string>> all = {{"-e", "cpu-clock"},
                                                     {"-e", "cpu-clock:u", "-e", "page-faults:u"},
                                                     {"-e", "{cpu-clock,page-faults}:u"},
                                                     {"-e", "dummy:u", "--switch-events"},
                                                     {"-e", "context-switches", "-F", "99"},
                                                     {"-e", "task-clock:u", "--per-thread"}};
  for (const std::vector<std::string>& words : all) {
    const ScratchFolder folder;
    std::vector<std::string> ours = {FLOWBACK_PROGRAM, "record", "-o", folder.File("ours")};
    std::vector<std::string> perfs = {"perf", "record", "--buildid-mmap", "-o",
                                      folder.File("perfs")};
    for (auto* command : {&ours, &perfs}) {
      command->insert(command->end(), words.begin(), words.end());
      command->insert(command->end(), {"--", "true"});
    }
    const auto opened = ProgramOpens(ours);
    const auto judged = ProgramOpens(perfs);
    ASSERT_TRUE(opened && judged) << words[1];
    ASSERT_EQ(opened->size(), judged->size()) << words[1];
    for (size_t i = 0; i < opened->size(); ++i)
      EXPECT_EQ(Difference((*opened)[i], (*judged)[i]), "") << words[1] << ", event " << i;
  }
}

TEST(RecordEvents, TellsWhatWasRecorded) {
  FLOWBACK_NEEDS_PERF_EVENTS();
  const ScratchFolder folder;
  const ProgramResult result = RunFlowback({"record", "--json", "-e", "page-faults:u", "-o",
                                            folder.File("r"), "--", "sh", "-c", "exit 3"});
  EXPECT_EQ(result.status, 3) << result.err;
  EXPECT_TRUE(result.err.contains("samples of them")) << result.err;
  EXPECT_FALSE(result.err.contains("emulated")) << result.err;
  const json told = json::parse(result.out, nullptr, false);
  EXPECT_EQ(told["engine"], "events");
  EXPECT_EQ(told["emulated"], false);
  EXPECT_GT(told["events"]["samples"], 0);
  EXPECT_EQ(told["events"]["lost_records"], 0);
  EXPECT_EQ(RunFlowback({"info", folder.File("r")}).status, 0);
}

// What such an engine does not follow is refused, not passed over.
TEST(RecordEvents, OptionsOfSoftwareAreRefused) {
  const std::vector<std::vector<std::string>> all = {
      {"--psb-period", "4K"}, {"--mtc-period", "3"}, {"--cyc"},   {"--noretcomp"},
      {"--no-tsc"},           {"--clock", "host"},   {"--exact"}, {"--from", "main"},
      {"--until", "main"},    {"--raw-dir", "/x"},   {"--kill"},  {"--max-instructions", "5"}};
  for (std::vector<std::string> words : all) {
    words.insert(words.begin(), {"record", "-e", "cpu-clock:u"});
    words.insert(words.end(), {"--", "true"});
    const ProgramResult result = RunFlowback(words);
    EXPECT_EQ(result.status, 125) << words[3];
    EXPECT_TRUE(result.err.contains("the engine 'events' does not follow")) << result.err;
  }
}

TEST(RecordEvents, OptionsOfEventsAreRefusedInSoftware) {
  const std::vector<std::vector<std::string>> all = {
      {"-F", "99"}, {"--switch-events"}, {"-s"}, {"--stat-interval", "1s"}};
  for (std::vector<std::string> words : all) {
    const std::string option = words[0];
    words.insert(words.begin(), {"record", "--engine", "step"});
    words.insert(words.end(), {"-o", "/dev/null", "--", "true"});
    const ProgramResult result = RunFlowback(words);
    EXPECT_EQ(result.status, 125) << option;
    EXPECT_TRUE(result.err.contains("record: " + option)) << result.err;
  }
}

// As text and in JSON, when it is recorded and when it is read.
TEST(RecordEvents, CountersAreTold) {
  FLOWBACK_NEEDS_PERF_EVENTS();
  const ScratchFolder folder;
  const ProgramResult recorded =
      RunFlowback({"record", "-e", "dummy:u", "--stat-interval", "10ms", "--json", "-o",
                   folder.File("r"), "--", "sleep", "0.05"});
  ASSERT_EQ(recorded.status, 0) << recorded.err;
  EXPECT_TRUE(recorded.err.contains("record: counters, all threads")) << recorded.err;
  EXPECT_TRUE(recorded.out.contains(R"("event":"page-faults)")) << recorded.out;
  const ProgramResult text = RunFlowback({"info", folder.File("r")});
  EXPECT_TRUE(text.out.contains("counters, all threads\n  task-clock")) << text.out;
  EXPECT_TRUE(text.out.contains("  sleep\n")) << text.out;
  const ProgramResult json = RunFlowback({"info", "--json", folder.File("r")});
  EXPECT_TRUE(json.out.contains(R"("thread_counters":[)")) << json.out;
  EXPECT_FALSE(json.out.contains(R"("readings":0)")) << json.out;
  const ProgramResult often =
      RunFlowback({"record", "-e", "dummy:u", "--stat-interval", "1us", "--", "true"});
  EXPECT_EQ(often.status, 125);
  EXPECT_TRUE(often.err.contains("--stat-interval")) << often.err;
}

TEST(RecordEvents, IntoAPipe) {
  FLOWBACK_NEEDS_PERF_EVENTS();
  const ScratchFolder folder;
  const std::string command = std::string(FLOWBACK_PROGRAM) +
                              " record -e page-faults:u -o - -- true 2>/dev/null >" +
                              folder.File("r");
  ASSERT_EQ(std::system(command.c_str()), 0);
  EXPECT_EQ(RunFlowback({"info", folder.File("r")}).status, 0);
}

}  // namespace
}  // namespace flowback::test
