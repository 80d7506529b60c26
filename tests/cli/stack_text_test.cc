// SPDX-License-Identifier: MIT
// Text of branch stacks in programs that are made here, through the commands.
#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/cli/run_program.h"
#include "tests/cli/stack_account.h"
#include "tests/support/elf_writer.h"

namespace flowback::test {
namespace {

using nlohmann::json;

// Text of stacks in programs that are made here.
class StackText : public ::testing::Test {
 protected:
  static constexpr uint64_t kBegin = 0x401000;

  // Its code is at kBegin, where its mapping puts it.
  std::string Program(const std::string& path, std::vector<uint8_t> code) {
    code.resize(0x1000, 0x90);
    ElfSpec spec;
    spec.segments.emplace_back().address = kBegin;
    spec.segments.back().bytes = code;
    const WrittenElf elf = WriteElf(spec);
    WriteFile(folder_.File("root" + path), elf.bytes);
    char offset[32];
    std::snprintf(offset, sizeof offset, "%llx",
                  static_cast<unsigned long long>(elf.segment_offsets[0]));
    return "PERF_RECORD_MMAP2 42/42: [0x401000(0x1000) @ 0x" + std::string(offset) +
           " 00:00 0 0]: r-xp " + path + "\n";
  }
  ProgramResult Run(std::vector<std::string> words, const std::string& text) const {
    const std::string input = folder_.Write("stacks.txt", text);
    words.insert(words.end(), {"--no-cache", "--symfs", folder_.File("root"), input});
    return RunFlowback(words);
  }
  std::map<std::string, uint64_t> Account(const std::string& text) const {
    return AccountOf(json::parse(Run({"info", "--json"}, text).out));
  }

  const std::vector<uint8_t> to_itself_ = {0xeb, 0xfe};
  const std::string stack_ = " 401000 0x401000/0x401000/P/-/-/7 \n";
  ScratchFolder folder_;
};

// A mapping holds from its line on; there are no other times.
TEST_F(StackText, MappingsHoldForTheStacksBehindThem) {
  const std::string first = Program("/first", to_itself_);
  const std::string second = Program("/sec ond", {0x90, 0x90});
  const std::string text = first + stack_ + second;
  EXPECT_EQ(Account(text), (std::map<std::string, uint64_t>{{"decoded", 1}, {"lost", 0}}));
  EXPECT_EQ(Account(text + stack_)["lost"], 1u);
  EXPECT_EQ(Account(second + stack_ + first + stack_)["decoded"], 1u);
  const std::string info = Run({"info"}, text + stack_).out;
  EXPECT_FALSE(info.contains("TSC ticks") || info.contains("tsc:")) << info;
}

TEST_F(StackText, PathsWithSpacesAreReadAndWrittenBack) {
  const std::string text = Program("/my files/the  program", to_itself_) + stack_;
  EXPECT_EQ(Account(text)["decoded"], 1u);
  const std::string written = Run({"export", "--to", "brstack"}, text).out;
  EXPECT_TRUE(written.contains("r-xp /my files/the  program\n")) << written;
  EXPECT_EQ(Account(written)["decoded"], 1u);
}

// Another name would be another file.
TEST_F(StackText, NamesThatTheTextCanNotHaveAreLeftOutAndSaid) {
  const std::string text = Program("/a\tb", to_itself_) + stack_;
  EXPECT_EQ(Account(text)["decoded"], 1u);
  const ProgramResult written = Run({"export", "--to", "brstack"}, text);
  EXPECT_FALSE(written.out.contains("PERF_RECORD_MMAP2")) << written.out;
  EXPECT_TRUE(written.err.contains("the mapping of /a\\tb is left out")) << written.err;
}

// A branch led there from code that is not at hand, in the middle of a stack and at its begin.
TEST_F(StackText, ARangeBeginsWhereABranchFromUnknownCodeLed) {
  const std::string map = Program("/program", {0x90, 0xeb, 0xfe});  // nop; jmp to itself
  for (const std::string source : {"0x700000", "0x0", "0xffffffff81000000"}) {
    const std::string oldest = " " + source + "/0x401000/P/-/-/0";
    const std::string stacks = " 401001 0x401001/0x401001/P/-/-/0" + oldest + "\n" +
                               " 401001 0x401001/0x401001/P/-/-/0" + oldest +
                               " 0x401001/0x700000/P/-/-/0\n";
    const ProgramResult result =
        Run({"export", "--to", "bolt-preagg", "--object", "/program"}, map + stacks);
    EXPECT_TRUE(result.out.contains("F 401000 401001 2\n")) << source << '\n' << result.out;
    EXPECT_TRUE(result.out.contains("B X:0 401000 2 0\n")) << source << '\n' << result.out;
  }
}

// perf 6.15 marks them with N. They are no branches that were taken, and control goes on behind.
TEST_F(StackText, BranchesThatWereNotTaken) {
  const std::string map = Program("/program", {0x90, 0x75, 0xfd, 0xeb, 0xfe});  // nop; jne; jmp
  const std::string stacks =
      " 401001 0x401003/0x401003/P/-/-/0 0x401001/0x401003/PN/-/-/0 0x0/0x401000/P/-/-/0\n"
      " 401001 0x401001/0x401000/MN/-/-/0/COND/-\n";
  const std::string text = map + stacks;
  EXPECT_EQ(Account(text), (std::map<std::string, uint64_t>{{"decoded", 4}, {"lost", 0}}));
  json branch;
  for (const std::string& line : Lines(Run({"branches", "--json"}, text).out))
    if (const json each = json::parse(line); each.contains("ip") && each["ip"] == "401001")
      branch = each;
  ASSERT_FALSE(branch.is_null());
  EXPECT_EQ(branch["taken"], 0);
  EXPECT_EQ(branch["not_taken"], 2);
  EXPECT_EQ(branch["right"], 1);
  EXPECT_EQ(branch["wrong"], 1);
  const std::string instructions = Run({"decode", "--as", "instructions", "-F", "ip"}, text).out;
  EXPECT_TRUE(instructions.contains("401000\n401001\n401003\n")) << instructions;
}

// LLVM's tools write equal samples once, behind their number.
TEST_F(StackText, CountsOfSamples) {
  const std::string map = Program("/program", {0x90, 0xeb, 0xfe});
  const std::string stack = " 0x401001/0x401001/P/-/-/0 0x401001/0x401001/P/-/-/0\n";
  EXPECT_EQ(Account(map + "1000\n" + stack + stack)["decoded"], 2002u);
  const ProgramResult result =
      Run({"export", "--to", "bolt-preagg", "--object", "/program"}, map + "1000\n" + stack);
  EXPECT_TRUE(result.out.contains("B 401001 401001 2000 0\n")) << result.out;
}

// Each stack has one branch: cycles are known, and no line of code is.
TEST_F(StackText, CyclesOfNoKnownLineAreSaidToBeRecorded) {
  const std::string map = Program("/program", to_itself_);
  const std::string known = Run({"branches"}, map + stack_).out;
  EXPECT_TRUE(known.contains("Cycles between branches are recorded of no line")) << known;
  const std::string untold = Run({"branches"}, map + " 1 0x401000/0x401000/P/-/-/0 \n").out;
  EXPECT_TRUE(untold.contains("Cycles between branches are not recorded.")) << untold;
}

}  // namespace
}  // namespace flowback::test
