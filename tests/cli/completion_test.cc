// SPDX-License-Identifier: MIT
// Answers to a shell that completes functions' names (tests/install/typed.py presses TAB).
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/cli/run_program.h"

namespace flowback::test {
namespace {

// A program of 300 functions, and one that has copies of a function.
class CompletionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string source = "extern \"C\" {\n";
    for (int i = 0; i < 300; ++i)
      source += fmt::format("int many_{:03}() {{ return {}; }}\n", i, i);
    source +=
        "int copied() __asm__(\"copied.constprop.0\");\nint copied() { return 1; }\n"
        "int _start() { return 0; }\n}\n";
    folder_.Write("source.cc", source);
    folder_.Write("padding", std::string(64, '\0'));
    const ProgramResult built = RunShell(folder_, TEST_CXX
                                         " -O1 -ffreestanding -nostdlib -static -no-pie source.cc "
                                         "-fno-sanitize=all -o program");
    ASSERT_EQ(built.status, 0) << built.err;
  }

  ProgramResult Offered(const std::string& words) const { return RunShell(folder_, "$F " + words); }
  void ExpectNothing(const std::string& words) const {
    const ProgramResult result = Offered(words);
    EXPECT_EQ(result.status, 0) << words;
    EXPECT_EQ(result.out, "") << words;
    EXPECT_EQ(result.err, "") << words;
  }

  ScratchFolder folder_;
};

TEST_F(CompletionTest, OffersAsManyAsOneCanRead) {
  for (const char* command : {"record --complete-function many_ --engine step -- ./program x",
                              "decode --complete-function many_ -F ip --raw-pt padding --image "
                              "program"}) {
    const std::vector<std::string> names = Lines(Offered(command).out);
    ASSERT_EQ(names.size(), 200u) << command;
    EXPECT_EQ(names.front(), "many_000");
    EXPECT_EQ(names[1], "many_001");
    // The common prefix of all is that of these.
    EXPECT_EQ(names.back(), "many_299");
  }
}

TEST_F(CompletionTest, OffersNamesAsTheOptionsTakeThem) {
  EXPECT_EQ(Offered("record --complete-function many_12 ./program").out,
            "many_120\nmany_121\nmany_122\nmany_123\nmany_124\nmany_125\nmany_126\nmany_127\n"
            "many_128\nmany_129\n");
  EXPECT_EQ(Offered("record --complete-function cop ./program").out, "copied\n");
}

TEST_F(CompletionTest, SaysNothingWhereThereIsNothing) {
  folder_.Write("damaged", "PERFILE2 and no more");
  ASSERT_EQ(mkfifo(folder_.File("pipe").c_str(), 0600), 0);
  for (const char* words :
       {"record --complete-function ''", "record --complete-function m",
        "record --complete-function m -- ./no_such",
        "record --complete-function m --no-such-option ./program",
        "record --complete-function m -p 999999999", "record --complete-function nothing ./program",
        "decode --complete-function m", "decode --complete-function m no_such",
        "decode --complete-function m damaged", "decode --complete-function m --no-such-option",
        "decode --complete-function m -F", "decode --complete-function m --time-conv x damaged"})
    ExpectNothing(words);
  // Nobody writes there: it must not be waited for.
  ExpectNothing("decode --complete-function m pipe");
  ExpectNothing("decode --complete-function m - <pipe & sleep 0.1; : >pipe; wait");
}

}  // namespace
}  // namespace flowback::test
