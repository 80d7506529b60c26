// SPDX-License-Identifier: MIT
// Recording with the kernel that runs here: its software events, judged by perf.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <map>

#include "tests/record/recorded.h"
#include "tests/support/places.h"

namespace flowback::record_test {
namespace {

#define FLOWBACK_NEEDS_PERF_EVENTS() FLOWBACK_NEEDS_HOST(flowback::host::Trait::kPerfEvents)

class EventRecorded : public ::testing::Test {
 protected:
  EventRecorded() {
    options_.engine = "events";
    options_.files.output = File("ours.data");
  }
  std::string File(const std::string& name) const { return (folder_.path() / name).string(); }
  RecordSummary Run() {
    const auto summary = Record(options_);
    EXPECT_TRUE(summary) << summary.error().message();
    return summary ? *summary : RecordSummary();
  }
  // perf's recording of the same command; empty: it failed.
  std::string PerfRecords(const std::string& options) const {
    std::string command =
        "perf record -q --buildid-mmap -o " + File("perf.data") + " " + options + " --";
    for (const std::string& word : options_.target.command) command += " '" + word + "'";
    return std::system((command + " >/dev/null 2>&1").c_str()) == 0 ? File("perf.data") : "";
  }
  Recording Open(const std::string& file) const {
    auto recording = OpenFile(file);
    EXPECT_TRUE(recording) << file;
    return recording ? *std::move(recording) : Recording();
  }

  support::TemporaryFolder folder_;
  RecordOptions options_;
};

// A record without what differs from run to run: times, numbers of processes, addresses.
struct Plain {
  std::string operator()(const MmapRecord& map) const {
    std::string id;
    for (const uint8_t byte : map.build_id.bytes) id += std::to_string(byte) + ".";
    return "mmap " + map.path + " " + std::to_string(map.size) + " " +
           std::to_string(map.file_offset) + " " + id;
  }
  std::string operator()(const CommRecord& comm) const {
    return (comm.exec ? "exec " : "comm ") + comm.comm;
  }
  std::string operator()(const ForkRecord& fork) const {
    return fork.pid == fork.parent_pid ? "thread begins" : "process begins";
  }
  std::string operator()(const ExitRecord& exit) const {
    return exit.pid == exit.tid ? "process ends" : "thread ends";
  }
  template <class Other>
  std::string operator()(const Other&) const {
    return "";
  }
};

// How many there are of each, but for what stood there before the command began: its names before
// its exec, and the kernel's own mapping.
std::map<std::string, int> PlainRecords(const Recording& recording) {
  std::map<std::string, int> records;
  bool began = false;
  for (const SidebandRecord& record : recording.sideband) {
    const std::string text = std::visit(Plain(), record);
    began |= text.starts_with("exec ");
    if (began && !text.empty()) ++records[text];
  }
  return records;
}

const std::vector<std::string> kForking = {
    "sh", "-c", "/bin/true; (/bin/true; /bin/echo a >/dev/null) & /bin/ls / >/dev/null; wait"};

TEST_F(EventRecorded, TellsOfProcessesWhatPerfTells) {
  FLOWBACK_NEEDS_PERF_EVENTS();
  FLOWBACK_NEEDS_PERF();
  options_.target.command = kForking;
  options_.events.words = {"dummy:u"};
  Run();
  const std::string perf = PerfRecords("-e dummy:u");
  ASSERT_FALSE(perf.empty());
  const auto ours = PlainRecords(Open(options_.files.output));
  EXPECT_EQ(ours, PlainRecords(Open(perf)));
  EXPECT_GE(ours.at("process begins"), 4);
  EXPECT_EQ(ours.at("exec ls"), 1);
}

TEST_F(EventRecorded, TellsOfThreadsWhatPerfTells) {
  FLOWBACK_NEEDS_PERF_EVENTS();
  FLOWBACK_NEEDS_PERF();
  options_.target.command = {Sample("threads")};
  options_.events.words = {"cpu-clock:u", "page-faults:u"};
  const RecordSummary summary = Run();
  ASSERT_TRUE(summary.events);
  EXPECT_GT(summary.events->samples, 0u);
  const std::string perf = PerfRecords("-e cpu-clock:u -e page-faults:u");
  ASSERT_FALSE(perf.empty());
  EXPECT_EQ(PlainRecords(Open(options_.files.output)), PlainRecords(Open(perf)));
}

const MmapRecord* KernelOf(const Recording& recording) {
  for (const SidebandRecord& record : recording.sideband)
    if (const auto* map = std::get_if<MmapRecord>(&record); map != nullptr && map->kernel)
      return map;
  return nullptr;
}

TEST_F(EventRecorded, NamesTheKernelsCodeAsPerfDoes) {
  FLOWBACK_NEEDS_PERF_EVENTS();
  FLOWBACK_NEEDS_PERF();
  FLOWBACK_NEEDS_HOST(host::Trait::kRoot);
  options_.target.command = {"true"};
  options_.events.words = {"cpu-clock"};
  Run();
  const std::string perf = PerfRecords("-e cpu-clock");
  ASSERT_FALSE(perf.empty());
  const Recording ours = Open(options_.files.output);
  const Recording perfs = Open(perf);
  const MmapRecord* own = KernelOf(ours);
  const MmapRecord* theirs = KernelOf(perfs);
  if (theirs == nullptr) GTEST_SKIP() << "the kernel hides its addresses";
  ASSERT_NE(own, nullptr);
  EXPECT_EQ(own->address, theirs->address);
  EXPECT_EQ(own->size, theirs->size);
  EXPECT_EQ(own->file_offset, theirs->file_offset);
  EXPECT_EQ(own->path, theirs->path);
}

TEST_F(EventRecorded, SwitchesAreRecordedOnDemand) {
  FLOWBACK_NEEDS_PERF_EVENTS();
  options_.target.command = {"sleep", "0.05"};
  options_.events.words = {"dummy:u"};
  options_.events.switches = true;
  Run();
  const Recording recording = Open(options_.files.output);
  EXPECT_TRUE(std::ranges::any_of(recording.sideband, [](const SidebandRecord& record) {
    return std::holds_alternative<SwitchRecord>(record);
  }));
}

// perf reads it, and finds as many samples as were counted.
TEST_F(EventRecorded, PerfReadsIt) {
  FLOWBACK_NEEDS_PERF_EVENTS();
  FLOWBACK_NEEDS_PERF();
  options_.target.command = {"sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"};
  options_.events.words = {"cpu-clock:u,page-faults:u"};
  const RecordSummary summary = Run();
  ASSERT_TRUE(summary.events);
  const std::string listing = File("listing");
  const std::string command = "perf script -F event -i " + options_.files.output + " >" + listing;
  ASSERT_EQ(std::system((command + " 2>/dev/null").c_str()), 0);
  std::ifstream lines(listing);
  std::map<std::string, uint64_t> events;
  for (std::string event; lines >> event;) ++events[event];
  EXPECT_GT(events["cpu-clock:u:"], 0u);
  EXPECT_GT(events["page-faults:u:"], 0u);
  EXPECT_EQ(events["cpu-clock:u:"] + events["page-faults:u:"], summary.events->samples);
  const std::string report = "perf report --stdio -i " + options_.files.output;
  EXPECT_EQ(std::system((report + " >/dev/null 2>&1").c_str()), 0);
}

TEST_F(EventRecorded, PerfReadsTracepoints) {
  FLOWBACK_NEEDS_PERF_EVENTS();
  FLOWBACK_NEEDS_PERF();
  FLOWBACK_NEEDS_HOST(host::Trait::kRoot);
  if (access("/sys/kernel/tracing/events/sched", R_OK) != 0) GTEST_SKIP() << "no tracefs here";
  options_.target.command = {"sleep", "0.05"};
  options_.events.words = {"sched:sched_switch"};
  const RecordSummary summary = Run();
  ASSERT_TRUE(summary.events);
  EXPECT_GT(summary.events->samples, 0u);
  const std::string command = "perf script -F event,trace -i ";
  const std::string finds = " 2>/dev/null | grep -q prev_comm=sleep";
  EXPECT_EQ(std::system((command + options_.files.output + finds).c_str()), 0);
  // In a pipe, too: what the fields are stands among the records.
  options_.files.pipe = open(File("pipe").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  Run();
  EXPECT_EQ(std::system((command + "- <" + File("pipe") + finds).c_str()), 0);
  EXPECT_EQ(Open(File("pipe")).warnings, std::vector<Warning>());
}

TEST_F(EventRecorded, TheCommandsStatusIsItsOwn) {
  FLOWBACK_NEEDS_PERF_EVENTS();
  options_.target.command = {"sh", "-c", "exit 7"};
  EXPECT_EQ(WEXITSTATUS(Run().command_status), 7);
}

TEST_F(EventRecorded, AttachesToWhatRuns) {
  FLOWBACK_NEEDS_PERF_EVENTS();
  const pid_t pid = fork();
  if (pid == 0) {
    execlp("sleep", "sleep", "0.3", nullptr);
    _exit(127);
  }
  usleep(100'000);
  options_.target.pids = {pid};
  options_.events.words = {"dummy:u"};
  const RecordSummary summary = Run();
  EXPECT_EQ(summary.stop_reason, StopReason::kProgramEnded);
  waitpid(pid, nullptr, 0);
  const auto records = Open(options_.files.output).sideband;
  const bool has_name = std::ranges::any_of(records, [&](const SidebandRecord& record) {
    const auto* comm = std::get_if<CommRecord>(&record);
    return comm != nullptr && comm->pid == pid && comm->comm == "sleep";
  });
  EXPECT_TRUE(has_name);
  EXPECT_TRUE(std::ranges::any_of(records, [](const SidebandRecord& record) {
    return std::holds_alternative<ExitRecord>(record);
  }));
}

TEST_F(EventRecorded, WholeMachineUntilTheDuration) {
  FLOWBACK_NEEDS_PERF_EVENTS();
  FLOWBACK_NEEDS_HOST(host::Trait::kRoot);
  options_.events.all_cpus = true;
  options_.limits.duration = std::chrono::milliseconds(300);
  const RecordSummary summary = Run();
  EXPECT_EQ(summary.stop_reason, StopReason::kDuration);
  EXPECT_GT(summary.events->records, 0u);
  Open(options_.files.output);
}

TEST_F(EventRecorded, WhatCannotBeRecordedSaysWhy) {
  FLOWBACK_NEEDS_PERF_EVENTS();
  options_.target.command = {"/no/such/program"};
  auto summary = Record(options_);
  ASSERT_FALSE(summary);
  EXPECT_EQ(summary.error().code(), ErrorCode::kCommandMissing);
  options_.target.command = {};
  options_.target.pids = {1 << 30};
  summary = Record(options_);
  ASSERT_FALSE(summary);
  EXPECT_TRUE(summary.error().message().contains("there is no process"))
      << summary.error().message();
  options_.target = {.command = {"true"}, .pids = {}, .tids = {}};
  options_.events.cpus = "4095";
  summary = Record(options_);
  ASSERT_FALSE(summary);
  EXPECT_EQ(summary.error().code(), ErrorCode::kNoHardware);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "nothing is left behind";
}

// Neither a file that may not be executed nor what only exec itself refuses.
TEST_F(EventRecorded, ACommandThatCannotBeRunCostsNoOlderRecording) {
  FLOWBACK_NEEDS_PERF_EVENTS();
  const std::string text = File("text");
  std::ofstream(text) << "no program";
  std::ofstream(options_.files.output) << "an older recording";
  std::ofstream(options_.files.output + ".old") << "the oldest";
  const auto content = [](const std::string& file) {
    std::ifstream in(file);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  options_.events.words = {"dummy:u"};
  options_.target.command = {text};
  auto summary = Record(options_);
  ASSERT_FALSE(summary);
  EXPECT_EQ(summary.error().code(), ErrorCode::kCommandRefused) << summary.error().message();
  EXPECT_EQ(content(options_.files.output), "an older recording");
  EXPECT_EQ(content(options_.files.output + ".old"), "the oldest");
  options_.target.command = {"true", std::string(300'000, 'x')};  // longer than a word may be
  summary = Record(options_);
  ASSERT_FALSE(summary);
  EXPECT_EQ(content(options_.files.output), "an older recording");
  EXPECT_EQ(content(options_.files.output + ".old"), "the oldest");
  EXPECT_NE(access((options_.files.output + ".old.old").c_str(), F_OK), 0);
  options_.files.output = File("new");
  ASSERT_FALSE(Record(options_));
  EXPECT_NE(access(options_.files.output.c_str(), F_OK), 0) << "nothing is left behind";
}

TEST_F(EventRecorded, TheOldestRecordingGoesWhenAnotherBegins) {
  FLOWBACK_NEEDS_PERF_EVENTS();
  options_.target.command = {"true"};
  options_.events.words = {"dummy:u"};
  for (int i = 0; i < 3; ++i) Run();
  EXPECT_EQ(access((options_.files.output + ".old").c_str(), F_OK), 0);
  EXPECT_NE(access((options_.files.output + ".old.old").c_str(), F_OK), 0);
}

// The program says how many calls there are, and how many sleep. Probes of it are the kernel's own.
TEST_F(EventRecorded, TimesCallsOnAllThreads) {
  FLOWBACK_NEEDS_PERF_EVENTS();
  FLOWBACK_NEEDS_HOST(host::Trait::kRoot);
  if (access("/sys/bus/event_source/devices/uprobe", R_OK) != 0) GTEST_SKIP() << "no uprobes here";
  options_.target.command = {RecordedProgramsFolder() + "/slow_calls"};
  options_.events.words = {"dummy:u"};
  options_.direction.slow_function = "handle";
  options_.direction.slow = std::chrono::milliseconds(20);
  for (int i = 0; i < 3; ++i) {
    const RecordSummary summary = Run();
    ASSERT_TRUE(summary.slow_calls);
    EXPECT_EQ(WEXITSTATUS(summary.command_status), 0) << "all its threads began";
    EXPECT_EQ(summary.slow_calls->calls, 124u);
    EXPECT_GE(summary.slow_calls->slow, 13u);
    EXPECT_LE(summary.slow_calls->slow, 20u) << "on a busy machine some are slow that do not sleep";
    EXPECT_EQ(summary.slow_calls->halves, 0u);
  }
  Open(options_.files.output);
}

// The limit is this process's: the program's own files have it, too, and it makes none.
TEST_F(EventRecorded, AFullOutputIsSaidAndTheProgramRunsOn) {
  FLOWBACK_NEEDS_PERF_EVENTS();
  options_.target.command = {
      "sh", "-c", "i=0; while [ $i -lt 80 ]; do /bin/true; sleep 0.01; i=$((i+1)); done; exit 9"};
  options_.events.words = {"page-faults/period=1/u"};
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  rlimit small = before;
  small.rlim_cur = 256 << 10;  // several rounds, of which the last finds no room
  setrlimit(RLIMIT_FSIZE, &small);
  const auto summary = Record(options_);
  setrlimit(RLIMIT_FSIZE, &before);
  ASSERT_TRUE(summary) << summary.error().message();
  ASSERT_TRUE(summary->failure);
  EXPECT_TRUE(summary->failure->message().contains("can't write to"))
      << summary->failure->message();
  EXPECT_TRUE(summary->failure->remedy().contains("ulimit -f")) << summary->failure->remedy();
  EXPECT_EQ(summary->stop_reason, StopReason::kOutputFailed);
  EXPECT_EQ(WEXITSTATUS(summary->command_status), 9);
  const Recording recording = Open(options_.files.output);
  EXPECT_GT(recording.sideband.size(), 20u) << "what was written before";
}

// Processes begin and end while their events are opened.
TEST_F(EventRecorded, AttachesInAStormOfForks) {
  FLOWBACK_NEEDS_PERF_EVENTS();
  const pid_t pid = fork();
  if (pid == 0) {
    execlp("sh", "sh", "-c", "while :; do /bin/true; done", nullptr);
    _exit(127);
  }
  usleep(100'000);
  options_.target.pids = {pid};
  options_.events.words = {"dummy:u"};
  for (int i = 0; i < 5; ++i) {
    options_.limits.duration = std::chrono::milliseconds(50);
    const auto summary = Record(options_);
    ASSERT_TRUE(summary) << summary.error().message();
    EXPECT_FALSE(summary->failure);
  }
  // The last one ends when the storm does.
  options_.limits.duration.reset();
  const pid_t end = fork();
  if (end == 0) {
    usleep(200'000);
    kill(pid, SIGKILL);
    _exit(0);
  }
  Run();
  waitpid(pid, nullptr, 0);
  waitpid(end, nullptr, 0);
  Open(options_.files.output);
}

// A recorder that is killed leaves what it wrote.
TEST_F(EventRecorded, AKilledRecorderLeavesAReadableFile) {
  FLOWBACK_NEEDS_PERF_EVENTS();
  options_.target.command = {"sleep", "5"};
  const pid_t recorder = fork();
  if (recorder == 0) {
    options_.events.words = {"dummy:u"};
    static_cast<void>(Record(options_));
    _exit(0);
  }
  usleep(400'000);
  kill(recorder, SIGKILL);
  waitpid(recorder, nullptr, 0);
  EXPECT_FALSE(Open(options_.files.output).sideband.empty());
  if (!host::Has(host::Trait::kPerf)) return;
  const std::string command = "perf script -i " + options_.files.output + " >/dev/null 2>&1";
  EXPECT_EQ(std::system(command.c_str()), 0) << "killed before its first round";
}

}  // namespace
}  // namespace flowback::record_test
