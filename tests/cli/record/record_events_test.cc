// SPDX-License-Identifier: MIT
// `record` with the kernel's events, as users run it, judged by what perf opens for the same words.
#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <signal.h>

#include <nlohmann/json.hpp>

#include "tests/cli/run_program.h"
#include "tests/support/host.h"
#include "tests/support/kernel/perf_judge.h"
#include "tests/support/places.h"

namespace flowback::test {
namespace {

using nlohmann::json;

#define FLOWBACK_NEEDS_PERF_EVENTS() FLOWBACK_NEEDS_HOST(flowback::host::Trait::kPerfEvents)

// A dummy counts nothing at no level: perf asks for all, ours for those that it may have.
AttrFields WithoutDummysLevels(AttrFields fields) {
  if (fields["type"] != PERF_TYPE_SOFTWARE || fields["config"] != PERF_COUNT_SW_DUMMY)
    return fields;
  for (const char* level : {"exclude_kernel", "exclude_hv", "exclude_guest"}) fields.erase(level);
  return fields;
}

// The same events with the same attributes, field by field, for perf's words on this machine.
TEST(RecordEvents, OpensWhatPerfOpens) {
  FLOWBACK_NEEDS_PERF_EVENTS();
  FLOWBACK_NEEDS_HOST(host::Trait::kPerf);
  const std::vector<std::vector<std::string>> all = {
      {"-e", "cpu-clock"},
      {"-e", "cpu-clock:u", "-e", "page-faults:u"},
      {"-e", "{cpu-clock,page-faults}:u"},
      {"-e", "dummy:u", "--switch-events"},
      {"-e", "context-switches", "-F", "99"},
      {"-e", "cpu-clock:u", "-D", "1"},
      {"-e", "cpu-clock:u", "-g"},
      {"-e", "cpu-clock", "--call-graph", "dwarf,4096"},
      {"-e", "cpu-clock/call-graph=dwarf,stack-size=4096/u"},
      {"-g", "-e", "cpu-clock/call-graph=no/"},
      {"-e", "page-faults", "-d", "-W"},
      {"-e", "page-faults", "-e", "cpu-clock", "-d", "--data-page-size"},
      {"-e", "task-clock:u", "--per-thread"}};
  for (const std::vector<std::string>& words : all) {
    const ScratchFolder folder;
    std::vector<std::string> ours = {ProgramFile(), "record", "-o", folder.File("ours")};
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
      EXPECT_EQ(Difference(WithoutDummysLevels((*opened)[i]), WithoutDummysLevels((*judged)[i])),
                "")
          << words[1] << ", event " << i;
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
  const std::vector<std::vector<std::string>> all = {{"-F", "99"},
                                                     {"--switch-events"},
                                                     {"--control", "fd:1"},
                                                     {"-D", "5"},
                                                     {"--switch-output"},
                                                     {"--switch-max-files", "2"},
                                                     {"--trigger", "f>1ms"},
                                                     {"-s"},
                                                     {"--stat-interval", "1s"}};
  for (std::vector<std::string> words : all) {
    const std::string option = words[0];
    words.insert(words.begin(), {"record", "--engine", "step"});
    words.insert(words.end(), {"-o", "/dev/null", "--", "true"});
    const ProgramResult result = RunFlowback(words);
    EXPECT_EQ(result.status, 125) << option;
    EXPECT_TRUE(result.err.contains("record: " + option)) << result.err;
  }
}

// The trace of hardware is held to it in tests/record/events/event_direction_test.cc.
TEST(RecordEvents, InSoftwareTheEndIsKeptOnlyOfACrash) {
  ScratchFolder folder;
  const std::string file = folder.File("perf.data");
  const auto record = [&](const char* engine, const char* script) {
    return RunFlowback({"record", "--engine", engine, "--on-crash", "--json", "-o", file, "--",
                        "sh", "-c", script});
  };
  for (const char* engine : {"emulate", "step"}) {
    if (std::string_view(engine) == "step") FLOWBACK_NEEDS_HOST(host::Trait::kPtrace);
    const ProgramResult crash = record(engine, "kill -SEGV $$");
    EXPECT_EQ(crash.status, 128 + SIGSEGV) << crash.err;
    EXPECT_EQ(RunFlowback({"decode", "--as", "summary", file}).status, 0);
    const ProgramResult none = record(engine, "exit 139");
    EXPECT_EQ(none.status, 139);
    EXPECT_TRUE(none.err.contains("no trace of its end is kept (--on-crash)")) << none.err;
    EXPECT_TRUE(none.err.contains("; no crash: the trace was discarded\n")) << none.err;
    EXPECT_FALSE(none.err.contains("overwritten") || none.err.contains("next:")) << none.err;
    EXPECT_TRUE(none.out.contains(R"("next":null)")) << none.out;
    EXPECT_NE(RunFlowback({"decode", "--as", "summary", file}).status, 0);
  }
  const ProgramResult running =
      RunFlowback({"record", "--engine", "step", "--on-crash", "-p", "1"});
  EXPECT_EQ(running.status, 2);
  EXPECT_TRUE(running.err.contains("not started here")) << running.err;
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
  const ProgramResult lines = RunFlowback({"info", "--json", folder.File("r")});
  const json told = json::parse(lines.out);
  EXPECT_GE(told["counters"]["readings"], 1) << lines.out;
  ASSERT_FALSE(told["thread_counters"].empty()) << lines.out;
  EXPECT_EQ(told["thread_counters"][0]["event"], "task-clock");
  const ProgramResult often =
      RunFlowback({"record", "-e", "dummy:u", "--stat-interval", "1us", "--", "true"});
  EXPECT_EQ(often.status, 125);
  EXPECT_TRUE(often.err.contains("--stat-interval")) << often.err;
}

// A CPU was recorded, and no program.
TEST(RecordEvents, OfACpuNoProgramRunsOn) {
  FLOWBACK_NEEDS_PERF_EVENTS();
  FLOWBACK_NEEDS_HOST(host::Trait::kRoot);
  const ScratchFolder folder;
  const ProgramResult result =
      RunFlowback({"record", "-C", "0", "--duration", "100ms", "-o", folder.File("r")});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_TRUE(result.err.contains("stopped by --duration; ")) << result.err;
  EXPECT_FALSE(result.err.contains("unrecorded")) << result.err;
}

TEST(RecordEvents, WhatMakesNoSenseIsRefused) {
  const std::vector<std::vector<std::string>> all = {{"-D", "soon"},
                                                     {"-D", "-2"},
                                                     {"--trigger", "f"},
                                                     {"--trigger", ">5ms"},
                                                     {"--trigger", "f>5x"},
                                                     {"--switch-output=often"},
                                                     {"--switch-output=0"},
                                                     {"--switch-max-files", "3"},
                                                     {"--on-crash"},
                                                     {"--switch-output=1M", "-o", "-"},
                                                     {"--control", "fifo:/nothing/there"}};
  for (std::vector<std::string> words : all) {
    const std::string option = words[0];
    words.insert(words.begin(), {"record", "-e", "cpu-clock:u"});
    words.insert(words.end(), {"--", "true"});
    const ProgramResult result = RunFlowback(words);
    EXPECT_EQ(result.status, 125) << option;
    EXPECT_TRUE(result.err.contains("try: ")) << option << ": " << result.err;
  }
}

// An option is of the event before it, whatever stands around.
TEST(RecordEvents, FiltersAreOfTheEventBefore) {
  FLOWBACK_NEEDS_PERF_EVENTS();
  FLOWBACK_NEEDS_HOST(host::Trait::kRoot);
  if (access("/sys/kernel/tracing/events/sched", R_OK) != 0) GTEST_SKIP() << "no tracefs here";
  const ScratchFolder folder;
  const auto record = [&](const std::vector<std::string>& words) {
    std::vector<std::string> all = {"record", "--json", "-o", folder.File("r")};
    all.insert(all.end(), words.begin(), words.end());
    all.insert(all.end(), {"--", "sleep", "0.02"});
    return RunFlowback(all);
  };
  const ProgramResult both = record(
      {"-e", "sched:sched_switch", "--filter", "prev_pid == 0 - 1", "-g", "-e", "page-faults:u"});
  EXPECT_EQ(both.status, 125) << "no arithmetic in the kernel's filters";
  EXPECT_TRUE(both.err.contains("sched/sched_switch/format")) << both.err;
  const ProgramResult wrong =
      record({"-e", "sched:sched_switch", "-e", "page-faults:u", "--filter", "prev_pid > 1"});
  EXPECT_TRUE(wrong.err.contains("'page-faults:u' takes no such filter")) << wrong.err;
  const ProgramResult right = record({"-e", "sched:sched_switch", "--exclude-perf", "--filter",
                                      "prev_comm == \"no such\"", "-e", "page-faults:u"});
  EXPECT_EQ(right.status, 0) << right.err;
  const json told = json::parse(right.out, nullptr, false);
  EXPECT_GT(told["events"]["samples"], 0) << "page faults";
}

// Each of the files is a recording by itself, that perf reads, too.
TEST(RecordEvents, SwitchesFiles) {
  FLOWBACK_NEEDS_PERF_EVENTS();
  const ScratchFolder folder;
  const ProgramResult result = RunFlowback(
      {"record", "-e", "page-faults/period=1/u", "--switch-output=8K", "-o", folder.File("r"), "--",
       "sh", "-c", "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do /bin/true; sleep 0.05; done"});
  EXPECT_EQ(result.status, 0) << result.err;
  const std::string files = "for file in " + folder.File("r") + "*; do ";
  EXPECT_EQ(
      std::system((files + ProgramFile() + " info \"$file\" >/dev/null || exit 1; done").c_str()),
      0);
  EXPECT_EQ(std::system(("test $(ls " + folder.File("r") + ".20* | wc -l) -ge 2").c_str()), 0);
  if (!host::Has(host::Trait::kPerf)) return;
  EXPECT_EQ(
      std::system((files + "perf script -i \"$file\" >/dev/null 2>&1 || exit 1; done").c_str()), 0);
}

TEST(RecordEvents, IntoAPipe) {
  FLOWBACK_NEEDS_PERF_EVENTS();
  const ScratchFolder folder;
  const std::string command =
      ProgramFile() + " record -e page-faults:u -o - -- true 2>/dev/null >" + folder.File("r");
  ASSERT_EQ(std::system(command.c_str()), 0);
  EXPECT_EQ(RunFlowback({"info", folder.File("r")}).status, 0);
}

// The recorder stands still until the program has ended: its buffers are full, and no record
// follows the last loss to report it. Each page fault is a sample or lost; what else may be lost
// are records of tasks and mappings.
TEST(RecordEvents, WhatIsLostLastIsCounted) {
  FLOWBACK_NEEDS_PERF_EVENTS();
  const ScratchFolder folder;
  const ProgramResult result = RunShell(
      folder,
      "$F record -m 1 --stat -e page-faults/period=1/u --json -o r -- sh -c 'echo $$ $PPID >pids; "
      "kill -STOP $PPID; for i in 1 2 3 4 5 6 7 8; do /bin/true; done' & until [ -s pids ]; do "
      "sleep 0.1; done; read sh recorder <pids; until grep -q ' Z ' /proc/$sh/stat; do sleep 0.1; "
      "done; "
      "kill -CONT $recorder; wait");
  const json told = json::parse(result.out, nullptr, false);
  ASSERT_TRUE(told.is_object()) << result.out << result.err;
  uint64_t faults = 0;
  for (const json& event : told["counters"]["events"])
    if (event["event"] == "page-faults/period=1/u") faults = event["count"];
  const uint64_t samples = told["events"]["samples"];
  const uint64_t lost = told["events"]["lost_records"].get<uint64_t>() +
                        told["events"]["lost_samples"].get<uint64_t>();
  EXPECT_GT(faults, 300);
  EXPECT_GT(told["events"]["lost_samples"], 100) << "of which no record of the kernel's tells";
  EXPECT_GE(samples + lost, faults);
  EXPECT_LE(samples + lost, faults + 200);
  const ProgramResult info = RunFlowback({"info", folder.File("r")});
  EXPECT_TRUE(info.out.contains("LOST_SAMPLES")) << info.out;
}

// A disk of 200 KiB, which nobody else sees.
TEST(RecordEvents, AFullDiskIsSaidAndTheProgramRunsOn) {
  FLOWBACK_NEEDS_PERF_EVENTS();
  FLOWBACK_NEEDS_HOST(host::Trait::kRoot);
  const ScratchFolder folder;
  const ProgramResult result = RunShell(
      folder,
      "mkdir disk; export F; unshare -m sh -c 'mount -t tmpfs -o size=200k none disk || exit 77\n"
      "$F record -e page-faults/period=1/u -o disk/r -- sh -c \"for i in $(seq -s \" \" 80); do "
      "/bin/true; sleep 0.01; done; touch ran\"; status=$?; cp disk/r copy; exit $status'");
  if (result.status == 77) GTEST_SKIP() << "no file system can be mounted: " << result.err;
  EXPECT_EQ(result.status, 125) << result.err;
  EXPECT_TRUE(result.err.contains("No space left on device")) << result.err;
  EXPECT_EQ(access(folder.File("ran").c_str(), F_OK), 0) << "the program runs to its end";
  const ProgramResult info = RunFlowback({"info", folder.File("copy")});
  EXPECT_EQ(info.status, 0) << info.err;
  EXPECT_TRUE(info.out.contains(" SAMPLE")) << info.out;
}

// By the kernel's calls, as strace sees them: each event that is opened is one that is recorded
// with, is asked for its number, and switched off in the end. perf tries on events beside.
TEST(RecordEvents, OpensNothingInVain) {
  FLOWBACK_NEEDS_PERF_EVENTS();
  const ScratchFolder folder;
  if (RunShell(folder, "strace -V").status != 0) GTEST_SKIP() << "strace is not installed";
  const auto calls = [&](const std::string& program, const std::string& what) {
    RunShell(folder, "[ -e calls-" + what + " ] || strace -f -o calls-" + what +
                         " -e trace=perf_event_open,ioctl,mmap " + program +
                         " record -e cpu-clock:u -o " + what + " -- true");
    return ReadFile(folder.File("calls-" + what));
  };
  const auto count = [](const std::string& text, const std::string& word) {
    size_t number = 0;
    for (size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) ++number;
    return number;
  };
  const std::string ours = calls("$F", "ours");
  if (!ours.contains("perf_event_open(")) GTEST_SKIP() << "strace may not trace here: " << ours;
  const size_t opened = count(ours, "perf_event_open({");
  EXPECT_EQ(opened, static_cast<size_t>(sysconf(_SC_NPROCESSORS_ONLN)));
  for (const char* request : {"PERF_EVENT_IOC_ID", "PERF_EVENT_IOC_DISABLE"})
    EXPECT_EQ(count(ours, request), opened) << request << "\n" << ours;
  if (!host::Has(host::Trait::kPerf)) return;
  const std::string perfs = calls("perf", "perfs");
  EXPECT_GE(count(perfs, "perf_event_open({"), opened) << perfs;
  // perf's buffers of what it records have the same size.
  const std::string buffer = "mmap(NULL, 528384, PROT_READ|PROT_WRITE, MAP_SHARED, ";
  EXPECT_EQ(count(ours, buffer), opened) << ours;
  EXPECT_GE(count(perfs, buffer), opened) << perfs;
}

}  // namespace
}  // namespace flowback::test
