// SPDX-License-Identifier: MIT
// `record -o -` and `-o FIFO`: perf.data in pipe mode, and CMD's own output apart from it.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "tests/cli/run_program.h"
#include "tests/support/host.h"

namespace flowback::test {
namespace {

using nlohmann::json;

class RecordOutput : public ::testing::Test {
 protected:
  // Fails as its first program that fails.
  ProgramResult Shell(const std::string& line) const {
    ProgramResult result = RunShell(folder_, "set -o pipefail\n" + line);
    EXPECT_FALSE(result.timed_out) << "still running: " << line;
    return result;
  }
  // How many instructions the messages say were recorded.
  static std::string Executed(const std::string& grouped) {
    const std::string messages = WithoutGroups(grouped);
    const size_t at = messages.find("record: ", messages.find(" instructions of ") - 24);
    return messages.substr(at + 8, messages.find(' ', at + 8) - at - 8);
  }

  ScratchFolder folder_;
};

TEST_F(RecordOutput, StandardOutputIsAPipeOfRecords) {
  const ProgramResult piped =
      Shell("$F record -o - -- sh -c 'echo from CMD; exit 0' | tee data | $F decode --as digest -");
  ASSERT_EQ(piped.status, 0) << piped.err;
  ASSERT_EQ(Lines(piped.out).size(), 1u) << piped.out;
  EXPECT_EQ(Words(piped.out).at(1), Executed(piped.err)) << piped.err;
  EXPECT_TRUE(piped.err.contains("from CMD\n")) << "perf puts it there, too";
  EXPECT_TRUE(piped.err.contains("(emulated) in standard output")) << piped.err;
  EXPECT_FALSE(piped.err.contains("next:")) << piped.err;
  EXPECT_FALSE(piped.err.contains("warning")) << piped.err;
  // The pipe's content is a complete recording.
  EXPECT_EQ(RunFlowback({"info", "--strict", folder_.File("data")}).status, 0);
  const json info = json::parse(RunFlowback({"info", "--json", folder_.File("data")}).out);
  EXPECT_EQ(info["emulated"], true);
  EXPECT_TRUE(info["command_line"].get<std::string>().starts_with("flowback record -o -"));
  EXPECT_EQ(info["warnings"], json::array());
  // By another name it is the same.
  const ProgramResult named = Shell("$F record -o /dev/stdout -- echo from CMD | $F info -");
  EXPECT_EQ(named.status, 0) << named.err;
  EXPECT_TRUE(named.err.contains("from CMD\n")) << named.err;
  const ProgramResult file = Shell("$F record -o - -- echo from CMD >data; $F info --strict data");
  EXPECT_EQ(file.status, 0) << file.err;
}

TEST_F(RecordOutput, PerfReadsThePipe) {
  FLOWBACK_NEEDS_HOST(host::Trait::kPerf);
  const ProgramResult listed = Shell(
      "$F record -o - -- true 2>messages | perf script -i - --itrace=i0ns -F ip 2>perf.err | wc "
      "-l");
  ASSERT_EQ(listed.status, 0) << ReadFile(folder_.File("perf.err"));
  EXPECT_EQ(Words(Lines(listed.out).at(0)).at(0), Executed(ReadFile(folder_.File("messages"))))
      << ReadFile(folder_.File("perf.err"));
}

TEST_F(RecordOutput, Fifo) {
  ASSERT_EQ(mkfifo(folder_.File("fifo").c_str(), 0600), 0);
  const ProgramResult result = Shell(
      "$F decode --as digest fifo >digest &\n"
      "$F record --json -o fifo -- echo from CMD || exit 9\nwait\ncat digest");
  ASSERT_EQ(result.status, 0) << result.err;
  const std::vector<std::string> lines = Lines(result.out);
  EXPECT_EQ(lines.at(0), "from CMD");
  const json summary = json::parse(lines.at(lines.size() - 2));
  EXPECT_TRUE(summary["next"].is_null()) << summary;
  EXPECT_EQ(Words(lines.back()).at(1), std::to_string(summary["instructions"].get<uint64_t>()));
}

// Whoever reads sees the end as soon as the recording is complete.
TEST_F(RecordOutput, EndsWithTheRecordingNotTheProgram) {
  FLOWBACK_NEEDS_HOST(host::Trait::kPtrace);
  const ProgramResult result = Shell(
      "$F record --engine step --max-instructions 1000 -o - -- sh -c "
      "'until [ -e seen ]; do sleep 0.02; done' | { $F decode --as digest - >digest; touch seen; "
      "}; cat digest");
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(Words(result.out).at(1), "1000");
}

TEST_F(RecordOutput, RefusedWhereItCannotBe) {
  const ProgramResult mixed = Shell("$F record --json -o - -- touch ran | cat");
  EXPECT_EQ(mixed.status, 125);
  EXPECT_TRUE(mixed.err.contains("--json prints to standard output")) << mixed.err;
  EXPECT_TRUE(mixed.err.contains("try: -o FILE")) << mixed.err;
  const ProgramResult terminal =
      Shell("script -qec \"$F record -o - -- touch ran\" /dev/null; exit $?");
  EXPECT_EQ(terminal.status, 125) << terminal.err;
  EXPECT_TRUE(terminal.out.contains("which is a terminal")) << terminal.out;
  EXPECT_TRUE(Shell("[ ! -e ran ]").status == 0) << "CMD was run";
  const ProgramResult closed = Shell("$F record -o - -- true | true");
  EXPECT_EQ(closed.status, 125);
  EXPECT_TRUE(closed.err.contains("Broken pipe")) << closed.err;
}

}  // namespace
}  // namespace flowback::test
