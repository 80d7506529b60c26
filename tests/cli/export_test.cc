// SPDX-License-Identifier: MIT
// Profiles for compilers and linkers, held against those that LLVM's own tools make of the same
// numbers, and put to the use that they are for.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "tests/cli/run_program.h"

namespace flowback::test {
namespace {

using nlohmann::json;

bool Shell(const std::string& command) {
  return std::system(("(" + command + ") > /dev/null 2>&1").c_str()) == 0;
}

bool Have(const std::string& program) { return Shell("command -v " + program); }

class ExportTest : public ::testing::Test {
 protected:
  bool BuildSplit(const std::string& options, const std::string& name) {
    const std::string compiler = TEST_CLANG;
    return !compiler.empty() && Shell("cd " PROFILED " && " + compiler + " -O2 " + options +
                                      " -o " + folder_.File(name) + " split_one.c split_two.c");
  }
  // False: this machine can't.
  bool Build(const std::string& compiler, const std::string& options, const std::string& name) {
    return !compiler.empty() && Shell("cd " PROFILED " && " + compiler + " -O2 " + options +
                                      " -o " + folder_.File(name) + " work.c other.c");
  }
  void Record(const std::string& program) {
    const ProgramResult result =
        RunFlowback({"record", "-o", folder_.File(program + ".data"), "--", folder_.File(program)});
    ASSERT_EQ(result.status, 0) << result.err;
  }
  // Exports a profile of the recorded program.
  std::string Export(const std::string& format, const std::string& program) {
    const std::string file = folder_.File(program + "." + format);
    const ProgramResult result =
        RunFlowback({"export", "--to", format, "--object", program, "--no-cache", "-o", file,
                     folder_.File(program + ".data")});
    EXPECT_EQ(result.status, 0) << result.err;
    return file;
  }
  json Totals(const std::string& program) {
    const ProgramResult result = RunFlowback(
        {"decode", "--as", "summary", "--json", "--no-cache", folder_.File(program + ".data")});
    return json::parse(Lines(result.out).back());
  }

  ScratchFolder folder_;
};

std::set<std::string> SetOf(const std::string& file) {
  const std::vector<std::string> lines = Lines(ReadFile(file));
  return {lines.begin(), lines.end()};
}

// Returns whether the line belongs to a stub, which nothing rewrites.
bool IsFromStub(const std::string& line) {
  const std::string name = Words(line).at(1);
  return name.ends_with("@PLT") || name.starts_with("__BOLT_PSEUDO");
}

TEST_F(ExportTest, FunctionsAreThoseOfPerf2bolt) {
  if (!Have(PERF2BOLT)) GTEST_SKIP() << "perf2bolt is not here";
  if (!Build(TEST_CC, "-Wl,--emit-relocs", "program")) GTEST_SKIP() << "no C compiler";
  ASSERT_NO_FATAL_FAILURE(Record("program"));
  const std::string branches = Export("bolt-preagg", "program");
  ASSERT_TRUE(Shell(PERF2BOLT " -pa -p " + branches + " -o " + folder_.File("theirs") + " " +
                    folder_.File("program")));
  std::set<std::string> theirs = SetOf(folder_.File("theirs"));
  std::erase_if(theirs, IsFromStub);
  const std::set<std::string> ours = SetOf(Export("bolt", "program"));
  EXPECT_EQ(ours, theirs);
  EXPECT_GT(ours.size(), 40u);
  size_t of_one_name = 0;
  for (const std::string& line : ours)
    of_one_name += line.contains(" twice/1 ") || line.contains(" twice/2 ") ? 1 : 0;
  EXPECT_GE(of_one_name, 4u) << "two files have a function of that name";
}

TEST_F(ExportTest, WithoutSymbolsThereAreNoFunctions) {
  if (!Build(TEST_CC, "-s", "program")) GTEST_SKIP() << "no C compiler";
  ASSERT_NO_FATAL_FAILURE(Record("program"));
  for (const std::string format : {"bolt", "llvm-profile"}) {
    const ProgramResult result = RunFlowback({"export", "--to", format, "--object", "program",
                                              "--no-cache", folder_.File("program.data")});
    EXPECT_EQ(result.status, 1) << format;
    EXPECT_TRUE(result.err.contains(format == "bolt" ? "has no table of symbols"
                                                     : "has no debug information"))
        << result.err;
    EXPECT_TRUE(result.err.contains("\n  try: ")) << result.err;
    EXPECT_EQ(result.out, "");
  }
}

// What llvm-profgen has with 0 times more than we do is padding, which it takes for code.
TEST_F(ExportTest, LinesAreThoseOfLlvmProfgen) {
  if (!Have("llvm-profgen-19")) GTEST_SKIP() << "llvm-profgen-19 is not here";
  const std::string debug = "-gline-tables-only -fdebug-info-for-profiling";
  if (!Build(TEST_CLANG, debug, "program")) GTEST_SKIP() << "no clang";
  ASSERT_NO_FATAL_FAILURE(Record("program"));
  const std::string raw = Export("llvm-raw", "program");
  ASSERT_TRUE(Shell("llvm-profgen-19 --format=text --binary=" + folder_.File("program") +
                    " --unsymbolized-profile=" + raw + " --output=" + folder_.File("theirs")));
  std::vector<std::string> theirs = Lines(ReadFile(folder_.File("theirs")));
  std::vector<std::string> ours = Lines(ReadFile(Export("llvm-profile", "program")));
  const auto never = [](const std::string& line) { return line.ends_with(": 0"); };
  std::erase_if(theirs, never);
  std::erase_if(ours, never);
  EXPECT_EQ(ours, theirs);
  EXPECT_GT(ours.size(), 25u);
}

constexpr const char* kLinesForProfiles = "-gline-tables-only -fdebug-info-for-profiling ";

// Returns the profile's head samples of a function; -1: it has none of that name.
int HeadSamples(const std::vector<std::string>& profile, const std::string& function) {
  for (const std::string& line : profile)
    if (line.starts_with(function + ":")) return std::stoi(line.substr(line.rfind(':') + 1));
  return -1;
}

// A jump to code that was moved away is no call, and no function of that code's name is in the
// profile.
TEST_F(ExportTest, PartsOfFunctionsAreNotCalled) {
  const std::string options = std::string(kLinesForProfiles) + "-fbasic-block-sections=all";
  if (!BuildSplit(options, "split")) GTEST_SKIP() << "no clang";
  ASSERT_NO_FATAL_FAILURE(Record("split"));
  const std::string profile = Export("llvm-profile", "split");
  const std::vector<std::string> ours = Lines(ReadFile(profile));
  EXPECT_EQ(HeadSamples(ours, "pick"), 200) << ReadFile(profile);
  EXPECT_EQ(HeadSamples(ours, "other_pick"), 100) << ReadFile(profile);
  EXPECT_FALSE(ReadFile(profile).contains("__part"));
  size_t calls_of_pick = 0;
  for (const std::string& line : ours) calls_of_pick += line.contains(" pick:") ? 1 : 0;
  EXPECT_EQ(calls_of_pick, 2u) << "in main and in other_pick";
}

TEST_F(ExportTest, SplitFunctionsAreThoseOfLlvmProfgen) {
  if (!Have("llvm-profgen-19")) GTEST_SKIP() << "llvm-profgen-19 is not here";
  const std::string options = std::string(kLinesForProfiles) + "-fbasic-block-sections=all";
  if (!BuildSplit(options, "split")) GTEST_SKIP() << "no clang";
  ASSERT_NO_FATAL_FAILURE(Record("split"));
  ASSERT_TRUE(Shell("llvm-profgen-19 --format=text --binary=" + folder_.File("split") +
                    " --unsymbolized-profile=" + Export("llvm-raw", "split") +
                    " --output=" + folder_.File("theirs")));
  std::vector<std::string> theirs = Lines(ReadFile(folder_.File("theirs")));
  std::vector<std::string> ours = Lines(ReadFile(Export("llvm-profile", "split")));
  const auto never = [](const std::string& line) { return line.ends_with(": 0"); };
  std::erase_if(theirs, never);
  std::erase_if(ours, never);
  EXPECT_EQ(ours, theirs);
}

TEST_F(ExportTest, AProfileByLinesOfAProgramWithProbesSaysSo) {
  const std::string options = std::string(kLinesForProfiles) + "-fpseudo-probe-for-profiling";
  if (!BuildSplit(options, "probes")) GTEST_SKIP() << "no clang";
  ASSERT_NO_FATAL_FAILURE(Record("probes"));
  const ProgramResult result = RunFlowback({"export", "--to", "llvm-profile", "--object", "probes",
                                            "--no-cache", folder_.File("probes.data")});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_TRUE(result.err.contains("-fpseudo-probe-for-profiling")) << result.err;
}

// The same stacks, once with the mappings of the libraries and once without.
TEST_F(ExportTest, RangesBeginBehindCodeWithoutAnImage) {
  if (!Build(TEST_CC, "-g", "program")) GTEST_SKIP() << "no C compiler";
  ASSERT_NO_FATAL_FAILURE(Record("program"));
  const std::string known = folder_.File("known.txt");
  ASSERT_EQ(RunFlowback({"export", "--to", "brstack", "--no-cache", "-o", known,
                         folder_.File("program.data")})
                .status,
            0);
  std::string rest;
  for (const std::string& line : Lines(ReadFile(known)))
    if (!line.contains("PERF_RECORD_MMAP") || line.ends_with("/program")) rest += line + '\n';
  std::ofstream(folder_.File("rest.txt")) << rest;
  // A stack's newest branch may lead into the program, and no code is known to run behind it: if it
  // came from a library, it is in no sum. So these lines differ.
  const auto comes_from_outside = [](const std::string& line) {
    return line.starts_with("0 [unknown]") || line.starts_with("fffff") ||
           (!line.starts_with(' ') && line.find(':') != line.rfind(':'));
  };
  for (const std::string format : {"autofdo", "llvm-raw", "llvm-profile", "bolt"}) {
    const auto of = [&](const std::string& text) {
      std::vector<std::string> lines = Lines(
          RunFlowback({"export", "--to", format, "--object", "program", "--no-cache", text}).out);
      std::erase_if(lines, comes_from_outside);
      return lines;
    };
    EXPECT_EQ(of(known), of(folder_.File("rest.txt"))) << format;
    EXPECT_GT(of(known).size(), 25u) << format;
  }
}

// The names and line numbers of the profile fit: what clang knows to be hot it inlines.
TEST_F(ExportTest, ClangMakesTheProgramFasterByTheProfile) {
  const std::string debug = "-gline-tables-only -fdebug-info-for-profiling ";
  if (!Build(TEST_CLANG, debug, "before")) GTEST_SKIP() << "no clang";
  ASSERT_NO_FATAL_FAILURE(Record("before"));
  const std::string profile = Export("llvm-profile", "before");
  ASSERT_TRUE(Build(TEST_CLANG, debug + "-fprofile-sample-use=" + profile, "after"));
  ASSERT_NO_FATAL_FAILURE(Record("after"));
  const uint64_t before = Totals("before")["instructions"], after = Totals("after")["instructions"];
  EXPECT_LT(after, before);
  RecordProperty("before", std::to_string(before));
  RecordProperty("after", std::to_string(after));
}

TEST_F(ExportTest, BoltMakesFewerBranchesOfTheProgram) {
  if (!Have("llvm-bolt-19")) GTEST_SKIP() << "llvm-bolt-19 is not here";
  if (!Build(TEST_CC, "-Wl,--emit-relocs", "before")) GTEST_SKIP() << "no C compiler";
  ASSERT_NO_FATAL_FAILURE(Record("before"));
  const std::string profile = Export("bolt", "before");
  ASSERT_TRUE(Shell("llvm-bolt-19 " + folder_.File("before") + " -o " + folder_.File("after") +
                    " -data=" + profile + " -reorder-blocks=ext-tsp -split-functions"));
  ASSERT_NO_FATAL_FAILURE(Record("after"));
  const json before = Totals("before"), after = Totals("after");
  // The loader relocates a few words more.
  EXPECT_LE(after["instructions"].get<uint64_t>(), before["instructions"].get<uint64_t>() * 1.002);
  EXPECT_LT(after["taken"].get<uint64_t>(), before["taken"].get<uint64_t>());
  RecordProperty("taken_before", before["taken"].dump());
  RecordProperty("taken_after", after["taken"].dump());
}

}  // namespace
}  // namespace flowback::test
