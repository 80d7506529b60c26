// SPDX-License-Identifier: MIT
// `record` as a person at a terminal sees it: the progress line, and Ctrl-C.
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <string>

#include "tests/cli/run_program.h"

namespace flowback::test {
namespace {

constexpr char kCtrlC = 3;

// The program on a terminal of its own.
class Terminal {
 public:
  explicit Terminal(const std::vector<std::string>& words) {
    child_ = forkpty(&terminal_, nullptr, nullptr, nullptr);
    if (child_ != 0) return;
    std::vector<char*> arguments = {const_cast<char*>(FLOWBACK_PROGRAM)};
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    execv(FLOWBACK_PROGRAM, arguments.data());
    _exit(113);
  }
  ~Terminal() {
    if (child_ > 0) kill(child_, SIGKILL);
    close(terminal_);  // hangs up on whatever runs there
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  // Until `words` have been shown; false: it ended, or two minutes passed.
  bool Shows(const std::string& words) {
    // The progress line never rests.
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    while (!text_.contains(words))
      if (std::chrono::steady_clock::now() > end || !ReadMore()) return false;
    return true;
  }
  void Press(char key) const { ASSERT_EQ(write(terminal_, &key, 1), 1); }
  // The exit status; -N for signal N.
  int End() {
    while (ReadMore()) {
    }
    int status = 0;
    waitpid(child_, &status, 0);
    child_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  const std::string& text() const { return text_; }

 private:
  bool ReadMore() {
    pollfd wait{terminal_, POLLIN, 0};
    if (poll(&wait, 1, 120'000) <= 0) return false;
    char buffer[4096];
    const ssize_t size = read(terminal_, buffer, sizeof buffer);
    if (size <= 0) return false;
    text_.append(buffer, static_cast<size_t>(size));
    return true;
  }

  int terminal_ = -1;
  pid_t child_ = -1;
  std::string text_;
};

class TerminalTest : public testing::Test {
 protected:
  std::vector<std::string> Command(const std::string& script) const {
    return {"record", "-o", file_, "--", "/bin/sh", "-c", script};
  }
  void ExpectWholeRecording() const {
    const ProgramResult info = RunFlowback({"info", "--strict", file_});
    EXPECT_EQ(info.status, 0) << info.out << info.err;
  }

  ScratchFolder folder_;
  std::string file_ = folder_.File("perf.data");
};

TEST_F(TerminalTest, CtrlCIsTheProgramsAndTheRecordingIsWhole) {
  Terminal terminal(Command("trap 'exit 7' INT; echo ready; while :; do :; done"));
  ASSERT_TRUE(terminal.Shows("ready")) << terminal.text();
  terminal.Press(kCtrlC);
  EXPECT_EQ(terminal.End(), 7) << terminal.text();
  EXPECT_TRUE(terminal.text().contains("next: flowback info")) << terminal.text();
  ExpectWholeRecording();
}

TEST_F(TerminalTest, ASecondCtrlCEndsTheRecordingOfAProgramThatIgnoresIt) {
  Terminal terminal(Command("trap '' INT; echo ready; while :; do :; done"));
  ASSERT_TRUE(terminal.Shows("ready")) << terminal.text();
  terminal.Press(kCtrlC);
  ASSERT_TRUE(terminal.Shows("^C again ends it")) << terminal.text();
  terminal.Press(kCtrlC);
  EXPECT_EQ(terminal.End(), 128 + SIGTERM) << terminal.text();
  EXPECT_TRUE(terminal.text().contains("stopped by a signal")) << terminal.text();
  ExpectWholeRecording();
}

TEST_F(TerminalTest, TheProgressLineIsDrawnAndErased) {
  Terminal terminal(Command("trap 'exit 0' INT; while :; do :; done"));
  ASSERT_TRUE(terminal.Shows("million instructions, 0 lost")) << terminal.text();
  terminal.Press(kCtrlC);
  EXPECT_EQ(terminal.End(), 0);
  const size_t drawn = terminal.text().rfind("million instructions");
  const size_t erased = terminal.text().find("\r\033[1B\033[K\0338flowback: record:");
  EXPECT_NE(erased, std::string::npos) << terminal.text();
  EXPECT_LT(drawn, erased);
}

TEST_F(TerminalTest, NothingIsDrawnForShortWorkOrOffATerminal) {
  Terminal terminal(Command(":"));
  EXPECT_EQ(terminal.End(), 0);
  EXPECT_FALSE(terminal.text().contains('\033')) << terminal.text();
  const ProgramResult piped = RunFlowback(Command("sleep 1.5"));
  EXPECT_FALSE(piped.err.contains("MB/s")) << piped.err;
}

}  // namespace
}  // namespace flowback::test
