// SPDX-License-Identifier: MIT
// What gdb says of variables that have no value, and of code that no file of the program has.
#include <string>

#include "tests/gdb/gdb_test.h"

namespace flowback::test {
namespace {

class VariablesTest : public GdbTest {};

TEST_F(VariablesTest, WithoutValuesAreUnavailable) {
  ASSERT_NO_FATAL_FAILURE(Record("variables", "-O0"));
  const std::string out =
      Gdb("end",
          "break inner\nreverse-continue\nstep\ninfo locals\ninfo args\nup\ninfo locals\n"
          "info args\ninfo locals\nbacktrace full 2\n");
  EXPECT_EQ(Matches(out, "\n(\\w+) = <unavailable>").size(), 8u) << out;
  EXPECT_EQ(Matches(out, "\n +(\\w+) = <unavailable>").size(), 3u) << out;
  EXPECT_EQ(out.find("Cannot access memory"), std::string::npos) << out;
  EXPECT_EQ(out.find("optimized out"), std::string::npos) << out;
}

// gdb takes a register that its unwinder does not know for one that has not been saved.
TEST_F(VariablesTest, InRegistersOfACallerAreNotOptimizedOut) {
  ASSERT_NO_FATAL_FAILURE(Record("variables", "-O2"));
  const std::string out = Gdb("end", "break inner\nreverse-continue\nup\ninfo locals\n");
  EXPECT_EQ(Matches(out, "\nkept = (.*)"), std::vector<std::string>{"<unavailable>"}) << out;
}

TEST_F(VariablesTest, TheKernelsCodeInTheProcessHasNames) {
  ASSERT_NO_FATAL_FAILURE(Compile("variables", "-O0", "program"));
  const ProgramResult recorded =
      RunShell(folder_, "$F record --engine step -o recording -- ./program");
  ASSERT_EQ(recorded.status, 0) << recorded.err;
  const ProgramResult told =
      RunShell(folder_, "$F decode recording --fields ip,sym,dso | grep '\\[vdso\\]' | head -1");
  if (told.out.empty()) GTEST_SKIP() << "the program called nothing of the kernel's code";
  const std::vector<std::string> words = Words(told.out.substr(0, told.out.find('\n')));
  ASSERT_GE(words.size(), 2u) << told.out;
  const std::string out =
      Gdb("begin", "break *0x" + words[0] + "\ncontinue\nbacktrace\ninfo symbol $pc\n");
  EXPECT_NE(out.find("system-supplied DSO"), std::string::npos) << out;
  // The kernel's code has each function under two names.
  const std::vector<std::string> shown = Matches(out, "#0 +(?:0x[0-9a-f]+ in )?(\\S+) \\(");
  ASSERT_EQ(shown.size(), 1u) << out;
  EXPECT_TRUE(words[1].ends_with(shown[0])) << words[1] << out;
}

// A program made two functions at one address, one after the other.
TEST_F(VariablesTest, CodeMadeAtRunTimeHasTheNamesOfItsTime) {
  const ProgramResult recorded =
      RunShell(folder_, std::string(TEST_CC) + " -static " + SourceFolder() +
                            "/tests/record/programs/hosted/jit_named.c -o program && $F record "
                            "--engine emulate -o recording -- ./program dump");
  ASSERT_EQ(recorded.status, 0) << recorded.err;
  const ProgramResult told =
      RunShell(folder_, "$F decode recording --fields ip,sym | grep -a ' First' | head -1");
  const std::vector<std::string> words = Words(told.out);
  ASSERT_GE(words.size(), 2u) << told.out;
  const std::string out = Gdb("begin", "break *0x" + words[0] +
                                           "\ncontinue\nbacktrace 1\ncontinue\nbacktrace 1\n"
                                           "reverse-continue\nbacktrace 1\n");
  EXPECT_EQ(Matches(out, "#0 +(?:0x[0-9a-f]+ in )?(\\S+) \\("),
            (std::vector<std::string>{"First", "Third", "First"}))
      << out;
}

}  // namespace
}  // namespace flowback::test
