// SPDX-License-Identifier: MIT
// Recording programs that run already, and leaving them as they were.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <utility>

#include "capture/record/target/process_maps.h"
#include "flowback/capture/open.h"
#include "tests/record/recorded.h"

namespace flowback::record_test {
namespace {

using record::ReadTracer;

// A child of the test that runs a program, and its standard input and output. Killed in the end.
class Running {
 public:
  explicit Running(const std::string& program) {
    int in[2], out[2];
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) return;
    pid_ = fork();
    if (pid_ == 0) {
      dup2(in[0], STDIN_FILENO);
      dup2(out[1], STDOUT_FILENO);
      execl(program.c_str(), program.c_str(), nullptr);
      _exit(127);
    }
    close(in[0]);
    close(out[1]);
    input_ = in[1];
    output_ = out[0];
  }
  ~Running() {
    if (pid_ > 0) kill(pid_, SIGKILL), End();
    close(output_);
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  pid_t pid() const { return pid_; }
  // Until the program writes something.
  void WaitForByte() const {
    char byte;
    EXPECT_EQ(read(output_, &byte, 1), 1);
  }
  // Ends its input and waits for its end. The status is waitpid's.
  int End() {
    if (input_ >= 0) close(input_);
    input_ = -1;
    int status = -1;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return status;
  }
  std::vector<pid_t> Threads() const {
    std::vector<pid_t> tids;
    for (const auto& entry : std::filesystem::directory_iterator(Folder() + "/task"))
      tids.push_back(std::stoi(entry.path().filename()));
    return tids;
  }
  char State() const {
    const char state = StateOf(pid_);
    if (state == '\0') throw std::runtime_error("the program is gone");
    return state;
  }
  void ExpectUntraced() const {
    for (const pid_t tid : Threads()) EXPECT_EQ(ReadTracer(tid), 0);
  }

 private:
  std::string Folder() const { return "/proc/" + std::to_string(pid_); }

  pid_t pid_ = -1;
  int input_ = -1;
  int output_ = -1;
};

bool EndedWith(int status, int code) { return WIFEXITED(status) && WEXITSTATUS(status) == code; }

TEST(Attach, RecordsAllThreadsAndLeavesTheProgramAsItWas) {
  FLOWBACK_NEEDS_PTRACE();
  Running program(Program("spinner"));
  program.WaitForByte();
  for (int round = 0; round < 3; ++round) {
    SCOPED_TRACE(round);
    Recorder recorder;
    recorder.options().target.pids = {program.pid()};
    recorder.options().limits.instructions = 3000;
    const auto summary = recorder.Run({});
    ASSERT_TRUE(summary) << summary.error().message();
    EXPECT_EQ(summary->command_status, 0);
    EXPECT_GE(summary->threads.size(), 3u);  // and the children that the third one forks
    EXPECT_GE(summary->instructions, 3000u);
    ExpectSameFlow(recorder.File("perf.data"), *summary);
    program.ExpectUntraced();
  }
  EXPECT_TRUE(EndedWith(program.End(), 9));
}

TEST(Attach, FollowsChildren) {
  FLOWBACK_NEEDS_PTRACE();
  Running program(Program("spinner"));
  program.WaitForByte();
  Recorder recorder;
  recorder.options().target.pids = {program.pid()};
  recorder.options().limits.instructions = 20'000;
  const auto summary = recorder.Run({});
  ASSERT_TRUE(summary) << summary.error().message();
  EXPECT_GT(summary->threads.size(), 3u);
  const auto recording = OpenFile(recorder.File("perf.data"));
  ASSERT_TRUE(recording);
  for (const auto& record : recording->sideband)
    if (const auto* fork = std::get_if<ForkRecord>(&record)) {
      EXPECT_EQ(fork->parent_pid, program.pid());
      EXPECT_NE(fork->parent_tid, program.pid());
    }
  EXPECT_TRUE(EndedWith(program.End(), 9));
}

TEST(Attach, NamesEveryThreadAndNoneEnds) {
  FLOWBACK_NEEDS_PTRACE();
  Running program(Program("sleeper"));
  Recorder recorder;
  recorder.options().target.pids = {program.pid()};
  recorder.options().limits.duration = std::chrono::milliseconds(100);
  while (program.State() != 'S') usleep(1000);
  const auto summary = recorder.Run({});
  ASSERT_TRUE(summary) << summary.error().message();
  const auto recording = OpenFile(recorder.File("perf.data"));
  ASSERT_TRUE(recording);
  size_t names = 0;
  for (const auto& record : recording->sideband) {
    EXPECT_FALSE(std::holds_alternative<ExitRecord>(record));
    if (const auto* comm = std::get_if<CommRecord>(&record)) {
      ++names;
      EXPECT_FALSE(comm->exec);
      EXPECT_EQ(comm->comm, "sleeper");
    }
  }
  EXPECT_EQ(names, 1u);
  // Its sleep went on.
  EXPECT_TRUE(EndedWith(program.End(), 7));
}

TEST(Attach, OneThread) {
  FLOWBACK_NEEDS_PTRACE();
  Running program(Program("spinner"));
  program.WaitForByte();
  std::vector<pid_t> tids = program.Threads();
  ASSERT_EQ(tids.size(), 3u);
  std::ranges::sort(tids);
  Recorder recorder;
  recorder.options().target.tids = {tids[2]};  // the one that computes
  recorder.options().limits.instructions = 1000;
  const auto summary = recorder.Run({});
  ASSERT_TRUE(summary) << summary.error().message();
  ASSERT_EQ(summary->threads.size(), 1u);
  EXPECT_EQ(summary->threads[0].tid, tids[2]);
  EXPECT_EQ(summary->threads[0].pid, program.pid());
  EXPECT_EQ(summary->instructions, 1000u);
  ExpectSameFlow(recorder.File("perf.data"), *summary);
  EXPECT_TRUE(EndedWith(program.End(), 9));
}

TEST(Attach, SeveralProcessesUntilTheyEnd) {
  FLOWBACK_NEEDS_PTRACE();
  Running first(Program("sleeper"));
  Running second(Program("sleeper"));
  Recorder recorder;
  recorder.options().target.pids = {first.pid(), second.pid(), first.pid()};
  const auto summary = recorder.Run({});
  ASSERT_TRUE(summary) << summary.error().message();
  ASSERT_EQ(summary->threads.size(), 2u);
  for (const RecordedThread& thread : summary->threads) EXPECT_GT(thread.digest.count, 100u);
  ExpectSameFlow(recorder.File("perf.data"), *summary);
  // Waited for by the recorder, which is in this very process: of no other recorder's concern.
  EXPECT_EQ(kill(first.pid(), 0), -1);
  EXPECT_EQ(kill(second.pid(), 0), -1);
}

TEST(Attach, AStoppedProgramStaysStopped) {
  FLOWBACK_NEEDS_PTRACE();
  Running program(Program("spinner"));
  program.WaitForByte();
  kill(program.pid(), SIGSTOP);
  waitpid(program.pid(), nullptr, WUNTRACED);
  Recorder recorder;
  recorder.options().target.pids = {program.pid()};
  recorder.options().limits.duration = std::chrono::milliseconds(100);
  const auto summary = recorder.Run({});
  ASSERT_TRUE(summary) << summary.error().message();
  EXPECT_EQ(summary->instructions, 0u);
  for (int i = 0; i < 1000 && program.State() != 'T'; ++i) usleep(1000);
  EXPECT_EQ(program.State(), 'T');
  kill(program.pid(), SIGCONT);
  EXPECT_TRUE(EndedWith(program.End(), 9));
}

// Ctrl-C and the like end the recording, not the program.
TEST(Attach, UntilASignal) {
  FLOWBACK_NEEDS_PTRACE();
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    SCOPED_TRACE(strsignal(signal));
    Running program(Program("spinner"));
    program.WaitForByte();
    Recorder recorder;
    recorder.options().target.pids = {program.pid()};
    bool signalled = false;
    recorder.options().on_progress = [&](const RecordProgress& progress) {
      if (progress.instructions == 0 || std::exchange(signalled, true)) return;
      kill(getpid(), signal);
    };
    const auto summary = recorder.Run({});
    ASSERT_TRUE(summary) << summary.error().message();
    EXPECT_EQ(summary->stop_reason, StopReason::kSignal);
    EXPECT_EQ(summary->command_status, 0);
    ExpectSameFlow(recorder.File("perf.data"), *summary);
    program.ExpectUntraced();
    EXPECT_TRUE(EndedWith(program.End(), 9));
  }
}

TEST(Attach, ThirtyTwoBits) {
  FLOWBACK_NEEDS_PTRACE();
  FLOWBACK_NEEDS_TO_RUN({Program("thirty_two_spins")});
  Running program(Program("thirty_two_spins"));
  while (record::ReadComm(program.pid(), program.pid()) != "thirty_two_spin") usleep(1000);
  Recorder recorder;
  recorder.options().target.pids = {program.pid()};
  recorder.options().limits.instructions = 5000;
  const auto summary = recorder.Run({});
  ASSERT_TRUE(summary) << summary.error().message();
  EXPECT_EQ(summary->instructions, 5000u);
  ExpectSameFlow(recorder.File("perf.data"), *summary);
  EXPECT_EQ(waitpid(program.pid(), nullptr, WNOHANG), 0) << "it does not run any more";
}

// ---- what can't be ----

class AttachErrors : public testing::Test {
 protected:
  void ExpectError(ErrorCode code, const std::string& words) {
    const auto summary = recorder_.Run({});
    ASSERT_FALSE(summary);
    EXPECT_EQ(summary.error().code(), code) << summary.error().message();
    EXPECT_NE(summary.error().message().find(words), std::string::npos)
        << summary.error().message();
    EXPECT_FALSE(summary.error().remedy().empty());
    EXPECT_FALSE(std::filesystem::exists(recorder_.File("perf.data")));
  }
  Recorder recorder_;
};

TEST_F(AttachErrors, NoSuchProcess) {
  recorder_.options().target.pids = {0x7ffffff0};
  ExpectError(ErrorCode::kUsage, "there is no process 2147483632");
  recorder_.options().target.pids = {-3};
  ExpectError(ErrorCode::kUsage, "there is no process -3");
  recorder_.options().target.pids = {};
  recorder_.options().target.tids = {0x7ffffff0};
  ExpectError(ErrorCode::kUsage, "there is no thread 2147483632");
}

TEST_F(AttachErrors, AZombie) {
  Running program("/no/such/program");
  while (program.State() != 'Z') usleep(1000);
  recorder_.options().target.pids = {program.pid()};
  ExpectError(ErrorCode::kSystem, "zombie");
}

TEST_F(AttachErrors, AThreadIsNoProcess) {
  FLOWBACK_NEEDS_PTRACE();
  Running program(Program("spinner"));
  program.WaitForByte();
  recorder_.options().target.pids = {std::ranges::max(program.Threads())};
  ExpectError(ErrorCode::kUsage, "is a thread of process " + std::to_string(program.pid()));
}

TEST_F(AttachErrors, TheRecorderItself) {
  recorder_.options().target.pids = {getpid()};
  ExpectError(ErrorCode::kUnsupported, "the recorder itself");
}

TEST_F(AttachErrors, AThreadOfTheKernel) {
  std::ifstream file("/proc/2/comm");
  std::string name;
  if (!(file >> name) || name != "kthreadd") GTEST_SKIP() << "no threads of the kernel to be seen";
  recorder_.options().target.pids = {2};
  ExpectError(ErrorCode::kUnsupported, "'kthreadd') is a thread of the kernel");
}

TEST_F(AttachErrors, TracedAlready) {
  FLOWBACK_NEEDS_PTRACE();
  Running program(Program("spinner"));
  program.WaitForByte();
  ASSERT_EQ(ptrace(PTRACE_SEIZE, program.pid(), nullptr, nullptr), 0);
  recorder_.options().target.pids = {program.pid()};
  ExpectError(ErrorCode::kBusy, "traced already, by process " + std::to_string(getpid()));
}

// One bad target: the others are let go.
TEST_F(AttachErrors, LeaveTheOthersAsTheyWere) {
  FLOWBACK_NEEDS_PTRACE();
  Running good(Program("spinner"));
  Running traced(Program("spinner"));
  good.WaitForByte();
  traced.WaitForByte();
  // Its second thread only, which shows when it is seized.
  const pid_t second = std::ranges::max(traced.Threads());
  ASSERT_EQ(ptrace(PTRACE_SEIZE, second, nullptr, nullptr), 0);
  recorder_.options().target.pids = {good.pid(), traced.pid()};
  ExpectError(ErrorCode::kBusy, "traced already");
  kill(traced.pid(), SIGKILL);
  waitpid(second, nullptr, __WALL);
  good.ExpectUntraced();
  EXPECT_TRUE(EndedWith(good.End(), 9));
}

TEST_F(AttachErrors, UnwritableOutputLeavesTheProgramAsItWas) {
  FLOWBACK_NEEDS_PTRACE();
  Running program(Program("spinner"));
  program.WaitForByte();
  RecordOptions options;
  options.target.pids = {program.pid()};
  for (const std::string& output :
       {recorder_.File("missing/perf.data"), std::string("/dev/full")}) {
    SCOPED_TRACE(output);
    options.files.output = output;
    const auto summary = Record(options);
    ASSERT_FALSE(summary);
    EXPECT_EQ(summary.error().code(), ErrorCode::kSystem);
    program.ExpectUntraced();
  }
  EXPECT_TRUE(EndedWith(program.End(), 9));
}

TEST_F(AttachErrors, OtherUsersProcess) {
  FLOWBACK_NEEDS_HOST(host::Trait::kRoot);  // to become another user
  Running program(Program("spinner"));
  program.WaitForByte();
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const pid_t other = fork();
  if (other == 0) {
    constexpr uid_t kNobody = 65534;
    std::string text = "no other user";
    if (setresuid(kNobody, kNobody, kNobody) == 0) {
      RecordOptions options;
      options.target.pids = {program.pid()};
      const auto summary = Record(options);
      text = summary ? "recorded" : summary.error().message() + "\n" + summary.error().remedy();
    }
    _exit(write(ends[1], text.data(), text.size()) < 0);
  }
  close(ends[1]);
  char text[1000] = {};
  EXPECT_GT(read(ends[0], text, sizeof text - 1), 0);
  close(ends[0]);
  waitpid(other, nullptr, 0);
  EXPECT_NE(std::string(text).find("can't trace process"), std::string::npos) << text;
  EXPECT_NE(std::string(text).find("it belongs to user root"), std::string::npos) << text;
}

TEST_F(AttachErrors, Options) {
  recorder_.options().target.pids = {1};
  recorder_.options().engine = "emulate";
  ExpectError(ErrorCode::kUsage, "can't record a program that runs already");
  recorder_.options().engine = "step";
  const auto both = recorder_.Run({"/bin/true"});
  ASSERT_FALSE(both);
  EXPECT_EQ(both.error().code(), ErrorCode::kUsage);
}

}  // namespace
}  // namespace flowback::record_test
