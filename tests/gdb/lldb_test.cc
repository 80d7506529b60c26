// SPDX-License-Identifier: MIT
// LLDB 19 as the client: it connects, steps, stops at breakpoints and at the end of the recording.
#include "tests/gdb/gdb_test.h"

namespace flowback::test {
namespace {

class LldbTest : public GdbTest {
 protected:
  void SetUp() override {
    FLOWBACK_NEEDS_HOST(host::Trait::kLldb);
    GdbTest::SetUp();
  }

  // What LLDB prints for the commands once it is connected.
  std::string Lldb(const std::string& at, const std::string& commands) {
    folder_.Write("commands.lldb", commands);
    const ProgramResult run = RunShell(
        folder_, "$F replay recording --at '" + at +
                     "' --gdb-server 0 2>told & server=$!;"
                     "for i in $(seq 100); do grep -q remote told && break; sleep 0.1; done;"
                     "place=$(grep -o '127.0.0.1:[0-9]*' told | head -1);"
                     "timeout 60 lldb-19 --batch --no-lldbinit -o 'target create ./program' "
                     "-o \"gdb-remote $place\" -o 'script print(\"begin\")' -s commands.lldb 2>&1;"
                     "kill $server; wait $server");
    const size_t begin = run.out.find("\nbegin\n");
    EXPECT_NE(begin, std::string::npos) << run.out << run.err;
    return begin == std::string::npos ? "" : run.out.substr(begin);
  }
};

TEST_F(LldbTest, StepsAndStopsWhereTheListingSays) {
  ASSERT_NO_FATAL_FAILURE(Record("calls", "-O0"));
  const std::string monitor = "process plugin packet monitor ";
  const std::string out = Lldb(
      "begin", "thread list\nbreakpoint set -n middle\ncontinue\nbt\n" + monitor + "when\n" +
                   monitor + "backtrace\nsi\nregister read rip rax\ndisassemble -c 1 -s $pc\n" +
                   "continue\ncontinue\ncontinue\nprocess detach\n");
  EXPECT_EQ(Matches(out, "\n(\\* thread #1: tid = \\d+)").size(), 1u) << out;
  EXPECT_EQ(Matches(out, "(stop reason = breakpoint 1.1\n +frame #0: \\w+ program`middle)").size(),
            3u)
      << out;
  EXPECT_NE(out.find("stop reason = at the end of the recording"), std::string::npos) << out;
  const std::vector<std::string> number = Matches(out, "before instruction #(\\d+)");
  ASSERT_EQ(number.size(), 1u) << out;
  // The flow's own stack, since LLDB has no registers and no stack memory to unwind with.
  const std::vector<std::string> functions = Matches(out, "\n#\\d 0x\\w+ in (\\w+)\\+");
  ASSERT_GE(functions.size(), 3u) << out;
  EXPECT_EQ((std::vector<std::string>{functions[0], functions[1], functions[2]}),
            (std::vector<std::string>{"middle", "recurse", "main"}));
  const ProgramResult listed =
      RunShell(folder_, "$F decode recording --fields ip | grep -v '^#' | sed -n '" +
                            std::to_string(std::stoul(number[0]) + 2) + "p'");
  const std::vector<std::string> counter = Matches(out, "rip = 0x0*([0-9a-f]+)");
  ASSERT_EQ(counter.size(), 1u) << out;
  EXPECT_EQ(counter, Matches(listed.out, "0*([0-9a-f]+)")) << out;
  EXPECT_NE(out.find("->  0x" + counter[0]), std::string::npos) << out;
  EXPECT_NE(out.find("rax          = error: unavailable"), std::string::npos) << out;
}

TEST_F(LldbTest, HasAllThreads) {
  ASSERT_NO_FATAL_FAILURE(Record("threads", "-O0"));
  const std::string out = Lldb(
      "begin", "breakpoint set -n work\ncontinue\nthread list\nthread select 1\nprocess detach\n");
  EXPECT_EQ(Matches(out, "(thread #\\d: tid = \\d+)").size(), 4u) << out;
  EXPECT_NE(out.find("program`work"), std::string::npos) << out;
}

}  // namespace
}  // namespace flowback::test
