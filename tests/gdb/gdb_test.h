// SPDX-License-Identifier: MIT
// Programs that are recorded here and opened in gdb.
#pragma once

#include <gtest/gtest.h>

#include <regex>
#include <string>
#include <vector>

#include "tests/cli/run_program.h"
#include "tests/support/host.h"
#include "tests/support/places.h"

namespace flowback::test {

class GdbTest : public ::testing::Test {
 protected:
  void SetUp() override {
    FLOWBACK_NEEDS_HOST(host::Trait::kGdb);
    FLOWBACK_NEEDS_HOST(host::Trait::kPtrace);
    if (EmulatorPlugin().empty()) GTEST_SKIP() << "this build can't record by emulation";
    FLOWBACK_NEEDS_HOST(host::Trait::kTemporaryPrograms);
  }

  // As the file `output`.
  void Compile(const std::string& program, const std::string& options, const std::string& output) {
    const ProgramResult compiled =
        RunShell(folder_, std::string(TEST_CC) + " -g " + options + " -pthread " PROGRAMS "/" +
                              program + ".c -o " + output);
    ASSERT_EQ(compiled.status, 0) << compiled.err;
  }
  void Record(const std::string& program, const std::string& optimise) {
    ASSERT_NO_FATAL_FAILURE(Compile(program, optimise, "program"));
    const ProgramResult recorded =
        RunShell(folder_, "$F record --engine emulate -o recording -- ./program");
    ASSERT_EQ(recorded.status, 0) << recorded.err;
  }

  // What gdb prints for the commands, after the line "begin".
  std::string Gdb(const std::string& at, const std::string& commands) {
    folder_.Write("commands.gdb", "echo begin\\n\n" + commands);
    const ProgramResult run = RunShell(
        folder_, "$F replay recording --at '" + at + "' -- -nx -batch -x commands.gdb 2>&1");
    EXPECT_EQ(run.status, 0) << run.err;
    const size_t begin = run.out.find("begin\n");
    EXPECT_NE(begin, std::string::npos) << run.out << run.err;
    return begin == std::string::npos ? "" : run.out.substr(begin + 6);
  }

  ScratchFolder folder_;
};

inline std::vector<std::string> Matches(const std::string& text, const std::string& pattern) {
  const std::regex expression(pattern);
  std::vector<std::string> found;
  for (std::sregex_iterator at(text.begin(), text.end(), expression), end; at != end; ++at)
    found.push_back((*at)[1]);
  return found;
}

}  // namespace flowback::test
