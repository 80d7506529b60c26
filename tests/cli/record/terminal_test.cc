// SPDX-License-Identifier: MIT
// `record` as a person at a terminal sees it: the progress line, and Ctrl-C.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "cli/text/terminal_session.h"
#include "tests/cli/run_program.h"
#include "tests/support/places.h"

namespace flowback::test {
namespace {

constexpr char kCtrlC = 3;

// The program on a terminal of its own.
class Terminal {
 public:
  // `columns`: how wide it says that it is; 0: it does not say.
  explicit Terminal(const std::vector<std::string>& words, unsigned short columns = 0) {
    const winsize size{.ws_row = 0, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
    child_ = forkpty(&terminal_, nullptr, nullptr, &size);
    if (child_ != 0) return;
    std::string program = ProgramFile();
    std::vector<char*> arguments = {program.data()};
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    execv(program.c_str(), arguments.data());
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

class TerminalTest : public ::testing::Test {
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
  Terminal terminal(Command("trap 'exit 0' INT; echo ready; while :; do :; done"));
  ASSERT_TRUE(terminal.Shows("ready")) << terminal.text();
  ASSERT_TRUE(terminal.Shows("million instructions, 0 lost")) << terminal.text();
  terminal.Press(kCtrlC);
  EXPECT_EQ(terminal.End(), 0);
  const size_t drawn = terminal.text().rfind("million instructions");
  const size_t erased = terminal.text().find("\r\033[1B\033[K\0338flowback: record:");
  EXPECT_NE(erased, std::string::npos) << terminal.text();
  EXPECT_LT(drawn, erased);
}

TEST_F(TerminalTest, NothingIsDrawnForShortWorkOrOffATerminal) {
  // On a busy machine it may take a second to begin.
  constexpr int kTries = 10;
  bool drawn = true;
  for (int i = 0; i < kTries && drawn; ++i) {
    Terminal terminal(Command(":"));
    EXPECT_EQ(terminal.End(), 0);
    drawn = terminal.text().contains('\033');
  }
  EXPECT_FALSE(drawn);
  const ProgramResult piped = RunFlowback(Command("sleep 1.5"));
  EXPECT_FALSE(piped.err.contains("MB/s")) << piped.err;
}

// The environment of the programs that a test starts.
class Setting {
 public:
  Setting(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Setting() { unsetenv(name_); }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

 private:
  const char* name_;
};

std::string TextOf(const std::vector<std::string>& words, unsigned short columns = 0) {
  Terminal terminal(words, columns);
  EXPECT_EQ(terminal.End(), 0) << terminal.text();
  return terminal.text();
}

TEST_F(TerminalTest, LongTextGoesThroughThePagerOnATerminalOnly) {
  const Setting pager("PAGER", "sed 's/^/paged: /'");
  EXPECT_TRUE(TextOf({"help"}).contains("paged:   record  "));
  EXPECT_TRUE(TextOf({"help", "decode"}).contains("paged: usage: flowback decode"));
  EXPECT_TRUE(TextOf({"version"}).contains("paged: "));
  EXPECT_FALSE(TextOf({"version", "--no-pager"}).contains("paged: "));
  EXPECT_FALSE(RunFlowback({"version"}).out.contains("paged: ")) << "off a terminal";
  const Setting none("FLOWBACK_PAGER", "cat");
  EXPECT_FALSE(TextOf({"version"}).contains("paged: ")) << "FLOWBACK_PAGER comes first";
}

// The pipe to it does not have the terminal's width.
TEST_F(TerminalTest, TextIsAsWideAsTheTerminalBehindThePager) {
  const Setting pager("PAGER", "cat");
  const auto widest = [](unsigned short columns) {
    size_t most = 0;
    for (const std::string& line : Lines(TextOf({"decode", "--help"}, columns)))
      most = std::max(most, line.size());
    return most;
  };
  EXPECT_LE(widest(100), 102u);  // with the end of a line
  EXPECT_GT(widest(180), 150u);
}

TEST_F(TerminalTest, APagerThatEndsEndsTheWork) {
  ASSERT_EQ(RunFlowback(Command(":")).status, 0);
  const Setting pager("PAGER", "head -n 3");
  const std::string text = TextOf({"decode", file_});
  EXPECT_EQ(std::ranges::count(text, '\n'), 3) << text;
}

TEST_F(TerminalTest, WhatTheErrorIsComesBehindTheTextInThePager) {
  ASSERT_EQ(RunFlowback(Command(":")).status, 0);
  const Setting pager("PAGER", "sed 's/^/paged: /'");
  const std::string text = TextOf({"decode", "--verbose", "--as", "summary", file_});
  const size_t message = text.find("paged: flowback: code of ");
  ASSERT_NE(message, std::string::npos) << text;
  EXPECT_LT(text.find("instructions"), message);
}

TEST_F(TerminalTest, ColoursAreForTerminalsUnlessAskedFor) {
  const Setting pager("PAGER", "cat");
  const Setting kind("TERM", "xterm");
  constexpr const char* kBold = "\033[1m";
  EXPECT_TRUE(TextOf({"help", "decode"}).contains(kBold));
  EXPECT_FALSE(RunFlowback({"help", "decode"}).out.contains('\033'));
  ASSERT_EQ(RunFlowback(Command(":")).status, 0);
  const auto info = [&](const char* when) {
    return RunFlowback({"info", "--color", when, file_}).out;
  };
  EXPECT_TRUE(info("always").contains(std::string(kBold) + "images"));
  EXPECT_FALSE(info("auto").contains('\033'));
  EXPECT_FALSE(TextOf({"info", "--color=never", file_}).contains('\033'));
  EXPECT_EQ(RunFlowback({"info", "--color", "mauve", file_}).status, 2);
  const Setting without("NO_COLOR", "1");
  EXPECT_FALSE(TextOf({"info", file_}).contains('\033'));
}

// A pipe with a name, read so slowly that nobody writes a large listing to it within a second.
class SlowReader {
 public:
  explicit SlowReader(const std::string& path) {
    EXPECT_EQ(mkfifo(path.c_str(), 0600), 0) << path;
    // Opened for both, it neither waits for a writer nor ends with one.
    pipe_ = open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
    reader_ = std::jthread([pipe = pipe_](const std::stop_token& stop) {
      std::vector<char> buffer(64 << 10);
      while (!stop.stop_requested()) {
        [[maybe_unused]] const ssize_t size = read(pipe, buffer.data(), buffer.size());
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
      }
    });
  }
  ~SlowReader() {
    reader_.request_stop();
    reader_.join();
    close(pipe_);
  }
  SlowReader(const SlowReader&) = delete;
  SlowReader& operator=(const SlowReader&) = delete;

 private:
  int pipe_ = -1;
  std::jthread reader_;
};

TEST_F(TerminalTest, ReadersTellHowFarTheyAre) {
  const std::filesystem::path shared =
      std::getenv("FLOWBACK_SHARED") != nullptr
          ? std::filesystem::path(std::getenv("FLOWBACK_SHARED"))
          : std::filesystem::path(SourceFolder()).parent_path() / "shared";
  const std::filesystem::path big = shared / "traces/generated/big-sqlite3/perf.data";
  if (!std::filesystem::exists(big)) GTEST_SKIP() << "no " << big;
  // A fast machine writes this listing to /dev/null before the line would be drawn.
  const std::string slow = folder_.File("slow");
  const SlowReader reader(slow);
  Terminal terminal({"decode", "-o", slow, "--symfs", (shared / "traces/generated/images").string(),
                     big.string()});
  EXPECT_TRUE(terminal.Shows(" MB/s, ")) << terminal.text();
  EXPECT_TRUE(terminal.text().contains("\rdecode: ")) << terminal.text();
}

TEST_F(TerminalTest, QuietSaysNothingAndVerboseMore) {
  std::vector<std::string> words = Command(":");
  words.insert(words.begin() + 1, "-q");
  EXPECT_EQ(RunFlowback(words).err, "");
  const ProgramResult usual = RunFlowback({"decode", "--as", "digest", file_});
  const ProgramResult verbose = RunFlowback({"decode", "-v", "--as", "digest", file_});
  EXPECT_EQ(usual.out, verbose.out);
  EXPECT_FALSE(usual.err.contains("code of "));
  EXPECT_TRUE(verbose.err.contains("code of ")) << verbose.err;
  EXPECT_NE(RunFlowback({"decode", "-q", folder_.File("none")}).err, "") << "errors are told";
}

TEST(WorkProgress, TellsShareRateAndTimeLeft) {
  EXPECT_EQ(cli::WorkProgressText("decode", 400'000'000, 100'000'000, 2),
            "decode: 25 %, 50.0 MB/s, 6 s left");
  EXPECT_EQ(cli::WorkProgressText("info", 100, 200, 2), "info: 100 %, 0.0 MB/s, 0 s left");
  EXPECT_EQ(cli::WorkProgressText("info", 0, 0, 3), "info: 3 s");
}

}  // namespace
}  // namespace flowback::test
