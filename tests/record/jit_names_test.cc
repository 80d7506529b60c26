// SPDX-License-Identifier: MIT
// Code that a program made has the names that the program wrote down, however long ago that was.
#include <gtest/gtest.h>

#include <string>

#include "tests/cli/run_program.h"
#include "tests/support/host.h"
#include "tests/support/places.h"

namespace flowback::test {
namespace {

class JitNames : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (GetParam() == std::string("step")) FLOWBACK_NEEDS_HOST(host::Trait::kPtrace);
    const ProgramResult trial =
        RunShell(folder_, "$F record --no-images --engine " + std::string(GetParam()) +
                              " -o trial -- " + RecordedProgramsFolder() + "/known");
    if (trial.err.find("no emulator: ") != std::string::npos) GTEST_SKIP() << trial.err;
  }

  // Records the command, and removes what it wrote; the names of what it called, by line.
  std::string Called(const std::string& command, const std::string& decode =
                                                     "--strict --as calls --max-depth 40 r.data | "
                                                     "grep -ae '->' | sed 's/.*-> //'") {
    const ProgramResult result =
        RunShell(folder_, "export FLOWBACK_CACHE=; $F record --engine " + std::string(GetParam()) +
                              " -o r.data -- " + command +
                              " >said && pid=$(sed -n 's/^names [^ ]* \\([0-9]*\\) .*/\\1/p' "
                              "r.data.images/index) && rm -f /tmp/perf-$pid.map && "
                              "$F decode " +
                              decode);
    EXPECT_EQ(result.status, 0) << result.out << result.err;
    return "\n" + result.out;
  }
  std::string Own(const std::string& word) {
    return Called(RecordedProgramsFolder() + "/jit_named " + word);
  }

  ScratchFolder folder_;
};

bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_P(JitNames, OfPerfsMap) {
  const std::string called = Own("map");
  EXPECT_TRUE(Has(called, "\nFirst from Run")) << called;
  EXPECT_TRUE(Has(called, "\nSecond \\x1b[31mred from Run")) << called;
  EXPECT_FALSE(Has(called, "stale") || Has(called, "everything")) << called;
}

// The same address held two functions: the first was called when it was the first's.
TEST_P(JitNames, OfAJitDump) {
  Own("dump");
  const ProgramResult listed = RunShell(
      folder_, "$F decode --strict -F insn,sym r.data | grep -aE '(First|Second|Third)' | uniq");
  const auto mov = [&](const std::string& text) { return listed.out.find("mov eax, " + text); };
  EXPECT_LT(mov("3 First\n"), mov("5 Second \\x1b[31mred\n")) << listed.out;
  EXPECT_LT(mov("5 Second"), mov("4 Third\n")) << listed.out;
  EXPECT_NE(mov("4 Third\n"), std::string::npos) << listed.out;
}

// A page that the child wrote on is kept for it, and its functions are still those of its maker.
TEST_P(JitNames, OfAForkedChild) {
  for (const std::string kind : {"map", "dump"}) {
    Own(kind + " fork");
    const ProgramResult listed =
        RunShell(folder_, "$F decode --strict -F insn,sym r.data | grep -a 'mov eax, 9 [^_]'");
    EXPECT_EQ(listed.out, "mov eax, 9 Second \\x1b[31mred\n") << kind << listed.err;
  }
}

TEST_P(JitNames, LinesOfAJitDump) {
  Own("dump");
  const ProgramResult listed = RunShell(
      folder_,
      "$F decode --strict -F insn,sym,srcline r.data | grep -aE ' (First|Second|Third)' | uniq");
  for (const char* line : {"mov eax, 3 First source.js:30\n", "dec eax First source.js:31\n",
                           "mov eax, 4 Third source.js:40\n", "ret Third source.js:41\n"})
    EXPECT_TRUE(Has("\n" + listed.out, std::string("\n") + line)) << line << listed.out;
  const ProgramResult lines = RunShell(folder_, "$F decode --strict --as lines r.data");
  EXPECT_TRUE(Has(lines.out, "source.js:30")) << lines.err;
  EXPECT_TRUE(Has(lines.out, "source.js:31")) << lines.err;
}

TEST_P(JitNames, OfNode) {
  if (GetParam() == std::string("step")) GTEST_SKIP() << "node's start takes hours to step";
  const ProgramResult node = RunShell(folder_, "node --version");
  if (node.status != 0) GTEST_SKIP() << "node is not installed (Debian: nodejs)";
  folder_.Write("work.js",
                "function hotLoop(n) { let s = 0; for (let i = 0; i < n; i++) s = (s + i * 3) % "
                "1000007; return s; }\n"
                "function caller(n) { let t = 0; for (let k = 0; k < n; k++) t += hotLoop(300); "
                "return t; }\nconsole.log(caller(200));\n");
  const std::string called =
      Called("node --perf-basic-prof --interpreted-frames-native-stack work.js",
             "--as calls --function 'JS:?hotLoop *' r.data | head -n 200");
  EXPECT_TRUE(Has(called, "-> JS:~hotLoop ")) << called;
  const ProgramResult sums = RunShell(folder_, "$F decode --as summary --by function r.data");
  EXPECT_TRUE(Has(sums.out, "JS:~caller ") || Has(sums.out, "JS:^caller ")) << sums.err;
  EXPECT_TRUE(Has(sums.out, "hotLoop ")) << sums.err;
}

INSTANTIATE_TEST_SUITE_P(Engines, JitNames, testing::Values("emulate", "step"),
                         [](const auto& engine) { return std::string(engine.param); });

}  // namespace
}  // namespace flowback::test
