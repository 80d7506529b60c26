// SPDX-License-Identifier: MIT
// `catch syscall` in programs of all kinds: they leave for the kernel by SYSCALL, SYSENTER, INT 80h
// and SVC, and the listing's events say how often.
#include <string>

#include "tests/gdb/gdb_test.h"

namespace flowback::test {
namespace {

// Runs on until a run moves no more.
constexpr char kRuns[] =
    "python\n"
    "def number(): return gdb.execute('monitor when', to_string=True).split('#')[1].split()[0]\n"
    "def run(words):\n"
    "  for _ in range(200):\n"
    "    before = number()\n"
    "    gdb.execute(words)\n"
    "    if number() == before: return\n"
    "end\n";

class CallsTest : public GdbTest {
 protected:
  void RecordBy(const std::string& compiler, const std::string& options,
                const std::string& recorder) {
    const ProgramResult made =
        RunShell(folder_, compiler + " -g -O0 " + options + " " PROGRAMS "/writes.c -o program");
    if (made.status != 0) GTEST_SKIP() << "this machine makes no such programs: " << made.err;
    const ProgramResult recorded =
        RunShell(folder_, "$F record " + recorder + " -o recording -- ./program");
    ASSERT_EQ(recorded.status, 0) << recorded.err;
  }

  // Each call leaves the flow once, and nothing else does.
  void ExpectAllCalls() {
    const ProgramResult told =
        RunShell(folder_, "$F decode recording --as events | grep -cE ' stopped(-async)? '");
    const size_t calls = std::stoul("0" + told.out);
    ASSERT_GT(calls, 4u);
    for (const std::string from : {"begin", "end"}) {
      const std::string run =
          std::string("python run('") + (from == "end" ? "reverse-" : "") + "continue')\n";
      const std::string named = Gdb(from, kRuns + ("catch syscall write\n" + run));
      EXPECT_EQ(Matches(named, "(call to syscall '?write)").size(), 2u) << named;
      EXPECT_EQ(Matches(named, "(call to syscall)").size(), 2u) << named;
      const std::string all = Gdb(from, kRuns + ("catch syscall\n" + run));
      // The last place is the last call's.
      EXPECT_EQ(Matches(all, "(call to syscall|a system call; the code does not)").size(),
                calls - (from == "end" ? 1 : 0))
          << all;
      EXPECT_GT(Matches(all, "(call to syscall)").size(), calls / 2) << all;
    }
  }
};

TEST_F(CallsTest, Of64BitProgramsAreCaught) {
  ASSERT_NO_FATAL_FAILURE(RecordBy(TEST_CC, "-static", "--engine emulate"));
  if (!IsSkipped()) ExpectAllCalls();
}

TEST_F(CallsTest, ByInt80hAreCaught) {
  ASSERT_NO_FATAL_FAILURE(RecordBy(TEST_CC, "-m32 -static", "--engine emulate"));
  if (!IsSkipped()) ExpectAllCalls();
}

TEST_F(CallsTest, ByInt80hInBranchStacksAreCaught) {
  ASSERT_NO_FATAL_FAILURE(RecordBy(TEST_CC, "-m32 -static", "--engine emulate -b"));
  if (!IsSkipped()) ExpectAllCalls();
}

// By the kernel's own code: SYSENTER of Intel's processors, SYSCALL of AMD's.
TEST_F(CallsTest, Of32BitProgramsByTheKernelsEntryAreCaught) {
  FLOWBACK_NEEDS_HOST(host::Trait::kPrograms32);
  ASSERT_NO_FATAL_FAILURE(RecordBy(TEST_CC, "-m32 -static", "--engine step"));
  if (!IsSkipped()) ExpectAllCalls();
}

TEST_F(CallsTest, BySvcAreCaught) {
  ASSERT_NO_FATAL_FAILURE(RecordBy("aarch64-linux-gnu-gcc", "-static", "--engine emulate"));
  if (IsSkipped()) return;
  if (RunShell(folder_, "command -v gdb-multiarch").status != 0)
    GTEST_SKIP() << "there is no gdb-multiarch";
  ExpectAllCalls();
}

// Debian's gdb knows the instruction sets of its machine only.
TEST_F(CallsTest, AGdbThatKnowsTheInstructionSetIsChosen) {
  ASSERT_NO_FATAL_FAILURE(RecordBy("aarch64-linux-gnu-gcc", "-static", "--engine emulate"));
  if (IsSkipped()) return;
  const std::string fake =
      "mkdir -p fake && printf '#!/bin/sh\\n%s\\n' \"$WORDS\" > fake/$NAME && chmod +x "
      "fake/$NAME; ";
  const std::string replay = "PATH=$PWD/fake $F replay recording -- -nx -batch";
  const ProgramResult chosen = RunShell(
      folder_, "NAME=gdb-multiarch; WORDS='echo chosen'; " + fake + replay + "; rm -r fake");
  EXPECT_EQ(chosen.status, 0) << chosen.err;
  EXPECT_EQ(chosen.out, "chosen\n");
  const ProgramResult unable =
      RunShell(folder_, "NAME=gdb; WORDS='echo Undefined item: aarch64; exit 1'; " + fake + replay);
  EXPECT_NE(unable.status, 0);
  EXPECT_NE(unable.err.find("apt install gdb-multiarch"), std::string::npos) << unable.err;
}

}  // namespace
}  // namespace flowback::test
