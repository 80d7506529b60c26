// SPDX-License-Identifier: MIT
// Loops without packets: what commands say where nobody counted the rounds, and what `record` says
// of a recording that does not decode to what it counted.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/run_program.h"
#include "tests/support/places.h"

namespace flowback::test {
namespace {

using nlohmann::json;

// The last line of `lines`, which is an object.
json LastOf(const std::string& lines) {
  const size_t begin = lines.rfind('\n', lines.size() - 2);
  return json::parse(lines.substr(begin == std::string::npos ? 0 : begin + 1), nullptr, false);
}

class UnprovenRounds : public ::testing::Test {
 protected:
  void SetUp() override {
    if (Record({"true"}).status != 0) GTEST_SKIP() << "this machine cannot emulate";
  }

  ProgramResult Record(std::vector<std::string> command) const {
    std::vector<std::string> words = {"record",      "--force", "--json", "--engine", "emulate",
                                      "--no-images", "-o",      file_,    "--"};
    words.insert(words.end(), command.begin(), command.end());
    return RunFlowback(words);
  }

  // Makes padding of the counts, so that the recording is as hardware would have written it.
  void DropCounts() const {
    std::ifstream in(file_, std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(in), {}};
    constexpr size_t kPacketSize = 11;
    size_t dropped = 0;
    for (size_t at = 0; (at = bytes.find("\x02\xc3\x88", at)) != std::string::npos; ++at) {
      uint64_t payload = 0;
      std::memcpy(&payload, &bytes[at + 3], sizeof payload);
      if (payload >> 41 != 0x3b1a5c) continue;
      std::memset(&bytes[at], 0, kPacketSize);
      ++dropped;
    }
    EXPECT_GT(dropped, 1u);
    std::ofstream(file_, std::ios::binary) << bytes;
  }

  ScratchFolder folder_;
  std::string file_ = folder_.File("perf.data");
};

TEST_F(UnprovenRounds, AreProvenByCounts) {
  const json recorded = LastOf(Record({RecordedProgramsFolder() + "/loops", "three"}).out);
  EXPECT_GT(recorded["instructions"], 100'000);
  EXPECT_EQ(recorded["decoded_instructions"], recorded["instructions"]);
  const ProgramResult stack = RunFlowback({"stack", file_});
  EXPECT_FALSE(stack.out.contains("repeats")) << stack.out.substr(0, 1000);
  EXPECT_TRUE(stack.out.contains("\n#10000 "));
}

TEST_F(UnprovenRounds, OfCallsAreSaid) {
  ASSERT_NE(Record({RecordedProgramsFolder() + "/loops", "three"}).status, 125);
  DropCounts();
  const ProgramResult summary = RunFlowback({"decode", "--as", "summary", file_});
  EXPECT_TRUE(summary.err.contains("number of calls not proven")) << summary.err;
  const ProgramResult listed = RunFlowback({"decode", "--as", "events", file_});
  EXPECT_TRUE(listed.out.contains("at least 1 round of the ")) << listed.out;
  const ProgramResult stack = RunFlowback({"stack", file_});
  EXPECT_TRUE(stack.out.contains("      (repeats, count not known)\n#1")) << stack.out;
  const json frames = LastOf(RunFlowback({"stack", "--json", file_}).out)["frames"];
  EXPECT_EQ(frames.front()["repeats"], true);
  EXPECT_EQ(frames.back()["repeats"], false);
}

TEST_F(UnprovenRounds, OfJumpsAreSaid) {
  ASSERT_NE(Record({RecordedProgramsFolder() + "/loops", "round"}).status, 125);
  DropCounts();
  const ProgramResult summary = RunFlowback({"decode", "--as", "summary", file_});
  EXPECT_TRUE(summary.err.contains("number of rounds not proven")) << summary.err;
  EXPECT_FALSE(RunFlowback({"stack", file_}).out.contains("repeats")) << "it calls nothing";
}

TEST_F(UnprovenRounds, ARecordingThatDecodesToLessIsSaid) {
  const std::string program = folder_.File("deletes_itself");
  std::filesystem::copy_file(RecordedProgramsFolder() + "/deletes_itself", program);
  const ProgramResult result = Record({program});
  ASSERT_NE(result.status, 125) << result.err;
  const json recorded = LastOf(result.out);
  EXPECT_LT(recorded["decoded_instructions"], recorded["instructions"]);
  EXPECT_TRUE(result.err.contains("the recording decodes to ")) << result.err;
}

}  // namespace
}  // namespace flowback::test
