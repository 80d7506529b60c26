// SPDX-License-Identifier: MIT
// `export --to perf`. Judge: perf reads the file and shows the same stacks as `--to brstack` has.
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>
#include <string>
#include <vector>

#include "tests/cli/run_program.h"
#include "tests/golden/shared_traces.h"
#include "tests/support/host.h"

namespace flowback::test {
namespace {

class ExportedPerf : public ::testing::Test {
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
  // Functions (`name:count:entries`) and lines (` line: count`) of a profile that AutoFDO's tool
  // wrote. The tool of Debian 12 prints freed memory, also ends of lines, for the name of an
  // inlined function: such lines are left out.
  static std::vector<std::string> CountedIn(const std::string& profile) {
    static const std::regex counted(R"([A-Za-z_]\w*:\d+:\d+| +[\d.]+: \d+( .*)?)");
    std::vector<std::string> lines = Lines(profile);
    std::erase_if(lines, [](const std::string& line) { return !std::regex_match(line, counted); });
    return lines;
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

// Both ways into AutoFDO's own tool give one profile of a program at fixed addresses and of one
// that may be loaded anywhere; in perf.data a range in 64 is missing.
TEST_F(ExportedPerf, AutoFdoMakesTheSameOfBothProfiles) {
  if (RunShell(folder_, "command -v create_llvm_prof").status != 0)
    GTEST_SKIP() << "create_llvm_prof is absent (Debian: autofdo)";
  for (const char* options : {"-no-pie", "-pie -fPIE"}) {
    const ProgramResult made = RunShell(
        folder_, std::string("rm -rf data* perf text a b; " TEST_CC " -O1 -gdwarf-4 ") + options +
                     " -o program " PROFILED "/work.c " PROFILED
                     "/other.c &&"
                     " $F record --engine emulate -o data -- ./program >/dev/null 2>&1 &&"
                     " $F export --to perf -o perf data &&"
                     " $F export --to autofdo --object program -o text data &&"
                     " create_llvm_prof --binary=program --profile=perf --format=text --out=a &&"
                     " create_llvm_prof --binary=program --profile=text --profiler=text"
                     " --format=text --out=b");
    ASSERT_EQ(made.status, 0) << made.err;
    EXPECT_TRUE(ReadFile(folder_.File("a")).starts_with("main:")) << options;
    const std::vector<std::string> of_perf = CountedIn(ReadFile(folder_.File("a")));
    const std::vector<std::string> of_text = CountedIn(ReadFile(folder_.File("b")));
    ASSERT_GT(of_text.size(), 20u) << options;
    ASSERT_EQ(of_perf.size(), of_text.size()) << options;
    const auto count = [](const std::string& line) {
      return std::stod(line.substr(line.find(':') + 1));
    };
    for (size_t i = 1; i < of_text.size(); ++i) {
      if (of_text[i].contains("Step")) continue;  // the count stands elsewhere
      EXPECT_EQ(of_perf[i].substr(0, of_perf[i].find(':')),
                of_text[i].substr(0, of_text[i].find(':')));
    }
    EXPECT_NEAR(count(of_perf[0]), count(of_text[0]), 0.02 * count(of_text[0]));
  }
}

}  // namespace
}  // namespace flowback::test
