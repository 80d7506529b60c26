// SPDX-License-Identifier: MIT
// gdb itself on recordings: stacks against those of `flowback stack`, steps at source level in both
// directions against a live program that gdb records, threads, and what has no value.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <vector>

#include "tests/gdb/gdb_test.h"

namespace flowback::test {
namespace {

class ReplayTest : public GdbTest, public ::testing::WithParamInterface<const char*> {};

// Functions of frames with their lines, from the innermost to main, where gdb ends.
using Frames = std::vector<std::string>;

Frames GdbFrames(const std::string& text) {
  Frames frames;
  const std::regex frame("#\\d+ +(?:0x[0-9a-f]+ in )?(\\w+) \\(.*\\) at .*:(\\d+)");
  for (std::sregex_iterator at(text.begin(), text.end(), frame), end; at != end; ++at)
    frames.push_back((*at)[1].str() + ":" + (*at)[2].str());
  return frames;
}

Frames ToldFrames(const ScratchFolder& folder, const std::string& number) {
  const ProgramResult told =
      RunShell(folder, "$F stack recording --at '#" + number + "'" + " --json | tail -1");
  Frames frames;
  if (told.out.empty()) return {told.err};
  const nlohmann::json stack = nlohmann::json::parse(told.out);
  for (const auto& frame : stack["frames"]) {
    const std::string function = frame["function"].is_null() ? "?" : frame["function"];
    // gdb leaves out what the compiler added to the name: "middle.constprop.0".
    frames.push_back(function.substr(0, function.find('.')) + ":" +
                     std::to_string(frame["line"].get<int>()));
    if (function == "main") break;
  }
  return frames;
}

TEST_P(ReplayTest, HasTheStacksOfTheFlow) {
  ASSERT_NO_FATAL_FAILURE(Record("calls", GetParam()));
  std::string commands = "break inner\n";
  for (int i = 0; i < 5; ++i) commands += "reverse-continue\nmonitor when\nbt\necho end\\n\n";
  commands += "finish\nmonitor when\nbt\necho end\\n\nreverse-finish\nmonitor when\nbt\n";
  const std::string out = Gdb("end", commands);
  const std::vector<std::string> numbers = Matches(out, "before instruction #(\\d+)");
  ASSERT_EQ(numbers.size(), 7u) << out;
  size_t at = 0;
  for (const std::string& number : numbers) {
    const size_t end = std::min(out.find("end\n", at), out.size());
    const size_t frames = out.find("#0", out.find("#" + number, at));
    const Frames shown = GdbFrames(out.substr(frames, end - frames));
    EXPECT_GE(shown.size(), 2u) << out;
    EXPECT_EQ(shown, ToldFrames(folder_, number)) << "before instruction " << number;
    at = end + 4;
  }
}

// Two lines may begin at one address, of which gdb and flowback need not name the same.
Frames WithoutLines(Frames frames) {
  for (std::string& frame : frames) frame.resize(frame.find(':'));
  return frames;
}

// `monitor goto` moves the machine, and gdb looks again.
TEST_P(ReplayTest, HasTheStacksWhereItGoes) {
  ASSERT_NO_FATAL_FAILURE(Record("calls", GetParam()));
  const std::string first = Gdb("begin", "break main\ncontinue\nmonitor when\n");
  const std::vector<std::string> begin = Matches(first, "before instruction #(\\d+)");
  ASSERT_EQ(begin.size(), 1u) << first;
  std::vector<std::string> numbers;
  std::string commands;
  for (const int on : {60, 20, 40, 3, 50}) {
    numbers.push_back(std::to_string(std::stoi(begin[0]) + on));
    commands += "monitor goto #" + numbers.back() + "\nbt\necho end\\n\n";
  }
  const std::string out = Gdb("end", commands);
  size_t at = 0;
  for (const std::string& number : numbers) {
    const size_t end = std::min(out.find("end\n", at), out.size());
    EXPECT_EQ(WithoutLines(GdbFrames(out.substr(at, end - at))),
              WithoutLines(ToldFrames(folder_, number)))
        << number << out;
    at = end + 4;
  }
}

// Until the program leaves its own functions, where a live recording ends.
std::vector<std::string> InProgram(const std::vector<std::string>& shown) {
  std::vector<std::string> inside;
  for (const std::string& line : shown) {
    if (Matches(line, "@ (inner|middle|recurse|main) ").empty()) break;
    inside.push_back(line);
  }
  return inside;
}

// gdb records a live program's registers and memory, and steps back through that. For each step it
// shows function, line, and the place from main on.
TEST_P(ReplayTest, StepsLikeARecordedLiveProgram) {
  ASSERT_NO_FATAL_FAILURE(Record("calls", GetParam()));
  // Optimised, main's calls are one line, over which `next` leaves the program.
  const std::vector<std::string> unoptimised = {
      "next",          "next",           "step",         "stepi",    "stepi",
      "reverse-stepi", "step",           "step",         "finish",   "reverse-step",
      "stepi",         "reverse-finish", "step",         "next",     "next",
      "reverse-next",  "step",           "tbreak inner", "continue", "up",
      "down",          "reverse-stepi",  "reverse-next", "next",     "next"};
  const std::vector<std::string> optimised = {
      "tbreak inner", "continue", "next",           "step",        "stepi", "reverse-stepi",
      "reverse-step", "stepi",    "reverse-finish", "stepi",       "next",  "reverse-next",
      "tbreak inner", "continue", "finish",         "reverse-step"};
  std::string steps;
  for (const std::string& step : std::string(GetParam()) == "-O0" ? unoptimised : optimised)
    steps += step + "\npython show()\n";
  const std::string show =
      "python\ndef show():\n"
      "  frame = gdb.newest_frame()\n"
      "  main = int(gdb.parse_and_eval('(unsigned long)&main'))\n"
      "  print('@', frame.name(), frame.find_sal().line, int(frame.pc()) - main)\nend\n";
  folder_.Write("live.gdb", show + "break main\nrun\nrecord\npython show()\n" + steps + "kill\n");
  const ProgramResult live = RunShell(folder_, "gdb -nx -batch -x live.gdb ./program");
  const std::vector<std::string> truth = InProgram(Matches(live.out, "(@ .*)"));
  if (truth.size() < 8) GTEST_SKIP() << "gdb can't record this program here: " << live.err;
  // Behind a breakpoint that the live program does not come to, it leaves its own functions.
  EXPECT_GE(truth.size(), std::string(GetParam()) == "-O0" ? 25u : 15u) << live.out;
  const std::string out = Gdb("begin", show + "break main\ncontinue\npython show()\n" + steps);
  std::vector<std::string> shown = Matches(out, "(@ .*)");
  shown.resize(std::min(shown.size(), truth.size()));
  EXPECT_EQ(shown, truth) << out << live.out;
}

// Where a function ends with a call, the address behind it is another function's. With debug
// information or without, a frame is the caller's.
TEST_P(ReplayTest, NamesCallersOfWhatNeverReturns) {
  for (const std::string more : {"", " -g0"}) {
    ASSERT_NO_FATAL_FAILURE(Record("never_returns", GetParam() + more));
    const std::string out = Gdb("end", "bt\n");
    const std::vector<std::string> names = Matches(out, "#\\d+ +(?:0x[0-9a-f]+ in )?(\\w+) \\(");
    ASSERT_GE(names.size(), 4u) << out;
    EXPECT_EQ(names[1], "Leave") << out;
    EXPECT_EQ(names[2], "Give") << out;
    EXPECT_EQ(names[3], "main") << out;
  }
}

TEST_F(ReplayTest, RandomCommandsLeadWhereTheListingSays) {
  ASSERT_NO_FATAL_FAILURE(Record("calls", "-O1"));
  const ProgramResult listed = RunShell(
      folder_, "$F decode recording --fields ip --as instructions | grep -v '^#' > listing");
  ASSERT_EQ(listed.status, 0) << listed.err;
  for (const char* seed : {"1", "2"}) {
    const ProgramResult run = RunShell(
        folder_, std::string("export LISTING=listing COUNT=80 SEED=") + seed +
                     "; $F replay recording -- -nx -batch -x " PROGRAMS "/random_commands.py 2>&1");
    EXPECT_NE(run.out.find("\nright "), std::string::npos) << run.out;
  }
}

TEST_F(ReplayTest, CatchesSystemCallsInBothDirections) {
  ASSERT_NO_FATAL_FAILURE(Record("calls", "-O0"));
  const std::string out = Gdb("end",
                              "catch syscall mmap\nreverse-continue\nreverse-continue\ncontinue\n"
                              "delete\ncatch syscall\ncontinue\n");
  EXPECT_EQ(Matches(out, "(Catchpoint . \\(call to syscall mmap\\))").size(), 3u) << out;
  EXPECT_EQ(Matches(out, "(Catchpoint 2 \\(call to syscall )").size(), 1u) << out;
}

TEST_F(ReplayTest, SaysWhatHasNoValue) {
  ASSERT_NO_FATAL_FAILURE(Record("calls", "-O0"));
  const std::string out =
      Gdb("end",
          "break inner\nreverse-continue\ninfo registers rip rax rsp\nx/2i $pc\n"
          "python\nfor word in ('sink', 'value'):\n  try: print('value:', "
          "str(gdb.parse_and_eval(word)))\n"
          "  except gdb.error as error: print('no value:', error)\nend\n"
          "finish\ninfo sharedlibrary\nmonitor why-unavailable\n");
  EXPECT_NE(out.find("rax            <unavailable>"), std::string::npos) << out;
  EXPECT_NE(out.find("rsp            <unavailable>"), std::string::npos) << out;
  EXPECT_NE(out.find("<inner"), std::string::npos) << out;
  EXPECT_EQ(Matches(out, "(no value:)").size(), 2u) << out;
  EXPECT_EQ(out.find("\nvalue:"), std::string::npos) << out;
  EXPECT_NE(out.find("libc.so.6"), std::string::npos) << out;
  EXPECT_NE(out.find("does not hold other registers"), std::string::npos) << out;
}

TEST_F(ReplayTest, ThreadsComeInTheOrderOfTimeBothWays) {
  ASSERT_NO_FATAL_FAILURE(Record("threads", "-O0"));
  const std::string show =
      "python\ndef visit():\n  print('@', gdb.selected_thread().ptid[1], gdb.execute('monitor "
      "when', "
      "to_string=True).split('#')[1].split()[0])\nend\n";
  std::string on = show + "break work\n";
  std::string back = on;
  for (int i = 0; i < 15; ++i) {
    on += "continue\npython visit()\n";
    back += "reverse-continue\npython visit()\n";
  }
  on += "info threads\nthread apply all bt\ncontinue\n";
  const std::string forward = Gdb("begin", on);
  std::vector<std::string> visits = Matches(forward, "@ (.*)");
  ASSERT_EQ(visits.size(), 15u) << forward;
  EXPECT_EQ(Matches(forward, "\\n[* ] (\\d+) +Thread ").size(), 4u) << forward;
  EXPECT_GE(Matches(forward, "(run) \\(").size(), 1u) << forward;
  EXPECT_NE(forward.find("No more reverse-execution history"), std::string::npos) << forward;
  std::ranges::reverse(visits);
  EXPECT_EQ(Matches(Gdb("end", back), "@ (.*)"), visits);
}

// A core dump proves registers, memory and the signal where the thread died, and what led there.
// The signal stops a run there, before the end does.
TEST_F(ReplayTest, HasTheValuesOfACoreDumpAndOfWhatLedToIt) {
  if (const std::string pattern = ReadFile("/proc/sys/kernel/core_pattern");
      pattern.empty() || pattern[0] == '|' || pattern[0] == '/')
    GTEST_SKIP() << "core dumps don't go to the program's folder here: " << pattern;
  const ProgramResult recorded =
      RunShell(folder_, std::string(TEST_CC) +
                            " -g -O0 -static " PROGRAMS
                            "/crash.c -o program && ulimit -c unlimited && "
                            // A sanitizer would keep the programs that it starts from dumping.
                            "ASAN_OPTIONS=$ASAN_OPTIONS:disable_coredump=0 "
                            "$F record --engine step -o recording -- ./program; mv core* dump");
  ASSERT_EQ(recorded.status, 0) << recorded.err;
  folder_.Write(
      "commands.gdb",
      "python\ndef tell(word):\n  try: print('@', word, str(gdb.parse_and_eval(word)))\n"
      "  except gdb.error: print('@', word, 'has none')\nend\n"
      "info program\npython tell('$_siginfo.si_signo')\n"
      "python tell('$_siginfo._sifields._sigfault.si_addr')\n"
      "python tell('sum')\npython tell('$rsp > 0')\nup\npython tell('first.value')\ndown\n"
      "monitor why rax\n"
      // In the trip through the loop before, and before the call.
      "reverse-step\nreverse-step\nreverse-step\nreverse-step\npython tell('sum')\npython "
      "tell('i')\n"
      "python tell('$rsp > 0')\npython tell('$_siginfo.si_signo')\nbt\n"
      "reverse-finish\npython tell('second.value')\n"
      // The C library's start has no values.
      "monitor goto begin\npython tell('$rax')\npython tell('$rsp > 0')\nmonitor why rax\n"
      "monitor goto end\nbt\n"
      "reverse-stepi\ncatch signal SIGSEGV\ncontinue\npython tell('sum')\ncontinue\n");
  const ProgramResult run = RunShell(
      folder_, "$F replay recording --at crash --core dump -- -nx -batch -x commands.gdb 2>&1");
  EXPECT_EQ(Matches(run.out, "@ (.*)"),
            (std::vector<std::string>{"$_siginfo.si_signo 11",
                                      "$_siginfo._sifields._sigfault.si_addr 0x0", "sum 6",
                                      "$rsp > 0 1", "first.value 1", "sum 3", "i 2", "$rsp > 0 1",
                                      "$_siginfo.si_signo has none", "second.value 2",
                                      "$rax <unavailable>", "$rsp > 0 has none", "sum 6"}))
      << run.out;
  // The null pointer comes from the end of the list, which main wrote.
  EXPECT_EQ(Matches(run.out, "#\\d+ (?:sum_of|main)\\S* \\(crash.c:(\\d+)\\): mov.*0x0"),
            (std::vector<std::string>{"11", "12", "12", "18"}))
      << run.out;
  EXPECT_NE(run.out.find("older than the instructions"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("It stopped with signal SIGSEGV"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("Catchpoint 1 (signal SIGSEGV)"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("No more reverse-execution history"), std::string::npos) << run.out;
  EXPECT_EQ(GdbFrames(run.out).back(), "main:19") << run.out;
}

// gdb looks at each thread to list them; a step is still the shown thread's.
TEST_F(ReplayTest, StepsTheThreadThatIsShown) {
  ASSERT_NO_FATAL_FAILURE(Record("threads", "-O0"));
  const std::string tell = "python print('@', gdb.selected_thread().num)\n";
  const std::string out =
      Gdb("end", "info threads\nreverse-stepi\n" + tell + "thread apply all bt 1\nreverse-stepi\n" +
                     tell + "thread 3\nreverse-stepi\n" + tell + "info threads\nstepi\n" + tell +
                     "break work\nreverse-continue\nthread 1\nreverse-stepi\n" + tell + "stepi\n" +
                     tell);
  EXPECT_EQ(Matches(out, "@ (.*)"), (std::vector<std::string>{"1", "1", "3", "3", "1", "1"}))
      << out;
}

// A replay's settings are its own: the next target in the same gdb finds the user's.
TEST_F(ReplayTest, LeavesGdbAsItWas) {
  ASSERT_NO_FATAL_FAILURE(Record("calls", "-O0"));
  std::string tell;
  for (const char* name : {"remotetimeout", "print frame-arguments", "scheduler-locking"})
    tell += std::string("python print('@', gdb.parameter('") + name + "'))\n";
  const std::string out =
      Gdb("end", "set confirm off\n" + tell + "disconnect\nfile ./program\nbreak inner\nrun\nup\n" +
                     tell + "info args\n");
  EXPECT_EQ(Matches(out, "@ (.*)"),
            (std::vector<std::string>{"3600", "presence", "step", "2", "scalars", "replay"}))
      << out;
}

TEST_F(ReplayTest, ServesOneGdbAtATime) {
  ASSERT_NO_FATAL_FAILURE(Record("calls", "-O0"));
  const ProgramResult run = RunShell(
      folder_,
      "$F replay --gdb-init > init.py; $F replay recording --gdb-server ./socket 2>told & "
      "server=$!;"
      "for i in $(seq 100); do [ -S socket ] && break; sleep 0.1; done;"
      "python3 -c 'import socket, time\n"
      "first = socket.socket(socket.AF_UNIX); first.connect(\"socket\"); first.send(b\"$qC#b4\")\n"
      "print(first.recv(1)); time.sleep(0.5); first.recv(99)\n"
      "other = socket.socket(socket.AF_UNIX); other.connect(\"socket\"); print(other.recv(1))\n"
      "first.send(b\"$bad#00\"); print(first.recv(99)[-1:])';"
      "gdb -nx -batch -iex 'source init.py' -ex 'target remote ./socket' -ex 'monitor when' 2>&1;"
      "kill $server; wait $server; echo status $?; ls socket; cat told");
  EXPECT_NE(run.out.find("b'+'\nb''\nb'-'"), std::string::npos) << run.out << run.err;
  EXPECT_NE(run.out.find("before instruction #"), std::string::npos) << run.out << run.err;
  EXPECT_NE(run.out.find("status 0"), std::string::npos) << run.out << run.err;
  EXPECT_NE(run.out.find("turned away"), std::string::npos) << run.out << run.err;
  EXPECT_NE(run.err.find("socket"), std::string::npos) << "the socket is gone: " << run.out;
}

// One language of moments: --at, `monitor goto` and other commands mean the same by a word.
TEST_F(ReplayTest, UnderstandsMomentsAsOtherCommandsDo) {
  ASSERT_NO_FATAL_FAILURE(Record("calls", "-O0"));
  std::string commands;
  std::vector<std::string> told;
  for (const char* word : {"+0.1ms", "-2ms", "50%", "#1000"}) {
    const ProgramResult stack =
        RunShell(folder_, std::string("$F stack recording --json --at '") + word + "' | tail -1");
    ASSERT_EQ(stack.status, 0) << stack.err;
    told.push_back(std::to_string(nlohmann::json::parse(stack.out)["instructions"].get<int>()));
    EXPECT_EQ(Matches(Gdb(word, "monitor when\n"), "before instruction #(\\d+)"),
              std::vector<std::string>{told.back()})
        << word;
    commands += std::string("monitor goto ") + word + "\n";
  }
  const std::string out = Gdb("end", commands + "monitor goto 6179\nmonitor goto crash\n");
  EXPECT_EQ(Matches(out, "before instruction #(\\d+)"), told) << out;
  EXPECT_NE(out.find("try: monitor goto #6179"), std::string::npos) << out;
  EXPECT_NE(out.find("no recorded process crashed"), std::string::npos) << out;
}

// However many steps find that nothing follows, gdb takes the next command.
TEST_F(ReplayTest, GoesOnAtABreakpointWhereTheFlowEnds) {
  for (const char* program : {"calls", "crash"}) {
    ASSERT_NO_FATAL_FAILURE(Compile(program, "-O0", "program"));
    RunShell(folder_, "rm -f recording; $F record --engine emulate -o recording -- ./program");
    const std::string out =
        Gdb(std::string_view(program) == "crash" ? "crash" : "end",
            "break *$pc\ncontinue\ncontinue\nstepi\ncontinue\necho steps\\n\npython\nfor i in "
            "range(18): gdb.execute('stepi')\nend\ncontinue\nreverse-stepi\ncontinue\n"
            "monitor when\n");
    EXPECT_EQ(Matches(out, "(flow of thread \\d+ ends here)").size(), 4u + 18u + 1u) << out;
    EXPECT_EQ(Matches(out, "(No more reverse-execution history)").size(), 1u) << out;
    EXPECT_NE(out.find("before instruction #"), std::string::npos) << out;
  }
}

// More frames than a packet holds: gdb shows the innermost ones, and says so.
TEST_F(ReplayTest, SaysThatAStackIsCut) {
  folder_.Write("deep.c",
                "static volatile int seen;\n"
                "__attribute__((noinline)) static int deep(int n) {\n"
                "  seen += n; return n == 0 ? 0 : deep(n - 1) + seen; }\n"
                "int main(void) { return deep(20000) == 0; }\n");
  const ProgramResult recorded =
      RunShell(folder_, std::string(TEST_CC) +
                            " -g -O0 deep.c -o deep && $F record -q --engine emulate -o recording "
                            "-- ./deep; $F stack recording --at '#300000' --json | tail -1");
  const nlohmann::json stack = nlohmann::json::parse(recorded.out);
  const std::string out = Gdb("#300000", "set pagination off\nbt -1\n");
  EXPECT_EQ(Matches(out, "frames of (\\d+)\n"),
            std::vector<std::string>{std::to_string(stack["frames"].size())})
      << out;
}

TEST_F(ReplayTest, RefusesWhatMakesNoSense) {
  ASSERT_NO_FATAL_FAILURE(Record("calls", "-O0"));
  for (const char* words : {"--listen 0.0.0.0", "--at soon", "--at '#99999999999'", "--at crash",
                            "--at 6179", "--at +1x", "--pid 1", "--json", "--gdb-server 70000",
                            "--gdb-server 0 -- -batch", "--gdb-server 0 --listen nowhere"}) {
    const ProgramResult run =
        RunShell(folder_, std::string("timeout 20 $F replay recording ") + words);
    EXPECT_EQ(run.status, 2) << words << ": " << run.err;
    EXPECT_NE(run.err.find("try:"), std::string::npos) << words << ": " << run.err;
  }
}

INSTANTIATE_TEST_SUITE_P(Optimised, ReplayTest, ::testing::Values("-O0", "-O2"),
                         [](const auto& which) { return std::string(which.param).substr(1); });

}  // namespace
}  // namespace flowback::test
