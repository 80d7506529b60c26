// SPDX-License-Identifier: MIT
// Where gdb and the machine stand after movements that are no plain steps: an exec, commands of a
// breakpoint that go on, `monitor goto`; and what is left behind when flowback is ended.
#include <signal.h>

#include <string>

#include "tests/gdb/gdb_test.h"

namespace flowback::test {
namespace {

class MovesTest : public GdbTest {
 protected:
  // Uses tests/recordings, whose numbers are the same on any machine.
  std::string Changes(const std::string& commands) {
    folder_.Write("commands.gdb", "echo begin\\n\n" + commands);
    const ProgramResult run =
        RunShell(folder_, "$F replay " + SourceFolder() +
                              "/tests/recordings/changes.data -- -nx -batch -x commands.gdb 2>&1");
    EXPECT_EQ(run.status, 0) << run.err << run.out;
    return run.out;
  }
};

using Texts = std::vector<std::string>;

TEST_F(MovesTest, AStepOverAnExecStopsBehindIt) {
  const std::string out = Changes(
      "break *0x4011f0\nmonitor goto #127\nstepi\nmonitor when\nreverse-stepi\nmonitor when\n"
      "stepi\nmonitor when\nstepi\nmonitor when\nreverse-stepi 2\nmonitor when\n"
      "continue\nmonitor when\n");
  EXPECT_EQ(Matches(out, "thread 18003 .*before instruction #(\\d+)"),
            (Texts{"127", "128", "127", "128", "129", "127", "149"}))
      << out;
}

// Whoever sees the stop at the exec goes on from there.
TEST_F(MovesTest, ACaughtExecStopsOnce) {
  const std::string out = Changes(
      "break *0x4011f0\ncatch exec\nmonitor goto #127\nstepi\nmonitor when\ncontinue\n"
      "monitor when\nreverse-continue\nmonitor when\n");
  EXPECT_EQ(Matches(out, "thread 18003 .*before instruction #(\\d+)"),
            (Texts{"127", "128", "149", "127"}))
      << out;
}

// gdb 13 crashed at the second one.
TEST_F(MovesTest, CommandsOfABreakpointMayGoOn) {
  const std::string out = Changes(
      "break *0x4011f0\ncommands\nsilent\nmonitor when\nbacktrace 1\ncontinue\nend\n"
      "monitor goto #127\ncontinue\necho done\\n\n");
  const Texts numbers = Matches(out, "thread 18003 .*before instruction #(\\d+)");
  ASSERT_EQ(numbers.size(), 9u) << out;
  EXPECT_EQ(numbers[1], "149");
  EXPECT_EQ(numbers[8], "170");
  EXPECT_NE(out.find("done\n"), std::string::npos) << out;
}

TEST_F(MovesTest, GotoTellsOfTheThreadThatIsShown) {
  ASSERT_NO_FATAL_FAILURE(Record("threads", "-O0"));
  std::string commands;
  for (const char* thread : {"1", "2", "3"})
    for (const char* moment : {"30%", "60%", "#5", "begin", "end"})
      commands += std::string("thread ") + thread + "\nmonitor goto " + moment +
                  "\nmonitor when\npython print('@', gdb.selected_thread().ptid[1])\n";
  const std::string out = Gdb("begin", commands);
  const Texts told = Matches(out, "thread (\\d+) .*before instruction");
  const Texts shown = Matches(out, "@ (\\d+)");
  ASSERT_EQ(shown.size(), 15u) << out;
  ASSERT_EQ(told.size(), 30u) << out;
  for (size_t i = 0; i < shown.size(); ++i) {
    EXPECT_EQ(told[2 * i], shown[i]) << i;
    EXPECT_EQ(told[2 * i + 1], shown[i]) << i;
  }
}

// The unwinder's code lies between the line that catches an exception and the one that it came
// from.
TEST_F(MovesTest, LinesGoBackOverACaughtException) {
  const ProgramResult made =
      RunShell(folder_, "c++ -g -O0 " PROGRAMS
                        "/caught.cc -o program && LD_BIND_NOW=1 $F record --engine emulate -o "
                        "recording -- ./program");
  if (made.status != 0) GTEST_SKIP() << "this machine makes no such programs: " << made.err;
  const std::string show =
      "python print('@', gdb.newest_frame().name(), gdb.newest_frame().find_sal().line)\n";
  const std::string next = "reverse-next\n" + show, step = "reverse-step\n" + show;
  const std::string catches = "tbreak caught.cc:18\ncontinue\n" + show;
  const std::string out = Gdb("begin", catches + next + next + next + "monitor goto begin\n" +
                                           catches + next + next + step);
  EXPECT_EQ(Matches(out, "@ (.*)"), (Texts{"serve 18", "serve 17", "serve 16", "serve 15",
                                           "serve 18", "serve 17", "serve 16", "fails 8"}))
      << out;
}

// gdb keeps what it knows of threads that a step did not resume.
TEST_F(MovesTest, OthersStandWhereTheStepOfOneLeadsTo) {
  ASSERT_NO_FATAL_FAILURE(Record("threads", "-O0"));
  const std::string pc = "python print('@', gdb.newest_frame().pc())\n";
  std::string commands;
  for (const char* step : {"stepi 400", "reverse-stepi 300", "next 3", "reverse-step 2"})
    commands += std::string("thread 2\nmonitor goto 60%\ninfo threads\n") + step + "\nthread 3\n" +
                pc + "maintenance flush register-cache\n" + pc;
  const Texts places = Matches(Gdb("begin", commands), "@ (\\d+)");
  ASSERT_EQ(places.size(), 8u);
  for (size_t i = 0; i < places.size(); i += 2) EXPECT_EQ(places[i], places[i + 1]) << i;
}

// gdb reads the code of the history where the thread stands now.
TEST_F(MovesTest, TheHistoryEndsWhereOtherCodeRan) {
  const std::string bare = "-O1 -nostdlib -static -no-pie -fno-pie -fno-stack-protector";
  ASSERT_NO_FATAL_FAILURE(Compile("bare_becomes", bare, "first"));
  ASSERT_NO_FATAL_FAILURE(Compile("bare_became", bare, "second"));
  const ProgramResult recorded =
      RunShell(folder_, "$F record --engine emulate -o recording -- ./first");
  ASSERT_EQ(recorded.status, 0) << recorded.err;
  const std::string history = "record instruction-history\n";
  const std::string out = Gdb("begin", "catch exec\ncontinue\nmonitor when\nstepi 3\n" + history);
  EXPECT_EQ(Matches(out, "\n\\d+\t +(0x[0-9a-f]+)").size(), 3u) << out;
}

TEST_F(MovesTest, AnEndBySignalLeavesNothingBehind) {
  signal(SIGHUP, SIG_DFL);  // which nohup has ignored
  for (const std::string signal : {"TERM", "HUP"}) {
    const ProgramResult run = RunShell(
        folder_, "mkdir -p left; export TMPDIR=$PWD/left; sleep 20 | $F replay " + SourceFolder() +
                     "/tests/recordings/tiny.data -- -nx >told 2>&1 & pid=$!; "
                     "for i in $(seq 100); do ls left/*/socket >/dev/null 2>&1 && break; "
                     "sleep 0.1; done; sleep 0.5; ls left | wc -l; kill -" +
                     signal +
                     " $pid; for i in $(seq 100); do kill -0 $pid 2>/dev/null || break; "
                     "sleep 0.1; done; ls left | wc -l");
    EXPECT_EQ(run.out, "1\n0\n") << signal << run.err;
  }
}

}  // namespace
}  // namespace flowback::test
