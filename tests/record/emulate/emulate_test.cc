// SPDX-License-Identifier: MIT
// The emulating engine: what it writes decodes to what ran, and the step engine is its judge.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>
#include <variant>

#include "decode/pt/packets/packet.h"
#include "flowback/capture/open.h"
#include "tests/record/emulated.h"
#include "tests/record/recorded.h"

namespace flowback::record_test {
namespace {

// The threads' digests, in order of their start.
std::vector<FlowDigest> Digests(const RecordSummary& summary) {
  std::vector<FlowDigest> digests;
  for (const RecordedThread& thread : summary.threads) digests.push_back(thread.digest);
  return digests;
}

// The last packet but padding and times switches tracing off.
bool EndsOutsideTheProgram(const Stream& stream) {
  pt::PebsState pebs;
  bool is_off = false;
  for (Bytes bytes = stream.bytes; !bytes.empty();) {
    pt::Packet packet;
    const pt::ReadResult size = pt::ReadPacket(bytes, pebs, packet);
    if (!size) return false;
    const bool tells_flow =
        !std::holds_alternative<pt::Pad>(packet) && !std::holds_alternative<pt::Tsc>(packet) &&
        !std::holds_alternative<pt::Tma>(packet) && !std::holds_alternative<pt::Cyc>(packet);
    if (tells_flow) is_off = std::holds_alternative<pt::TipPgd>(packet);
    bytes = bytes.subspan(*size);
  }
  return is_off;
}

// ---- judged by the step engine ----

void ExpectToRunAsWhenStepped(const std::vector<std::string>& command) {
  Recorder stepped;
  const auto truth = stepped.Run(command);
  ASSERT_TRUE(truth) << truth.error().message();
  for (const bool exact : {false, true}) {
    SCOPED_TRACE(exact ? "exact" : "blocks");
    Recorder recorder;
    Emulate(recorder.options());
    recorder.options().emulate.exact = exact;
    const auto summary = recorder.Run(command);
    ASSERT_TRUE(summary) << summary.error().message();
    EXPECT_EQ(summary->command_status, truth->command_status);
    EXPECT_EQ(Digests(*summary), Digests(*truth));
    EXPECT_EQ(summary->instructions, truth->instructions);
    ExpectSameFlow(recorder.File("perf.data"), *summary);
  }
}

class Judged : public testing::TestWithParam<const char*> {};

TEST_P(Judged, RunsAsWhenStepped) {
  FLOWBACK_NEEDS_PTRACE();
  FLOWBACK_NEEDS_EMULATOR();
  const std::string name = GetParam();
  ExpectToRunAsWhenStepped({name == "tiny" ? Sample(name) : Program(name)});
}

// Programs without a C library: that one looks at the CPU it runs on.
INSTANTIATE_TEST_SUITE_P(, Judged,
                         testing::Values("known", "strings", "recursion", "faults", "handler_stack",
                                         "rewrites", "versions", "tiny"),
                         [](const auto& test) { return std::string(test.param); });

// The flow reaches the instruction that raises the fault, and no further.
class Fatal : public testing::TestWithParam<const char*> {};

TEST_P(Fatal, EndsAsWhenStepped) {
  FLOWBACK_NEEDS_PTRACE();
  FLOWBACK_NEEDS_EMULATOR();
  ExpectToRunAsWhenStepped({Program("fatal"), GetParam()});
}

INSTANTIATE_TEST_SUITE_P(, Fatal,
                         testing::Values("scan", "middle", "rep", "jump", "divide", "undefined",
                                         "privileged", "trap", "kill"),
                         [](const auto& test) { return std::string(test.param); });

TEST(FatalAlarm, LosesNothing) {
  FLOWBACK_NEEDS_EMULATOR();
  for (int i = 0; i < 10; ++i) {
    Recorder recorder;
    Emulate(recorder.options());
    const auto summary = recorder.Run({Program("fatal"), "alarm"});
    ASSERT_TRUE(summary) << summary.error().message();
    EXPECT_EQ(summary->command_status, SIGALRM);
    ExpectSameFlow(recorder.File("perf.data"), *summary);
    const auto recording = OpenFile(recorder.File("perf.data"));
    ASSERT_TRUE(recording) << recording.error().message();
    EXPECT_TRUE(EndsOutsideTheProgram(recording->streams.at(0)));
  }
}

// ---- threads that another one ends ----

struct End {
  const char* how;
  int status;
};

class OtherThreads : public testing::TestWithParam<End> {};

TEST_P(OtherThreads, TellWhereTheyWere) {
  FLOWBACK_NEEDS_EMULATOR();
  for (int i = 0; i < 2; ++i) {
    Recorder recorder;
    Emulate(recorder.options());
    const auto summary = recorder.Run({Program("ends"), GetParam().how, Program("known")});
    ASSERT_TRUE(summary) << summary.error().message();
    EXPECT_EQ(summary->command_status, GetParam().status);
    EXPECT_EQ(summary->threads.size(), 4u);
    EXPECT_EQ(summary->notes, std::vector<std::string>{});
    ExpectSameFlow(recorder.File("perf.data"), *summary);
    const auto recording = OpenFile(recorder.File("perf.data"));
    ASSERT_TRUE(recording) << recording.error().message();
    for (const Stream& stream : recording->streams) EXPECT_TRUE(EndsOutsideTheProgram(stream));
  }
}

INSTANTIATE_TEST_SUITE_P(, OtherThreads,
                         testing::Values(End{"return", 3 << 8}, End{"exec", 0},
                                         End{"failing_exec", 0}, End{"crash", SIGSEGV},
                                         End{"alarm", SIGALRM}),
                         [](const auto& test) { return std::string(test.param.how); });

// ---- real programs ----

struct Case {
  const char* name;
  std::vector<std::string> command;
  int status = 0;
  size_t threads = 1;
};
void PrintTo(const Case& test, std::ostream* out) { *out << test.name; }

class Emulated : public testing::TestWithParam<Case> {};

TEST_P(Emulated, LosesNothing) {
  FLOWBACK_NEEDS_EMULATOR();
  const Case& test = GetParam();
  if (test.command[0].starts_with("/usr/") && access(test.command[0].c_str(), X_OK) != 0)
    GTEST_SKIP() << test.command[0] << " is not installed";
  Recorder recorder;
  Emulate(recorder.options());
  const auto summary = recorder.Run(test.command);
  ASSERT_TRUE(summary) << summary.error().message() << "; " << summary.error().remedy();
  EXPECT_EQ(summary->command_status & ~0x80, test.status);  // without the core dump flag
  EXPECT_EQ(summary->threads.size(), test.threads);
  // Killed by its child, which may still be there then.
  if (test.status != SIGKILL) {
    EXPECT_EQ(summary->notes, std::vector<std::string>{});
  }
  ExpectSameFlow(recorder.File("perf.data"), *summary);
}

INSTANTIATE_TEST_SUITE_P(
    , Emulated,
    testing::Values(
        Case{"Gzip", {"/bin/gzip", "-c", "/etc/passwd"}},
        Case{"RegularExpressionsCompiled", {"/bin/grep", "-cP", "ro{2,}t(?!x)", "/etc/passwd"}},
        Case{"Sqlite",
             {"/usr/bin/sqlite3", ":memory:", "create table t(a); select count(*) from t"}},
        Case{"Python", {"/usr/bin/python3", "-S", "-c", "print(sum(range(1000)))"}},
        Case{"Exceptions", {Sample("exceptions")}}, Case{"Threads", {Sample("threads")}, 0, 2},
        Case{"Signals", {Sample("signals")}}, Case{"Crash", {Sample("crash")}, SIGSEGV},
        Case{"Killed", {Program("killed")}, SIGKILL, 2},
        Case{"ForkAndExec", {Program("execs"), Program("known")}, 0, 2},
        Case{"Shell", {"/bin/sh", "-c", "ls / | /bin/cat; exec /bin/true"}, 0, 3}),
    [](const auto& test) { return test.param.name; });

TEST(EmulatedWith, OtherPacketOptions) {
  FLOWBACK_NEEDS_EMULATOR();
  Recorder recorder;
  Emulate(recorder.options());
  recorder.options().packets.psb_period_bytes = 2048;
  recorder.options().packets.return_compression = false;
  recorder.options().packets.long_tnt = true;
  recorder.options().packets.mtc_shift = 3;
  const auto summary = recorder.Run({Sample("exceptions")});
  ASSERT_TRUE(summary) << summary.error().message();
  ExpectSameFlow(recorder.File("perf.data"), *summary);
}

TEST(EmulatedPerfScript, ListsTheSameAddresses) {
  FLOWBACK_NEEDS_EMULATOR();
  FLOWBACK_NEEDS_PERF();
  for (const auto& command : {std::vector<std::string>{Program("faults")},
                              {Program("execs"), Program("recursion")},
                              {Program("versions")},
                              {Program("far_calls")},
                              {Sample("threads")}}) {
    SCOPED_TRACE(command[0]);
    Recorder recorder;
    Emulate(recorder.options());
    recorder.options().packets.psb_period_bytes = 2048;
    const auto summary = recorder.Run(command);
    ASSERT_TRUE(summary) << summary.error().message();
    std::string problem;
    EXPECT_EQ(PerfScriptDigests(recorder.File("perf.data"), *summary, problem), Digests(*summary))
        << problem;
  }
}

// A branch to the next instruction, of which nothing shows whether it was taken, is a loss.
TEST(EmulatedLoss, IsSaid) {
  FLOWBACK_NEEDS_EMULATOR();
  Recorder recorder;
  Emulate(recorder.options());
  const auto summary = recorder.Run({Program("branches")});
  ASSERT_TRUE(summary) << summary.error().message();
  const auto recording = OpenFile(recorder.File("perf.data"));
  ASSERT_TRUE(recording);
  const Stream& stream = recording->streams.at(0);
  const std::string text(reinterpret_cast<const char*>(stream.bytes.data()), stream.bytes.size());
  EXPECT_TRUE(text.contains("\x02\xf3"));  // OVF
}

// Page by page, with every version; the raw output's command line has room for the first only.
TEST(EmulatedJit, CodeInNoFileIsKept) {
  FLOWBACK_NEEDS_EMULATOR();
  Recorder recorder;
  Emulate(recorder.options());
  recorder.options().files.raw_directory = recorder.File("raw");
  const auto summary = recorder.Run({Program("versions")});
  ASSERT_TRUE(summary) << summary.error().message();
  ASSERT_EQ(summary->notes.size(), 1u);
  EXPECT_NE(summary->notes[0].find("changed code"), std::string::npos);
  ExpectSameFlow(recorder.File("perf.data"), *summary);
  size_t first = 0;
  size_t later = 0;
  for (const auto& entry : std::filesystem::directory_iterator(recorder.File("raw"))) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("code-")) ++(name.contains('.') ? later : first);
  }
  EXPECT_EQ(first, 3u);  // two of its own, and one of the program
  EXPECT_EQ(later, 3u + 19u + 1u);
  constexpr uint64_t kPage = 4096;
  EXPECT_EQ(std::filesystem::file_size(recorder.File("perf.data.code")),
            (1 + first + later) * kPage);
}

// Programs whose code is all in files need no other.
TEST(EmulatedJit, NoFileOfCodeWithoutNeed) {
  FLOWBACK_NEEDS_EMULATOR();
  Recorder recorder;
  Emulate(recorder.options());
  ASSERT_TRUE(recorder.Run({Sample("exceptions")}));
  EXPECT_FALSE(std::filesystem::exists(recorder.File("perf.data.code")));
}

TEST(EmulatedSideband, NamesProgramsAndParents) {
  FLOWBACK_NEEDS_EMULATOR();
  Recorder recorder;
  Emulate(recorder.options());
  const auto summary = recorder.Run({Program("execs"), Program("known")});
  ASSERT_TRUE(summary) << summary.error().message();
  const auto recording = OpenFile(recorder.File("perf.data"));
  ASSERT_TRUE(recording) << recording.error().message();
  std::vector<std::pair<int32_t, std::string>> names;
  const int32_t parent = summary->threads.at(0).pid;
  const int32_t child = summary->threads.at(1).pid;
  size_t forks = 0;
  for (const auto& record : recording->sideband) {
    if (const auto* comm = std::get_if<CommRecord>(&record))
      names.push_back({comm->pid, comm->comm});
    if (const auto* fork = std::get_if<ForkRecord>(&record)) {
      ++forks;
      EXPECT_EQ(fork->pid, child);
      EXPECT_EQ(fork->parent_pid, parent);
    }
  }
  EXPECT_EQ(forks, 1u);
  EXPECT_EQ(names, (std::vector<std::pair<int32_t, std::string>>{
                       {parent, "execs"}, {child, "known"}, {parent, "known"}}));
}

// ---- ends ----

// Whenever the recorder is killed, what it wrote can be read.
TEST(EmulatedAndKilled, IsReadable) {
  FLOWBACK_NEEDS_EMULATOR();
  Recorder recorder;
  RecordOptions options;
  Emulate(options);
  options.target.command = {Sample("signals")};
  options.files.output = recorder.File("killed.data");
  for (int milliseconds = 20; milliseconds < 140; milliseconds += 10) {
    SCOPED_TRACE(milliseconds);
    std::filesystem::remove(options.files.output);
    const pid_t child = fork();
    if (child == 0) {
      std::freopen("/dev/null", "w", stdout);
      _exit(Record(options) ? 0 : 1);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    if (!std::filesystem::exists(options.files.output) ||
        std::filesystem::file_size(options.files.output) == 0)
      continue;  // before the recording began
    const auto recording = OpenFile(options.files.output);
    EXPECT_TRUE(recording) << recording.error().message();
  }
}

TEST(EmulatedDuration, LetsTheProgramGoOn) {
  FLOWBACK_NEEDS_EMULATOR();
  Recorder recorder;
  Emulate(recorder.options());
  recorder.options().limits.duration = std::chrono::milliseconds(200);
  const auto summary =
      recorder.Run({"/bin/sh", "-c", "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done; exit 7"});
  ASSERT_TRUE(summary) << summary.error().message();
  EXPECT_EQ(WEXITSTATUS(summary->command_status), 7);
  ExpectSameFlow(recorder.File("perf.data"), *summary);
}

class EmulateErrors : public testing::Test {
 protected:
  void ExpectError(std::vector<std::string> command, ErrorCode code, const std::string& words) {
    Emulate(recorder_.options());
    const auto summary = recorder_.Run(std::move(command));
    ASSERT_FALSE(summary);
    EXPECT_EQ(summary.error().code(), code) << summary.error().message();
    EXPECT_NE(summary.error().message().find(words), std::string::npos)
        << summary.error().message();
    EXPECT_FALSE(summary.error().remedy().empty());
    EXPECT_FALSE(std::filesystem::exists(recorder_.File("perf.data")));
  }
  std::string Write(const std::string& name, const std::string& text) {
    std::ofstream(recorder_.File(name)) << text;
    std::filesystem::permissions(recorder_.File(name), std::filesystem::perms::owner_all);
    return recorder_.File(name);
  }
  Recorder recorder_;
};

TEST_F(EmulateErrors, CommandsThatCannotBeRun) {
  FLOWBACK_NEEDS_EMULATOR();
  FLOWBACK_NEEDS_HOST(host::Trait::kTemporaryPrograms);
  ExpectError({"no-such-program-anywhere"}, ErrorCode::kCommandMissing, "no such program in PATH");
  ExpectError({"/no/such/program"}, ErrorCode::kCommandMissing, "'/no/such/program'");
  ExpectError({"/etc/passwd"}, ErrorCode::kCommandRefused, "permission denied");
  ExpectError({Write("script", "#!/no/such/interpreter\n")}, ErrorCode::kCommandRefused,
              "interpreter");
}

TEST_F(EmulateErrors, WithoutAnEmulator) {
  FLOWBACK_NEEDS_EMULATOR();
  const std::string path = std::getenv("PATH");
  setenv("PATH", recorder_.File("").c_str(), 1);
  ExpectError({"/bin/true"}, ErrorCode::kNoHardware, "qemu-x86_64");
  setenv("PATH", path.c_str(), 1);
}

TEST_F(EmulateErrors, ScriptsRunInTheirInterpreter) {
  FLOWBACK_NEEDS_EMULATOR();
  FLOWBACK_NEEDS_HOST(host::Trait::kTemporaryPrograms);
  Emulate(recorder_.options());
  const auto summary = recorder_.Run({Write("script", "#!/bin/sh\nexit $(($# + 4))\n"), "a", "b"});
  ASSERT_TRUE(summary) << summary.error().message();
  EXPECT_EQ(WEXITSTATUS(summary->command_status), 6);
}

}  // namespace
}  // namespace flowback::record_test
