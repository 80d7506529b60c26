// SPDX-License-Identifier: MIT
// `export --to perf`. Judge: perf reads the file and shows the same stacks as `--to brstack` has.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/cli/run_program.h"
#include "tests/golden/shared_traces.h"
#include "tests/support/host.h"

namespace flowback::test {
namespace {

class ExportedPerf : public testing::Test {
 protected:
  std::string Export(const char* format, const std::vector<std::string>& input) {
    const std::string file = folder_.File(format);
    std::vector<std::string> words = {"export", "--to", format, "--no-cache", "-o", file};
    words.insert(words.end(), input.begin(), input.end());
    const ProgramResult result = RunFlowback(words);
    EXPECT_EQ(result.status, 0) << result.err;
    return file;
  }
  // Lines of stacks. perf 6.1 ends an entry with a slash and no type.
  static std::vector<std::string> StacksIn(const std::string& text) {
    std::vector<std::string> stacks;
    for (const std::string& line : Lines(text)) {
      std::string stack;
      for (std::string word : Words(line)) {
        if (word.ends_with('/')) word.pop_back();
        stack += word + ' ';
      }
      if (!line.contains("PERF_RECORD_MMAP2")) stacks.push_back(stack);
    }
    return stacks;
  }
  void ExpectSameInPerf(const std::vector<std::string>& input) {
    const std::string ours = Export("brstack", input);
    Export("perf", input);
    const ProgramResult script = RunShell(folder_, "perf script -F ip,brstack -i perf 2>err");
    EXPECT_EQ(script.status, 0) << ReadFile(folder_.File("err"));
    const std::vector<std::string> stacks = StacksIn(ReadFile(ours));
    EXPECT_FALSE(stacks.empty());
    EXPECT_TRUE(StacksIn(script.out) == stacks) << script.out.substr(0, 500);
  }

  ScratchFolder folder_;
};

TEST_F(ExportedPerf, OfBranchStacks) {
  FLOWBACK_NEEDS_TRACES();
  FLOWBACK_NEEDS_HOST(host::Trait::kPerf);
  const auto folder = golden::TracesFolder() / "branch-stack";
  ExpectSameInPerf(
      {folder / "simpleperf-perf_b/perf_b.data", "--image", folder / "simpleperf-perf_b/elf"});
}

TEST_F(ExportedPerf, OfIntelPt) {
  FLOWBACK_NEEDS_TRACES();
  FLOWBACK_NEEDS_HOST(host::Trait::kPerf);
  const auto folder = golden::TracesFolder() / "generated";
  ExpectSameInPerf({folder / "retmix/perf.data", "--symfs", folder / "images"});
}

// Read again it is a recording of branch stacks with the same branches.
TEST_F(ExportedPerf, IsReadBack) {
  FLOWBACK_NEEDS_TRACES();
  const auto folder = golden::TracesFolder() / "generated";
  const std::string images = folder / "images";
  const std::string first = Export("brstack", {folder / "hello/perf.data", "--symfs", images});
  const std::string exported = Export("perf", {folder / "hello/perf.data", "--symfs", images});
  const std::vector<std::string> stacks = StacksIn(ReadFile(first));
  const std::string copy = folder_.File("copy.data");
  std::filesystem::rename(exported, copy);
  EXPECT_EQ(StacksIn(ReadFile(Export("brstack", {copy, "--symfs", images}))), stacks);
}

}  // namespace
}  // namespace flowback::test
