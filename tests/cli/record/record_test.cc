// SPDX-License-Identifier: MIT
// `record -- CMD`: CMD's own status, and a recording that decodes to what was executed.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/run_program.h"
#include "tests/support/host.h"
#include "tests/support/places.h"

namespace flowback::test {
namespace {

using nlohmann::json;

class RecordTest : public ::testing::Test {
 protected:
  ProgramResult Record(std::vector<std::string> words) const {
    words.insert(words.begin(), {"record", "-o", file_});
    return RunFlowback(words);
  }

  ScratchFolder folder_;
  std::string file_ = folder_.File("perf.data");
};

TEST_F(RecordTest, EndsWithTheCommandsStatus) {
  EXPECT_EQ(Record({"--", "true"}).status, 0);
  EXPECT_EQ(Record({"--", "false"}).status, 1);
  EXPECT_EQ(Record({"--", "sh", "-c", "exit 42"}).status, 42);
  EXPECT_EQ(Record({"--", "sh", "-c", "kill -TERM $$"}).status, 128 + 15);
}

TEST_F(RecordTest, TheCommandCannotBeRun) {
  EXPECT_EQ(Record({"--", "/nonexistent/program"}).status, 127);
  const std::string data = folder_.Write("data", "not a program");
  EXPECT_EQ(Record({"--", data}).status, 126);
}

// An unreadable program has no code to record; the step engine would count nothing.
TEST_F(RecordTest, ProgramsThatMayOnlyBeExecuted) {
  const std::string program = folder_.File("only_executed");
  std::filesystem::copy_file("/bin/true", program);
  std::filesystem::permissions(program, std::filesystem::perms(0111));
  const RunOptions as_others = {.obey_permissions = true};
  for (const char* engine : {"emulate", "step"}) {
    if (RunFlowback({"record", "--engine", engine, "-o", file_, "--", "true"}, as_others).status)
      continue;  // this machine has no such engine
    const ProgramResult refused =
        RunFlowback({"record", "--engine", engine, "-o", file_, "--", program}, as_others);
    EXPECT_EQ(refused.status, 125) << engine;
    EXPECT_TRUE(refused.err.contains("may be executed but not read")) << refused.err;
    EXPECT_TRUE(refused.err.contains("try: chmod +r")) << refused.err;
    // A program that becomes one runs, and a message says so.
    const ProgramResult became = RunFlowback(
        {"record", "--engine", engine, "-o", file_, "--force", "--", "/usr/bin/env", program},
        as_others);
    EXPECT_EQ(became.status, 0) << became.err;
    EXPECT_TRUE(became.err.contains("not read")) << engine << '\n' << became.err;
  }
}

TEST_F(RecordTest, OwnFailuresAre125WithTheReasonInJson) {
  const ProgramResult missing = Record({"--json", "--engine", "pt", "--", "true"});
  EXPECT_EQ(missing.status, 125);
  EXPECT_TRUE(missing.err.contains("engine 'pt'")) << missing.err;
  EXPECT_TRUE(missing.err.contains("try: --engine emulate")) << missing.err;
  EXPECT_EQ(json::parse(missing.out)["reason"], 3);
  const ProgramResult unknown = Record({"--json", "--engine", "magic", "--", "true"});
  EXPECT_EQ(unknown.status, 125);
  EXPECT_EQ(json::parse(unknown.out)["reason"], 2);
  EXPECT_EQ(Record({"--no-such-option", "--", "true"}).status, 125);
}

TEST_F(RecordTest, ClocksHaveNames) {
  EXPECT_EQ(Record({"--clock", "instructions", "--", "true"}).status, 0);
  const ProgramResult info = RunFlowback({"info", file_});
  EXPECT_TRUE(info.out.contains("instruction clock)")) << info.out;
  const ProgramResult unknown = Record({"--clock", "moon", "--", "true"});
  EXPECT_EQ(unknown.status, 125);
  EXPECT_TRUE(unknown.err.contains("--clock host or --clock instructions")) << unknown.err;
}

TEST_F(RecordTest, TakesPerfsWordsForAnEvent) {
  EXPECT_EQ(
      Record({"-e", "intel_pt/cyc=1,mtc_period=3,psb_period=0,noretcomp=1,tsc=0/u", "--", "true"})
          .status,
      0);
  ProgramResult info = RunFlowback({"info", file_});
  EXPECT_TRUE(info.out.contains("return compression off")) << info.out;
  EXPECT_TRUE(info.out.contains("CYC ")) << info.out;
  EXPECT_FALSE(info.out.contains("TSC ")) << info.out;
  // Options of our own go before.
  EXPECT_EQ(
      Record({"-e", "intel_pt/mtc_period=3/u", "--mtc-period", "5", "--cyc", "--", "true"}).status,
      0);
  info = RunFlowback({"info", file_});
  EXPECT_TRUE(info.out.contains("MTC period 5")) << info.out;
  EXPECT_TRUE(info.out.contains("CYC ")) << info.out;
}

TEST_F(RecordTest, RefusesEventsItCannotEmulate) {
  const std::pair<const char*, const char*> wrong[] = {
      {"intel_pt/cyc=1,magic=2/u", "no term 'magic'"},
      {"intel_pt/cyc=2/u", "'cyc' is not a number from 0 to 1"},
      {"intel_pt/psb_period=16/u", "'psb_period' is not a number from 0 to 15"},
      {"intel_pt/mtc_period=/u", "'mtc_period' is not a number"},
      {"intel_pt/cyc,cyc_thresh=13/u", "a CYC threshold of 13"},
      {"intel_pt/ptw/u", "'ptw' needs tracing hardware"},
      {"intel_pt/branch=0/u", "nothing would be recorded"},
      {"intel_pt//k", "only user code"},
      {"cycles:u", "not an event that can be emulated"},
      {"intel_pt/cyc", "not an event that can be emulated"}};
  for (const auto& [event, message] : wrong) {
    const ProgramResult result = Record({"--engine", "emulate", "-e", event, "--", "true"});
    EXPECT_EQ(result.status, 125) << event;
    EXPECT_TRUE(result.err.contains(message)) << result.err;
    EXPECT_TRUE(result.err.contains("try: ")) << result.err;
  }
  EXPECT_TRUE(
      Record({"-e", "intel_pt/magic/", "--", "true"}).err.contains("known: cyc, cyc_thresh"));
}

TEST_F(RecordTest, TakesPerfsWordsForSnapshots) {
  const std::vector<std::vector<std::string>> right = {
      {"-S"}, {"-S64K"}, {"-S", "-m", ",16"}, {"-S64K", "-m", "128,64K"}, {"-m", "512K"}};
  for (auto words : right) {
    words.insert(words.end(), {"--", "true"});
    EXPECT_EQ(Record(words).status, 0) << words[0];
  }
  const std::pair<std::vector<std::string>, const char*> wrong[] = {
      {{"-S1M", "-m", ",64K"}, "more than the buffer"},
      {{"-S", "-m", ",3"}, "no power of two"},
      {{"-S", "-m", "x,16"}, "no power of two"},
      {{"-Sx"}, "no size"},
      {{"-S100"}, "snapshots of 100 bytes"}};
  for (auto [words, message] : wrong) {
    words.insert(words.end(), {"--", "true"});
    const ProgramResult result = Record(words);
    EXPECT_EQ(result.status, 125) << words[0];
    EXPECT_TRUE(result.err.contains(message)) << result.err;
  }
}

// Overwritten on purpose is not lost, but it is not in the file either.
TEST_F(RecordTest, SaysWhatSnapshotsDidNotKeep) {
  const std::vector<std::string> loop = {"--json", "--", "sh", "-c",
                                         "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done"};
  const auto record = [&](const std::string& size) {
    std::vector<std::string> words = {"-S" + size};
    words.insert(words.end(), loop.begin(), loop.end());
    return Record(words);
  };
  const ProgramResult some = record("16K");
  ASSERT_EQ(some.status, 0) << some.err;
  const json summary = json::parse(Lines(some.out).back());
  const json info = json::parse(RunFlowback({"info", "--json", file_}).out);
  const uint64_t made = summary["bytes"];
  const uint64_t overwritten = summary["overwritten_bytes"];
  const uint64_t kept = made - overwritten;
  EXPECT_LE(kept, 16384u);
  // perf's padding is zeros behind it.
  EXPECT_LE(kept, info["streams"][0]["bytes"]);
  EXPECT_GT(kept + 8, info["streams"][0]["bytes"]);
  EXPECT_EQ(summary["lost_percent"], 0);
  EXPECT_NEAR(summary["overwritten_percent"].get<double>(),
              100.0 * static_cast<double>(overwritten) / static_cast<double>(made), 0.01);
  const std::string err = WithoutGroups(some.err);
  EXPECT_TRUE(err.contains("0 % lost; " + std::to_string(overwritten) + " of " +
                           std::to_string(made) + " trace bytes overwritten"))
      << err;
  EXPECT_TRUE(err.contains(std::to_string(kept) + " trace bytes (emulated) in ")) << err;
  const ProgramResult all = record("64M");
  EXPECT_TRUE(all.err.contains("0 % lost; nothing overwritten")) << all.err;
  EXPECT_EQ(json::parse(Lines(all.out).back())["overwritten_bytes"], 0);
}

TEST_F(RecordTest, NothingToRun) {
  EXPECT_EQ(RunFlowback({"record"}).status, 2);
  EXPECT_EQ(RunFlowback({"record", "--"}).status, 2);
}

TEST_F(RecordTest, SaysWhatItRecordedInWordsAndInJson) {
  const ProgramResult result = Record({"--json", "--", "sh", "-c", "true | true"});
  ASSERT_EQ(result.status, 0) << result.err;
  const json summary = json::parse(Lines(result.out).back());
  const std::string count = std::to_string(summary["instructions"].get<uint64_t>());
  EXPECT_TRUE(WithoutGroups(result.err).contains("record: " + count + " instructions of "))
      << result.err;
  EXPECT_TRUE(result.err.contains(" s, 0 % lost")) << result.err;
  EXPECT_TRUE(result.err.contains("next: flowback info " + file_)) << result.err;
  EXPECT_EQ(summary["file_bytes"], ReadFile(file_).size());
  EXPECT_EQ(summary["lost_percent"], 0);
  EXPECT_EQ(summary["ended_by"], "program-ended");
  EXPECT_EQ(summary["next"], "flowback info " + file_);
  EXPECT_GE(summary["processes"], 1);
  EXPECT_TRUE(summary["slow_down"].is_null()) << "nobody asked to compare";
  EXPECT_EQ(summary["notes"], json::array());
}

// The program leaves what both of its runs read and wrote: the second had the same input.
TEST_F(RecordTest, ComparesWithTheProgramAlone) {
  const std::string seen = folder_.File("seen");
  const std::string script =
      "read line; echo \"$line\" >>" + seen + "; i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done";
  const ProgramResult result = RunShell(
      folder_, "printf 'one\\ntwo\\n' >in; $F record --json --engine emulate --compare -o " +
                   file_ + " -- bash -c '" + script + "; echo told; exit 3' <in");
  if (result.err.contains("no emulator: ")) GTEST_SKIP() << result.err;
  EXPECT_EQ(result.status, 3) << result.err;
  EXPECT_EQ(ReadFile(seen), "one\none\n");
  EXPECT_EQ(Lines(result.out)[0], "told");
  EXPECT_FALSE(Lines(result.out)[1].contains("told")) << "its output is thrown away";
  EXPECT_TRUE(result.err.contains("record: alone the program takes ")) << result.err;
  const json summary = json::parse(Lines(result.out).back());
  const double ratio = summary["slow_down"];
  EXPECT_GT(ratio, 1);
  EXPECT_NEAR(ratio,
              summary["elapsed_ns"].get<double>() / summary["native_elapsed_ns"].get<double>(),
              0.01);
  EXPECT_GT(summary["native_cpu_ns"], 0);
}

TEST_F(RecordTest, ComparesOnlyWhatCanRunAgain) {
  const ProgramResult attached = Record({"--compare", "-p", "1"});
  EXPECT_EQ(attached.status, 2);
  EXPECT_TRUE(attached.err.contains("--compare needs a program")) << attached.err;
  const ProgramResult cut =
      Record({"--compare", "--json", "--duration", "50ms", "--", "sleep", "0.3"});
  EXPECT_TRUE(cut.err.contains("nothing to compare")) << cut.err;
  EXPECT_TRUE(json::parse(Lines(cut.out).back())["slow_down"].is_null());
}

// It ends at once when recorded, and waits for ever when it is run once more.
TEST_F(RecordTest, DoesNotWaitLongerForTheProgramAlone) {
  const std::string mark = folder_.File("mark");
  const ProgramResult result =
      Record({"--compare", "--", "sh", "-c", "[ -e " + mark + " ] && exec sleep 1000; : >" + mark});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_TRUE(result.err.contains("ran longer than it did recorded")) << result.err;
}

TEST_F(RecordTest, StopsAtASize) {
  const ProgramResult result = Record({"--max-size", "8K", "--", "sh", "-c",
                                       "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done; exit 3"});
  EXPECT_EQ(result.status, 3);
  EXPECT_TRUE(result.err.contains("stopped by --max-size, the program ran on")) << result.err;
  EXPECT_EQ(RunFlowback({"info", "--strict", file_}).status, 0);
  for (const char* size : {"0", "many", "-1"})
    EXPECT_EQ(Record({std::string("--max-size=") + size, "--", "true"}).status, 125);
}

// Nothing is whole then, least of all "0 % lost".
TEST_F(RecordTest, AFullOutputIsTheRecordersFailure) {
  FLOWBACK_NEEDS_HOST(host::Trait::kPtrace);
  rlimit limit{};
  getrlimit(RLIMIT_FSIZE, &limit);
  const rlimit small{.rlim_cur = 8192, .rlim_max = limit.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  const ProgramResult result = Record({"--engine", "step", "--json", "--", "sh", "-c",
                                       "i=0; while [ $i -lt 20 ]; do i=$((i+1)); done; exit 3"});
  setrlimit(RLIMIT_FSIZE, &limit);
  EXPECT_EQ(result.status, 125) << result.err;
  EXPECT_TRUE(result.err.contains("the program ran on untraced, status 3")) << result.err;
  EXPECT_FALSE(result.err.contains("0 % lost")) << result.err;
  const json told = json::parse(Lines(result.out).back());
  EXPECT_EQ(told["ended_by"], "output-failed");
  EXPECT_EQ(told["reason"], 1);
  EXPECT_TRUE(told["lost_percent"].is_null());
  EXPECT_LT(told["written_bytes"], told["bytes"]);
  EXPECT_EQ(RunFlowback({"decode", "--as", "summary", file_}).status, 0);
}

TEST_F(RecordTest, AnOddFileNameIsQuotedInTheNextCommand) {
  const std::string file = folder_.File("it's here.data");
  const ProgramResult result = RunFlowback({"record", "-o", file, "--", "true"});
  EXPECT_TRUE(result.err.contains("it'\\''s here.data'")) << result.err;
}

TEST_F(RecordTest, TheCommandIsWhatFollowsTheOptions) {
  EXPECT_EQ(Record({"true"}).status, 0);
  EXPECT_EQ(Record({"sh", "-c", "exit 3"}).status, 3);
  const ProgramResult stray = Record({"stray", "--", "true"});
  EXPECT_EQ(stray.status, 127);
  EXPECT_TRUE(stray.err.contains("stray")) << stray.err;
}

// Messages must not end up in the recording, and the program finds its streams as they were.
TEST_F(RecordTest, ClosedStandardStreamsStayClosed) {
  const std::string command = ProgramFile() + " record -o " + file_ +
                              " -- sh -c 'test -e /proc/self/fd/2 && exit 9; exit 4'";
  const int status = std::system((command + " <&- >&- 2>&-").c_str());
  EXPECT_EQ(WEXITSTATUS(status), 4);
  EXPECT_EQ(RunFlowback({"info", "--strict", file_}).status, 0);
}

TEST_F(RecordTest, WhatOnlyHardwareRecordsIsRefused) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{"-a"}, {"-C", "0"}}) {
    std::vector<std::string> all = words;
    all.insert(all.end(), {"--engine", "emulate", "--json", "--", "true"});
    const ProgramResult result = Record(all);
    EXPECT_EQ(result.status, 125);
    EXPECT_TRUE(result.err.contains(words[0] + " records whatever runs on a CPU")) << result.err;
    EXPECT_EQ(json::parse(result.out)["reason"], 3);
  }
  EXPECT_EQ(Record({"-a", "--engine", "step"}).status, 3) << "also without a program";
}

// What a user of perf may type: each with what works instead.
TEST_F(RecordTest, PerfsOptionsForHardwareAreKnown) {
  const struct {
    std::vector<std::string> words;
    int reason;
    const char* message;
    const char* remedy;
  } refused[] = {
      {{"--engine", "step", "--branch-any"}, 3, "-b samples branch stacks", "perf record -b"},
      {{"--engine", "emulate", "-j", "any,u"}, 3, "-j samples branch stacks", "perf record -j"},
      {{"--filter", "filter main"}, 3, "leave out addresses", "--from FUNCTION and --until"},
      {{"--kcore"}, 1, "record no kernel", "--engine pt --kcore"},
      {{"-c", "1000"}, 1, "how often events are sampled", "-e cpu-clock"},
      {{"-z"}, 1, "compresses while it records", "zstd"},
      {{"--off-cpu"}, 1, "samples what waits", "flowback timeline"},
      {{"--aux-sample"}, 3, "into samples of other events", "-S SIZE"},
      {{"--aux-sample=8192"}, 3, "into samples of other events", "-S SIZE"},
      {{"--control", "fifo:a,b"}, 1, "switch the kernel's events", "--duration TIME"},
      {{"-a"}, 3, "whatever runs on a CPU", "record -- CMD"},
      {{"-C", "0"}, 3, "whatever runs on a CPU", "record -- CMD"},
      {{"-G", "x"}, 3, "control groups", "record -- CMD"},
      {{"-F", "99"}, 1, "how often events are sampled", "-e cpu-clock"},
      {{"-D", "5"}, 1, "delays the kernel's events", "--from FUNCTION"},
      {{"-d"}, 1, "accesses to data", "page-faults"},
      {{"-W"}, 1, "how long accesses", "perf record -W"},
      {{"--phys-data"}, 1, "accesses to data", "page-faults"},
      {{"--data-page-size"}, 1, "accesses to data", "page-faults"},
      {{"--switch-events"}, 1, "thread switches", "--engine events"},
      {{"--switch-output"}, 1, "into files", "--max-size"},
      {{"--switch-max-files", "3"}, 1, "--switch-output", "--max-size"},
      {{"--stat-interval", "1s"}, 1, "count events of each thread", "--as summary"},
      {{"--exclude-perf"}, 1, "tracepoints", "only the program"},
      {{"--trigger", "x"}, 1, "trace of slow calls", "SIGUSR2"},
      {{"-g"}, 1, "samples call stacks", "--as calls"},
      {{"--call-graph", "dwarf"}, 1, "samples call stacks", "--as calls"},
      {{"-s"}, 1, "count events of each thread", "--as summary"},
  };
  const std::string help = RunFlowback({"record", "--help-all"}).out;
  const std::string listed = help.substr(help.find("The engines emulate and step refuse"));
  for (const auto& option : refused) {
    std::vector<std::string> words = option.words;
    if (words[0] != "-z" && words[0] != "--off-cpu" && words[0] != "--engine") {
      const std::string name = words[0].substr(0, words[0].find('='));
      EXPECT_TRUE(listed.contains(' ' + name + ',') || listed.contains('\n' + name + ',') ||
                  listed.contains(' ' + name + '.'))
          << name << " is not listed in " << listed;
    }
    if (words[0] != "--engine") words.insert(words.begin(), {"--engine", "emulate"});
    words.insert(words.end(), {"--json", "--", "touch", folder_.File("ran")});
    const ProgramResult result = Record(words);
    EXPECT_EQ(result.status, 125) << words[0];
    EXPECT_TRUE(result.err.contains(option.message)) << result.err;
    EXPECT_TRUE(result.err.contains("try: ")) << result.err;
    EXPECT_TRUE(result.err.contains(option.remedy)) << result.err;
    EXPECT_EQ(json::parse(result.out)["reason"], option.reason) << words[0];
  }
  EXPECT_FALSE(std::filesystem::exists(folder_.File("ran")));
  EXPECT_FALSE(RunFlowback({"record", "--help-all"}).out.contains("--off-cpu"));
}

TEST_F(RecordTest, WithoutAnEmulatorAutoStepsAndTheHintSaysWhatToInstall) {
  FLOWBACK_NEEDS_HOST(host::Trait::kPtrace);
  const auto run = [&](const std::string& options) {
    return std::system(("PATH=/nonexistent " + ProgramFile() + " record " + options + " -o " +
                        file_ + " -- /bin/true >/dev/null 2>" + folder_.File("messages"))
                           .c_str());
  };
  EXPECT_EQ(WEXITSTATUS(run("--max-instructions 100")), 0);
  const std::string chosen = ReadFile(folder_.File("messages"));
  EXPECT_TRUE(chosen.contains("auto takes 'step'")) << chosen;
  EXPECT_TRUE(chosen.contains("sudo apt-get install qemu-user")) << chosen;
  EXPECT_EQ(WEXITSTATUS(run("--engine emulate")), 125);
  const std::string refused = ReadFile(folder_.File("messages"));
  EXPECT_TRUE(refused.contains("try: sudo apt-get install qemu-user")) << refused;
}

// The second one keeps the first one's file, which that still writes.
TEST_F(RecordTest, TwoAtOnceIntoTheSameFile) {
  const std::string command =
      ProgramFile() + " record -o " + file_ + " -- sh -c 'sleep 0.5' 2>/dev/null";
  const int status = std::system(
      ("{ " + command + "; } & sleep 0.2; " + command + "; s=$?; wait; exit $s").c_str());
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(RunFlowback({"info", "--strict", file_}).status, 0);
}

// At once, not when the program ends at last; and with --kill that is at once, too.
TEST_F(RecordTest, ALimitIsToldWhenItIsReachedAndMayEndTheProgram) {
  const auto begin = std::chrono::steady_clock::now();
  const ProgramResult killed = Record({"--duration", "300ms", "--kill", "--", "sleep", "60"});
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(40));
  EXPECT_EQ(killed.status, 128 + SIGTERM) << killed.err;
  EXPECT_TRUE(killed.err.contains("by --duration, the program was asked to end")) << killed.err;
  const ProgramResult left = Record({"--duration", "300ms", "--", "sleep", "1"});
  EXPECT_EQ(left.status, 0) << left.err;
  EXPECT_TRUE(left.err.contains("by --duration; the program runs on unrecorded")) << left.err;
}

// Hardware that is named by what it records, and is missing, is replaced, and a message says so.
TEST_F(RecordTest, AutoSaysWhyItDoesNotTakeTheHardwareThatWasMeant) {
  if (std::filesystem::exists("/sys/bus/event_source/devices/intel_pt"))
    GTEST_SKIP() << "this machine has Intel PT";
  const ProgramResult traced = Record({"-e", "intel_pt//u", "--", "true"});
  EXPECT_EQ(traced.status, 0);
  EXPECT_TRUE(traced.err.contains(": this machine has no Intel PT")) << traced.err;
}

TEST_F(RecordTest, AutoSaysWhatItTakes) {
  const ProgramResult result = Record({"--verbose", "--", "true"});
  EXPECT_TRUE(result.err.contains("--engine auto takes 'emulate'") ||
              result.err.contains("--engine auto takes 'step'"))
      << result.err;
}

// Only a stepped one may have the rights.
TEST_F(RecordTest, AutoStepsSetUserIdProgramsThatMayBeTraced) {
  FLOWBACK_NEEDS_HOST(host::Trait::kTemporaryPrograms);
  const std::string program = file_ + ".program";
  std::filesystem::copy_file("/bin/true", program);
  if (chown(program.c_str(), 65534, getegid()) != 0 || chmod(program.c_str(), S_ISUID | 0755) != 0)
    GTEST_SKIP() << "only root can make another user's program here";
  const ProgramResult result = Record({"--", program});
  std::filesystem::remove(program);
  EXPECT_TRUE(result.err.contains("--engine auto takes 'step'")) << result.err;
}

// The last part is missing then; the file still says that its times are not hardware's.
TEST_F(RecordTest, AKilledRecordersFileSaysThatItIsEmulated) {
  const ProgramResult killed = Record({"--", "sh", "-c", "kill -KILL $PPID"});
  ASSERT_EQ(killed.status, -9) << killed.err;
  const ProgramResult info = RunFlowback({"info", "--json", file_});
  ASSERT_EQ(info.status, 0) << info.err;
  const json told = json::parse(info.out);
  EXPECT_EQ(told["emulated"], true);
  EXPECT_TRUE(told["recorder"].get<std::string>().contains("emulated ("));
  EXPECT_TRUE(RunFlowback({"info", file_}).out.contains("\nemulated:"));
  const ProgramResult events = RunFlowback({"decode", "--as", "events", file_});
  EXPECT_TRUE(events.out.starts_with("# emulated")) << events.out.substr(0, 200);
}

TEST_F(RecordTest, MtcPacketsThatAreOffAreToldAsOff) {
  ASSERT_EQ(Record({"--mtc-period", "none", "--", "true"}).status, 0);
  const std::string text = RunFlowback({"info", file_}).out;
  EXPECT_TRUE(text.contains("MTC period off")) << text;
  const json told = json::parse(RunFlowback({"info", "--json", file_}).out);
  EXPECT_TRUE(told["options"]["mtc_shift"].is_null());
}

// A thread that was killed before it came back from the kernel ran no user code: nothing of it is
// lost, and info says the same as the summary.
TEST_F(RecordTest, KilledInTheKernelWithoutTrace) {
  FLOWBACK_NEEDS_HOST(host::Trait::kPtrace);
  const std::string script = folder_.Write(
      "script", "sleep 1000 & p=$!\n" + ProgramFile() + " record --json --engine step -p $p -o " +
                    file_ + " >" + folder_.File("summary") +
                    " & r=$!\n"
                    "until [ -s " +
                    file_ + " ]; do sleep 0.01; done\nkill -9 $p\nwait $r\n");
  ASSERT_EQ(std::system(("timeout 60 bash " + script + " 2>/dev/null").c_str()), 0);
  const json summary = json::parse(Lines(ReadFile(folder_.File("summary"))).back());
  EXPECT_EQ(summary["lost_percent"], 0);
  const ProgramResult told = RunFlowback({"info", "--json", "--strict", file_});
  EXPECT_EQ(told.status, 0) << told.err;
  const json info = json::parse(told.out);
  EXPECT_EQ(info["losses"], json::array());
  ASSERT_EQ(info["threads"].size(), 1u);
  EXPECT_EQ(info["threads"][0]["times"]["lost"]["time"], 0);
}

// The recorder's own digest comes from the addresses it stepped over, not from the packets.
TEST_F(RecordTest, DecodesToWhatWasExecuted) {
  const ProgramResult recorded = Record({"--json", "--", "true"});
  ASSERT_EQ(recorded.status, 0) << recorded.err;
  const json thread = json::parse(Lines(recorded.out).at(0));
  const ProgramResult decoded = RunFlowback({"decode", "--as", "digest", file_});
  EXPECT_EQ(decoded.status, 0) << decoded.err;
  EXPECT_EQ(decoded.err, "");
  EXPECT_EQ(decoded.out, std::to_string(thread["tid"].get<int>()) + " " +
                             std::to_string(thread["count"].get<uint64_t>()) + " " +
                             thread["digest"].get<std::string>() + "\n");
}

}  // namespace
}  // namespace flowback::test
