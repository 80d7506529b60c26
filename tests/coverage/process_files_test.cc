// SPDX-License-Identifier: MIT
// Recordings of single processes against the one of all: what their counts add up to is the same,
// object by object, and each is complete when it is handed over.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "flowback/capture/open.h"
#include "flowback/capture/record.h"
#include "flowback/replay/coverage_counter.h"
#include "flowback/replay/threads.h"
#include "replay/coverage/coverage_parts.h"
#include "tests/cli/run_program.h"
#include "tests/coverage/count_recording.h"
#include "tests/record/emulated.h"

namespace flowback::testing {
namespace {

namespace fs = std::filesystem;

CoverageCounts CountsOf(const std::string& file) {
  OpenOptions options;
  options.input = file;
  return CountRecording(options, {}, Resync::kEarliest);
}

std::vector<std::string> Shell(const std::string& script) { return {"/bin/sh", "-c", script}; }

struct Split {
  CoverageCounts sum;
  size_t files = 0;
  size_t most_at_once = 0;
  RecordSummary summary;
};

// The callee of each recording counts it and throws it away, as `flowback coverage -- CMD` does.
Split RecordBoth(const std::vector<std::string>& command, const fs::path& folder) {
  Split split;
  RecordOptions options;
  record_test::Emulate(options);
  options.target.command = command;
  options.files.output = folder / "whole.data";
  options.processes.folder = folder / "processes";
  fs::create_directory(options.processes.folder);
  options.processes.on_end = [&](const std::string& path) {
    const size_t there = std::distance(fs::directory_iterator(options.processes.folder), {});
    split.most_at_once = std::max(split.most_at_once, there);
    split.sum.Add(CountsOf(path));
    ++split.files;
    fs::remove_all(fs::path(path).parent_path());
    return Status();
  };
  const Result<RecordSummary> summary = Record(options);
  EXPECT_TRUE(summary) << summary.error().message();
  if (summary) split.summary = *summary;
  EXPECT_EQ(split.summary.losses, 0U);
  EXPECT_TRUE(fs::is_empty(options.processes.folder));
  return split;
}

void ExpectTheSame(const std::vector<std::string>& command) {
  SCOPED_TRACE(command.back());
  const test::ScratchFolder folder;
  Split split = RecordBoth(command, folder.path());
  CoverageCounts whole = CountsOf(fs::path(folder.path()) / "whole.data");
  EXPECT_EQ(split.sum.recordings, split.files);
  split.sum.recordings = whole.recordings;
  EXPECT_EQ(split.sum.instructions, split.summary.instructions);
  ASSERT_EQ(split.sum.objects.size(), whole.objects.size());
  for (size_t i = 0; i < whole.objects.size(); ++i)
    EXPECT_TRUE(split.sum.objects[i] == whole.objects[i]) << whole.objects[i].id.path;
  EXPECT_EQ(PartToBytes(split.sum), PartToBytes(whole));
  std::set<int32_t> pids;
  for (const RecordedThread& thread : split.summary.threads) pids.insert(thread.pid);
  EXPECT_EQ(split.files, pids.size());
}

TEST(ProcessFiles, AddUpToTheWhole) {
  FLOWBACK_NEEDS_EMULATOR();
  // An exec; children that are no other programs, and children of these; a pipe; one that is
  // killed; one that outlives its parent.
  ExpectTheSame(Shell("exec /bin/true"));
  ExpectTheSame(Shell(
      "(a=1; (b=2; /bin/echo $a$b)); for i in 1 2 3; do /bin/echo $i | cat; done >/dev/null"));
  ExpectTheSame(Shell("(kill -9 $(sh -c 'echo $PPID')); (sleep 0.3; ls / >/dev/null) & exit 3"));
}

// Code that is in no file, and that a child has of its parent.
constexpr const char* kMakesCode = R"(
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
int main() {
  const unsigned char code[] = {0x8d, 0x47, 1, 0x83, 0xff, 5, 0x7c, 1, 0x90, 0xc3};
  unsigned char* place = mmap(0, 8192, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  int (*call)(int) = (int (*)(int))place;
  memcpy(place, code, sizeof code);
  int sum = 0;
  for (int i = 0; i < 9; ++i) sum += call(i);
  if (fork() == 0) {
    for (int i = 0; i < 4; ++i) sum += call(i);
    place[2] = 2;
    if (fork() == 0) return call(7) != 9;
    int status;
    wait(&status);
    return status != 0 || call(1) != 3;
  }
  int status;
  wait(&status);
  return status != 0 || call(1) != 2;
}
)";

TEST(ProcessFiles, HaveTheCodeThatTheirParentsMade) {
  FLOWBACK_NEEDS_EMULATOR();
  const test::ScratchFolder folder;
  folder.Write("a.c", kMakesCode);
  const test::ProgramResult built = test::RunShell(folder, TEST_CXX " -x c -O1 -o a a.c");
  ASSERT_EQ(built.status, 0) << built.err;
  ExpectTheSame({folder.File("a")});
}

TEST(ProcessFiles, AreHandedOverAsTheirProcessesEnd) {
  FLOWBACK_NEEDS_EMULATOR();
  const test::ScratchFolder folder;
  const Split split = RecordBoth(
      Shell("i=0; while [ $i -lt 40 ]; do /bin/true; sleep 0.02; i=$((i+1)); done"), folder.path());
  EXPECT_EQ(split.files, 81U);
  EXPECT_LT(split.most_at_once, 61U);  // a slow machine is behind, but never holds all
}

TEST(ProcessFiles, EndTheRecordingWhereNobodyTakesThem) {
  FLOWBACK_NEEDS_EMULATOR();
  const test::ScratchFolder folder;
  RecordOptions options;
  record_test::Emulate(options);
  options.target.command = Shell("/bin/true; sleep 1; exit 4");
  options.files.output.clear();
  options.processes.folder = folder.path();
  options.processes.on_end = [](const std::string&) -> Status {
    return Fail(ErrorCode::kSystem, "nobody wants it");
  };
  const Result<RecordSummary> summary = Record(options);
  ASSERT_TRUE(summary) << summary.error().message();
  ASSERT_TRUE(summary->failure);
  EXPECT_EQ(summary->failure->message(), "nobody wants it");
  EXPECT_EQ(summary->stop_reason, StopReason::kOutputFailed);
  EXPECT_EQ(summary->command_status, 4 << 8);  // it ran on
}

// As where the disk is full, or no more files may be open.
TEST(ProcessFiles, EndTheRecordingWhereOneCannotBeBegun) {
  FLOWBACK_NEEDS_EMULATOR();
  const test::ScratchFolder folder;
  RecordOptions options;
  record_test::Emulate(options);
  options.target.command = Shell("/bin/true; sleep 2; /bin/true; /bin/true; exit 4");
  options.files.output.clear();
  options.processes.folder = fs::path(folder.path()) / "processes";
  fs::create_directory(options.processes.folder);
  // Files stand where the next folders are to be.
  options.processes.on_end = [&](const std::string&) {
    for (int number = 4; number < 9; ++number)
      std::ofstream(fs::path(options.processes.folder) / std::to_string(number));
    return Status();
  };
  const Result<RecordSummary> summary = Record(options);
  ASSERT_TRUE(summary) << summary.error().message();
  ASSERT_TRUE(summary->failure);
  const std::string& why = summary->failure->message();
  EXPECT_NE(why.find("for a process's recording"), std::string::npos) << why;
  EXPECT_EQ(summary->command_status, 4 << 8);  // it ran on
}

TEST(ProcessFiles, AreOfOneEngineAndOfThreads) {
  RecordOptions options;
  options.target.command = {"/bin/true"};
  options.processes.folder = "/tmp";
  options.processes.on_end = [](const std::string&) { return Status(); };
  for (const bool stepped : {true, false}) {
    options.engine = stepped ? "step" : "emulate";
    options.streams.per_cpu = !stepped;
    const Result<RecordSummary> summary = Record(options);
    ASSERT_FALSE(summary);
    EXPECT_EQ(summary.error().code(), ErrorCode::kUsage);
  }
}

}  // namespace
}  // namespace flowback::testing
