// SPDX-License-Identifier: MIT
// Stops that are no breakpoints, in gdb and in both directions: a process that becomes another
// program, threads that begin and end, events.
#include <algorithm>

#include "tests/gdb/gdb_test.h"

namespace flowback::test {
namespace {

class StopsTest : public GdbTest {
 protected:
  void RecordExec(const std::string& engine, const std::string& second,
                  const std::string& options) {
    ASSERT_NO_FATAL_FAILURE(Compile("becomes", "-O0", "first"));
    ASSERT_NO_FATAL_FAILURE(Compile(second, options, "second"));
    const ProgramResult recorded =
        RunShell(folder_, "$F record --engine " + engine + " -o recording -- ./first ./second");
    ASSERT_EQ(recorded.status, 0) << recorded.err;
  }
  // The instruction of that number as the listing names it: "main+0x4".
  std::string Listed(const std::string& number) {
    const ProgramResult told =
        RunShell(folder_, "$F decode recording --fields sym,symoff | grep -v '^#' | sed -n '" +
                              std::to_string(std::stoul(number) + 1) + "p'");
    return told.out.substr(0, told.out.find_first_of(" +\n"));
  }
};

// The child and the parent become the same program.
TEST_F(StopsTest, OneProcessOfSeveralIsChosen) {
  ASSERT_NO_FATAL_FAILURE(Compile("becomes", "-O0", "first"));
  ASSERT_NO_FATAL_FAILURE(Compile("becomes", "-O0 -DSECOND", "second"));
  const ProgramResult recorded =
      RunShell(folder_, "$F record --engine emulate -o recording -- ./first ./second ./second");
  ASSERT_EQ(recorded.status, 0) << recorded.err;
  const std::string words =
      " -- -nx -batch -ex 'info inferiors' -ex 'break main' -ex "
      "reverse-continue -ex 'monitor when'";
  const ProgramResult first = RunShell(folder_, "$F replay recording" + words);
  const std::vector<std::string> pids =
      Matches(first.err, "(\\d+) \\(second, \\d+ instructions\\)");
  ASSERT_EQ(pids.size(), 2u) << first.err;
  EXPECT_NE(first.err.find("2 processes were recorded: " + pids[0]), std::string::npos);
  EXPECT_NE(first.err.find("--pid PID"), std::string::npos) << first.err;
  for (const std::string& pid : pids) {
    const ProgramResult run = RunShell(folder_, "$F replay recording --pid " + pid + words);
    EXPECT_EQ(Matches(run.out, "process (\\d+) "), std::vector<std::string>{pid}) << run.out;
    EXPECT_EQ(run.err.find("processes were recorded"), std::string::npos) << run.err;
    EXPECT_NE(run.err.find("in main+"), std::string::npos) << run.out << run.err;
  }
}

// Both programs have a function main, and each its own beside.
TEST_F(StopsTest, SymbolsAreThoseOfTheProgramThatRan) {
  ASSERT_NO_FATAL_FAILURE(RecordExec("emulate", "becomes", "-O0 -DSECOND"));
  const std::string show = "monitor when\npython print('@', gdb.newest_frame().name())\n";
  const std::string out = Gdb(
      "end", "break main\nreverse-continue\n" + show + "reverse-continue\n" + show +
                 "break before\ncontinue\n" + show + "catch exec\ndelete 2\ncontinue\n" + show +
                 "stepi\nreverse-stepi\nreverse-stepi\n" + show + "continue\n" + show +
                 "monitor goto #1000\nmonitor goto end\nbreak after\nreverse-continue\n" + show);
  const std::vector<std::string> functions = Matches(out, "@ (.*)");
  EXPECT_EQ(functions, (std::vector<std::string>{"main", "main", "before", "_start", "__GI_execve",
                                                 "_start", "after"}))
      << out;
  EXPECT_EQ(Matches(out, "(is executing new program: \\S*/first)").size(), 2u) << out;
  EXPECT_EQ(Matches(out, "(is executing new program: \\S*/second)").size(), 2u) << out;
  EXPECT_EQ(Matches(out, "(Catchpoint 3 \\(exec'd \\S*/first\\))").size(), 1u) << out;
  const std::vector<std::string> numbers = Matches(out, "before instruction #(\\d+)");
  ASSERT_GE(numbers.size(), 9u) << out;
  EXPECT_EQ(numbers[3], numbers[5]) << "the exec, twice";
  EXPECT_EQ(std::stoul(numbers[4]), std::stoul(numbers[3]) - 1) << "the last place before it";
  for (const size_t i : {0u, 1u, 2u}) EXPECT_EQ(Listed(numbers[i]), functions[i]) << i;
}

TEST_F(StopsTest, A32BitProgramHasItsRegisters) {
  FLOWBACK_NEEDS_HOST(host::Trait::kPrograms32);
  ASSERT_NO_FATAL_FAILURE(
      RecordExec("step", "small32", "-O0 -m32 -nostdlib -static -fno-pic -no-pie"));
  const std::string tell =
      "python\nfor name in ('eip', 'rip'):\n  if gdb.selected_frame().architecture().registers()"
      ".find(name): print('@', name, gdb.newest_frame().name())\nend\n";
  const std::string out =
      Gdb("end", tell + "reverse-continue\nbreak before\ncontinue\n" + tell + "delete\ncontinue\n" +
                     "break after\nreverse-continue\n" + tell + "monitor goto begin\n" + tell +
                     "monitor goto end\n" + tell);
  EXPECT_EQ(Matches(out, "@ (.*)"),
            (std::vector<std::string>{"eip _start", "rip before", "eip after", "rip _start",
                                      "eip _start"}))
      << out;
}

TEST_F(StopsTest, ThreadsStopARunWhereTheyBeginAndEnd) {
  ASSERT_NO_FATAL_FAILURE(Record("threads", "-O0"));
  std::string on = "monitor stop-at threads\n", back = on;
  for (int i = 0; i < 7; ++i) on += "continue\nmonitor when\n";
  for (int i = 0; i < 7; ++i) back += "reverse-continue\nmonitor when\n";
  const std::string pattern = "flowback: (thread \\d+ (?:begins|ends) here)";
  const std::string forward = Gdb("begin", on + "continue\n"), backward = Gdb("end", back);
  std::vector<std::string> stops = Matches(forward, pattern);
  std::vector<std::string> stops_back = Matches(backward, pattern);
  std::vector<std::string> places = Matches(forward, "(thread \\d+ .* before instruction #\\d+)");
  std::vector<std::string> places_back =
      Matches(backward, "(thread \\d+ .* before instruction #\\d+)");
  ASSERT_EQ(stops.size(), 7u) << forward;
  ASSERT_EQ(stops_back.size(), 7u) << backward;
  EXPECT_NE(forward.find("No more reverse-execution history"), std::string::npos) << forward;
  // Each run has one of the first thread: it stands at the other.
  stops.pop_back(), stops_back.pop_back(), places.resize(6), places_back.resize(6);
  std::ranges::reverse(stops_back);
  std::ranges::reverse(places_back);
  EXPECT_EQ(stops_back, stops) << forward << backward;
  EXPECT_EQ(places_back, places) << forward << backward;
}

TEST_F(StopsTest, BreakpointsThatNothingReachesAndNewerSourcesAreSaid) {
  ASSERT_NO_FATAL_FAILURE(Record("calls", "-O0"));
  const std::string out = Gdb("end",
                              "break middle\nbreak abort\nbreak inner\ndprintf abort,\"x\"\n"
                              "reverse-continue\n");
  EXPECT_EQ(Matches(out, "flowback: breakpoint (\\d+): nothing ran there in this process"),
            (std::vector<std::string>{"2", "4"}))
      << out;
  EXPECT_EQ(out.find("Source file is more recent"), std::string::npos) << out;
  folder_.Write("calls.c", ReadFile(PROGRAMS "/calls.c"));
  const ProgramResult compiled =
      RunShell(folder_, std::string(TEST_CC) +
                            " -g calls.c -o program && $F record --engine "
                            "emulate -o recording -- ./program; "
                            "touch -d '+1 hour' calls.c");
  ASSERT_EQ(compiled.status, 0) << compiled.err;
  const std::string newer = Gdb("end", "break inner\nreverse-continue\nlist\n");
  EXPECT_NE(newer.find("Source file is more recent than executable"), std::string::npos) << newer;
}

// gdb would read the structure in memory, at an address that nobody knows, and fail.
TEST_F(StopsTest, AFinishStopsInTheCallerWhateverTheFunctionReturns) {
  ASSERT_NO_FATAL_FAILURE(Record("returns", "-O0"));
  std::string commands = "python\nfor name in ('pair', 'many', 'nothing'):\n";
  for (const char* command : {"tbreak ' + name", "continue'", "finish'"})
    commands += std::string("  try: gdb.execute('") + command +
                ")\n  except gdb.error as error: print('!', error)\n";
  commands += "  print('@', gdb.newest_frame().name(), gdb.newest_frame().find_sal().line)\nend\n";
  const std::string out = Gdb("begin", commands);
  EXPECT_EQ(Matches(out, "@ (.*)"), (std::vector<std::string>{"main 17", "main 19", "main 20"}))
      << out;
  EXPECT_EQ(Matches(out, "(what the function returned is not known)").size(), 2u) << out;
}

TEST_F(StopsTest, EventsStopARunAsTheyAreListed) {
  ASSERT_NO_FATAL_FAILURE(Record("calls", "-O0"));
  const ProgramResult told =
      RunShell(folder_, "$F decode recording --as events | grep ' started ' | tail -n +2");
  const std::vector<std::string> listed = Matches(told.out, " ip=([0-9a-f]+)");
  ASSERT_GT(listed.size(), 3u) << told.out;
  std::string commands = "monitor stop-at dance\nmonitor stop-at started\n";
  for (size_t i = 0; i < listed.size(); ++i) commands += "continue\n";
  const std::string out = Gdb("begin", commands + "monitor stop-at\ncontinue\n");
  EXPECT_EQ(Matches(out, "flowback: started at 0x([0-9a-f]+)"), listed) << out;
  EXPECT_NE(out.find("runs cannot stop at \"dance\""), std::string::npos) << out;
  EXPECT_NE(out.find("No more reverse-execution history"), std::string::npos) << out;
}

}  // namespace
}  // namespace flowback::test
