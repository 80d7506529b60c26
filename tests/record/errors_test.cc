// SPDX-License-Identifier: MIT
// What can't be recorded: each failure says what, how it was found out, and what to do.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "flowback/capture/open.h"
#include "flowback/capture/record.h"
#include "tests/record/emulated.h"
#include "tests/record/recorded.h"

namespace flowback::record_test {
namespace {

namespace fs = std::filesystem;

class RecordErrors : public testing::Test {
 protected:
  RecordErrors() {
    options_.target.command = {Program("known")};
    options_.files.output = File("perf.data");
  }
  void ExpectError(ErrorCode code, const std::string& words) {
    const auto summary = Record(options_);
    ASSERT_FALSE(summary);
    EXPECT_EQ(summary.error().code(), code) << summary.error().message();
    EXPECT_NE(summary.error().message().find(words), std::string::npos)
        << summary.error().message();
    EXPECT_FALSE(summary.error().remedy().empty());
    // Nothing is left behind.
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG | __WALL), -1);
    EXPECT_EQ(errno, ECHILD);
  }
  std::string File(const std::string& name) const { return (folder_.path() / name).string(); }

  support::TemporaryFolder folder_;
  RecordOptions options_;
};

TEST_F(RecordErrors, CommandNotInPath) {
  FLOWBACK_NEEDS_PTRACE();
  options_.target.command = {"no-such-program-anywhere"};
  ExpectError(ErrorCode::kCommandMissing, "no such program in PATH");
}

TEST_F(RecordErrors, CommandFileMissing) {
  FLOWBACK_NEEDS_PTRACE();
  options_.target.command = {"/no/such/program"};
  ExpectError(ErrorCode::kCommandMissing, "'/no/such/program'");
}

TEST_F(RecordErrors, CommandNotExecutable) {
  FLOWBACK_NEEDS_PTRACE();
  options_.target.command = {folder_.Write("text", std::string("not a program"))};
  ExpectError(ErrorCode::kCommandRefused, "permission denied");
}

TEST_F(RecordErrors, CommandIsAFolder) {
  FLOWBACK_NEEDS_PTRACE();
  options_.target.command = {folder_.path().string()};
  ExpectError(ErrorCode::kCommandRefused, "it is a directory");
}

TEST_F(RecordErrors, CommandsInterpreterMissing) {
  FLOWBACK_NEEDS_PTRACE();
  FLOWBACK_NEEDS_HOST(host::Trait::kTemporaryPrograms);
  const std::string script = folder_.Write("script", std::string("#!/no/such/interpreter\n"));
  fs::permissions(script, fs::perms::owner_all);
  options_.target.command = {script};
  ExpectError(ErrorCode::kCommandRefused, "interpreter");
}

// A file of unknown format is the shell's, as for execvp; but a program is no script, be it damaged
// or another machine's.
TEST_F(RecordErrors, CommandIsADamagedOrForeignProgram) {
  FLOWBACK_NEEDS_PTRACE();
  FLOWBACK_NEEDS_HOST(host::Trait::kTemporaryPrograms);
  std::vector<uint8_t> elf(64, 0);
  const char kMagic[] = {0x7f, 'E', 'L', 'F', 2, 1, 1};
  std::copy(std::begin(kMagic), std::end(kMagic), elf.begin());
  elf[16] = 2;  // executable
  const auto expect = [&](uint8_t machine, const std::string& words) {
    elf[18] = machine;
    const std::string program = folder_.Write("program", elf);
    fs::permissions(program, fs::perms::owner_all);
    options_.target.command = {program};
    for (const char* engine : {"step", "emulate"}) {
      if (std::string(engine) == "emulate" && !WhyNotEmulated().empty()) continue;
      SCOPED_TRACE(engine);
      Emulate(options_);
      options_.engine = engine;
      ExpectError(ErrorCode::kCommandRefused, words);
      EXPECT_FALSE(fs::exists(options_.files.output));
    }
  };
  expect(62, "is damaged: it has no segment to load");
  expect(0xf3, "is a program for RISC-V");
  elf[16] = 1;
  expect(62, "is damaged: it is no executable file");
  elf.resize(40);
  expect(62, "is damaged: its header is cut short");
}

TEST_F(RecordErrors, CommandWasCutShort) {
  FLOWBACK_NEEDS_EMULATOR();
  FLOWBACK_NEEDS_HOST(host::Trait::kTemporaryPrograms);
  std::ifstream file("/bin/true", std::ios::binary);
  std::vector<uint8_t> bytes{std::istreambuf_iterator<char>(file), {}};
  bytes.resize(4096);
  const std::string program = folder_.Write("program", bytes);
  fs::permissions(program, fs::perms::owner_all);
  Emulate(options_);
  options_.target.command = {program};
  ExpectError(ErrorCode::kCommandRefused, "a segment of it lies behind its end");
}

TEST_F(RecordErrors, NoCommand) {
  options_.target.command.clear();
  ExpectError(ErrorCode::kUsage, "no command");
  options_.target.command = {""};
  ExpectError(ErrorCode::kUsage, "no command");
}

TEST_F(RecordErrors, UnknownEngine) {
  options_.engine = "steam";
  ExpectError(ErrorCode::kUnsupported, "'steam'");
}

TEST_F(RecordErrors, PsbPeriodTheHardwareHasNot) {
  for (const uint32_t period : {0u, 1000u, 1024u, 3000u, 1u << 27}) {
    options_.packets.psb_period_bytes = period;
    ExpectError(ErrorCode::kUsage, std::to_string(period));
  }
}

TEST_F(RecordErrors, MtcPeriodTheHardwareHasNot) {
  options_.packets.mtc_shift = 16;
  ExpectError(ErrorCode::kUsage, "2^16");
}

TEST_F(RecordErrors, OutputInAMissingFolder) {
  FLOWBACK_NEEDS_PTRACE();
  options_.files.output = File("missing/perf.data");
  ExpectError(ErrorCode::kSystem, options_.files.output);
}

TEST_F(RecordErrors, OutputIsAFolder) {
  FLOWBACK_NEEDS_PTRACE();
  options_.files.output = folder_.path().string();
  ExpectError(ErrorCode::kSystem, "Is a directory");
}

TEST_F(RecordErrors, DiskFull) {
  FLOWBACK_NEEDS_PTRACE();
  options_.files.output = "/dev/full";
  ExpectError(ErrorCode::kSystem, "No space left");
}

TEST_F(RecordErrors, RawFolderUnderAFile) {
  FLOWBACK_NEEDS_PTRACE();
  options_.files.raw_directory = folder_.Write("file", std::string("x")) + "/raw";
  ExpectError(ErrorCode::kSystem, "raw");
}

// A slip in the command must not cost the recording made before.
TEST_F(RecordErrors, AnOlderRecordingOutlivesACommandThatCannotBeRun) {
  FLOWBACK_NEEDS_PTRACE();
  options_.files.output = folder_.Write("perf.data", std::string("older"));
  options_.target.command = {"no-such-program-anywhere"};
  ASSERT_FALSE(Record(options_));
  std::ifstream file(options_.files.output);
  std::string content;
  file >> content;
  EXPECT_EQ(content, "older");
}

// kill -9 of the recorder: the program dies with it, and what was written can be read.
TEST_F(RecordErrors, RecorderKilled) {
  FLOWBACK_NEEDS_PTRACE();
  int ends[2];
  ASSERT_EQ(pipe2(ends, 0), 0);  // the recorded program holds the writing end
  options_.target.command = {"/bin/sh", "-c", "while true; do true; done"};
  const pid_t recorder = fork();
  if (recorder == 0) {
    close(ends[0]);
    const auto summary = Record(options_);
    _exit(summary ? 0 : 1);
  }
  close(ends[1]);
  while (!fs::exists(options_.files.output) || fs::file_size(options_.files.output) < 2000)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  kill(recorder, SIGKILL);
  waitpid(recorder, nullptr, 0);
  char byte;
  EXPECT_EQ(read(ends[0], &byte, 1), 0) << "the program still runs";
  close(ends[0]);

  const auto recording = OpenFile(options_.files.output);
  ASSERT_TRUE(recording) << recording.error().message();
  EXPECT_TRUE(support::Warns(*recording, "did not end properly"));
  ASSERT_EQ(recording->streams.size(), 1u);
  EXPECT_FALSE(recording->streams[0].bytes.empty());
}

}  // namespace
}  // namespace flowback::record_test
