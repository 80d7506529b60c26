// SPDX-License-Identifier: MIT
// `record --engine emulate -b`: branch stacks that have every branch. The same program recorded as
// packets of Intel PT executes the same, by a clock that counts instructions; what was executed the
// recorder has counted, too.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/cli/run_program.h"
#include "tests/support/places.h"

namespace flowback::test {
namespace {

using nlohmann::json;

std::string Program(const std::string& name) { return RecordedProgramsFolder() + "/" + name; }

bool HaveEmulator(const char* name = "qemu-x86_64") {
  return std::system(("command -v " + std::string(name) + " >/dev/null 2>&1").c_str()) == 0;
}

#define FLOWBACK_NEEDS_EMULATOR()                    \
  if (!HaveEmulator() || !HaveEmulator("qemu-i386")) \
  GTEST_SKIP() << "qemu-x86_64 or qemu-i386 is absent: install qemu-user"

class RecordBranches : public ::testing::Test {
 protected:
  // The recorder's own account, from its JSON.
  json Record(const std::string& file, std::vector<std::string> options,
              const std::vector<std::string>& command) const {
    std::vector<std::string> words = {"record", "--engine", "emulate",
                                      "--json", "-o",       folder_.File(file)};
    words.insert(words.end(), options.begin(), options.end());
    words.push_back("--");
    words.insert(words.end(), command.begin(), command.end());
    const ProgramResult result = RunFlowback(words);
    // Behind what the program printed.
    const std::vector<std::string> lines = Lines(result.out);
    const json last = lines.empty() ? json() : json::parse(lines.back(), nullptr, false);
    EXPECT_TRUE(last.is_object()) << result.out << result.err;
    return last;
  }
  std::string Decode(const std::string& file, std::vector<std::string> words) const {
    words.insert(words.end(), {"--no-cache", folder_.File(file)});
    const ProgramResult result = RunFlowback(words);
    EXPECT_EQ(result.status, 0) << file << ' ' << words[0] << result.err;
    return result.out;
  }
  // Count and hash of each thread.
  std::multiset<std::string> Digests(const std::string& file) const {
    std::istringstream lines(Decode(file, {"decode", "--as", "digest"}));
    std::multiset<std::string> digests;
    for (std::string line; std::getline(lines, line);)
      digests.insert(line.substr(line.find(' ') + 1));
    return digests;
  }
  uint64_t InstructionsIn(const std::string& file) const {
    uint64_t sum = 0;
    for (const std::string& digest : Digests(file)) sum += std::stoull(digest);
    return sum;
  }

  ScratchFolder folder_;
};

class SameAsPackets : public RecordBranches, public ::testing::WithParamInterface<const char*> {};

TEST_P(SameAsPackets, DigestsOfAllThreads) {
  FLOWBACK_NEEDS_EMULATOR();
  const std::vector<std::string> command = {Program(GetParam())};
  Record("stacks", {"--clock", "instructions", "-b"}, command);
  Record("packets", {"--clock", "instructions"}, command);
  const std::multiset<std::string> digests = Digests("stacks");
  EXPECT_EQ(digests, Digests("packets"));
  EXPECT_FALSE(digests.empty());
  const json info = json::parse(Decode("stacks", {"info", "--json"}));
  EXPECT_EQ(info["branch_trace"], "branch stacks");
  EXPECT_TRUE(info["losses"].empty()) << info["losses"];
}

// Calls, loops, faults and their handlers, code made at run time, and 32-bit code.
INSTANTIATE_TEST_SUITE_P(Programs, SameAsPackets,
                         ::testing::Values("recursion", "strings", "faults", "fatal", "jit",
                                           "far_calls", "known", "versions", "places", "thirty_two",
                                           "thirty_two_kinds", "thirty_two_spans"),
                         [](const auto& test) { return std::string(test.param); });

class CountedByTheRecorder : public RecordBranches,
                             public ::testing::WithParamInterface<const char*> {};

// Threads, processes and signals, whose order is another each time; and code that changes itself.
TEST_P(CountedByTheRecorder, EachInstruction) {
  FLOWBACK_NEEDS_EMULATOR();
  for (const char* clock : {"host", "instructions"}) {
    const json summary =
        Record("stacks", {"--clock", clock, "-b", "--force"}, {Program(GetParam())});
    ASSERT_TRUE(summary.contains("instructions")) << summary.dump();
    EXPECT_EQ(InstructionsIn("stacks"), summary["instructions"].get<uint64_t>()) << clock;
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, CountedByTheRecorder,
                         ::testing::Values("branches", "threads", "families", "rewrites", "ends",
                                           "signals", "passage"),
                         [](const auto& test) { return std::string(test.param); });

// Tiled stacks are no samples: commands that need the whole flow print the same as for packets.
TEST_F(RecordBranches, AreTakenForTheWholeFlow) {
  FLOWBACK_NEEDS_EMULATOR();
  const std::vector<std::string> command = {Program("recursion")};
  Record("stacks", {"--clock", "instructions", "-b"}, command);
  Record("packets", {"--clock", "instructions"}, command);
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"decode", "--as", "instructions", "-F", "ip,sym"},
                                             {"decode", "--as", "branches", "-F", "comm"},
                                             {"coverage", "--json"}}) {
    const std::string of_stacks = Decode("stacks", words);
    EXPECT_FALSE(of_stacks.contains("# samples")) << words[0];
    EXPECT_FALSE(of_stacks.contains("# unknown")) << words[0];
    if (words[0] == "decode") {
      EXPECT_EQ(of_stacks, Decode("packets", words)) << words[2];
    }
  }
  EXPECT_FALSE(Decode("stacks", {"decode", "--as", "calls"}).empty());
  EXPECT_FALSE(Decode("stacks", {"timeline"}).empty());
  EXPECT_FALSE(Decode("stacks", {"coverage"}).contains("Only samples"));
}

// A stack between two others is gone: what lies between these is not known, and said to be.
TEST_F(RecordBranches, AMissingStackIsNoticed) {
  FLOWBACK_NEEDS_EMULATOR();
  const json summary = Record("stacks", {"-b", "--no-images"}, {Program("recursion")});
  std::string bytes = ReadFile(folder_.File("stacks"));
  // The third sample's record becomes one of a kind that no reader knows. The file's header says
  // where the data begins.
  uint64_t at = 0;
  std::memcpy(&at, &bytes[40], sizeof at);
  for (int samples = 0; samples < 3;) {
    uint16_t size = 0;
    uint32_t type = 0;
    std::memcpy(&type, &bytes[at], 4);
    std::memcpy(&size, &bytes[at + 6], 2);
    ASSERT_NE(size, 0);
    if (type == 9 && ++samples == 3) bytes[at] = 60;
    at += size;
  }
  folder_.Write("cut", bytes);
  const std::string text = Decode("cut", {"decode", "--as", "instructions"});
  EXPECT_TRUE(text.contains("# unknown between")) << text.substr(0, 500);
  EXPECT_LT(InstructionsIn("cut"), summary["instructions"].get<uint64_t>());
}

TEST_F(RecordBranches, PerfReadsThem) {
  FLOWBACK_NEEDS_EMULATOR();
  if (std::system("perf script -h >/dev/null 2>&1; test $? -ne 127") != 0)
    GTEST_SKIP() << "perf is absent";
  Record("stacks", {"-b"}, {Program("recursion")});
  const std::string text = folder_.File("text");
  const std::string command = "perf script -F ip,brstack --show-mmap-events -i " +
                              folder_.File("stacks") + " > " + text + " 2>/dev/null";
  ASSERT_EQ(std::system(command.c_str()), 0);
  std::istringstream told(ReadFile(text));
  uint64_t entries = 0;
  for (std::string line; std::getline(told, line);) {
    if (line.contains("PERF_RECORD_MMAP")) continue;  // has an offset in the file
    for (size_t at = 0; (at = line.find(" 0x", at)) != line.npos; ++at) ++entries;
  }
  const json info = json::parse(Decode("stacks", {"info", "--json"}));
  uint64_t records = 0;
  for (const json& stream : info["streams"]) records += stream["bytes_decoded"].get<uint64_t>();
  EXPECT_EQ(entries, records);
}

// An emulator's cycles are ticks of its clock. Where the recording is written for other programs,
// which take cycles for a processor's, none are written.
TEST_F(RecordBranches, ExportsDoNotTellItsCycles) {
  FLOWBACK_NEEDS_EMULATOR();
  Record("stacks", {"-b", "--no-images"}, {Program("recursion")});
  ASSERT_TRUE(Decode("stacks", {"decode", "--as", "packets"}).contains(" cycles="));
  const std::string text = Decode("stacks", {"export", "--to", "brstack"});
  size_t entries = 0;
  for (const std::string& line : Lines(text)) {
    if (line.starts_with("PERF_RECORD_MMAP2")) continue;
    const std::vector<std::string> words = Words(line);
    for (size_t i = 1; i < words.size(); ++i, ++entries)
      ASSERT_TRUE(words[i].ends_with("/-/-/-/0")) << words[i];
  }
  EXPECT_GT(entries, 500u);
  Decode("stacks", {"export", "--to", "perf", "-o", folder_.File("perf")});
  const std::string packets = Decode("perf", {"decode", "--as", "packets"});
  EXPECT_TRUE(packets.contains(" -> "));
  EXPECT_FALSE(packets.contains(" cycles="));
}

TEST_F(RecordBranches, WhatDoesNotGoTogetherIsRefused) {
  const std::vector<std::vector<std::string>> cases = {
      {"--engine", "step", "-b"},
      {"--engine", "emulate", "-b", "-S"},
      {"--engine", "emulate", "-b", "--per-cpu"},
      {"--engine", "emulate", "-b", "--raw-dir", folder_.File("raw")},
      {"--engine", "emulate", "-j", "any_call,u"}};
  for (std::vector<std::string> words : cases) {
    words.insert(words.begin(), "record");
    words.insert(words.end(), {"-o", folder_.File("none"), "--", "true"});
    const ProgramResult result = RunFlowback(words);
    EXPECT_NE(result.status, 0) << words[2] << words[3];
    EXPECT_TRUE(result.err.contains("\n  try: ")) << result.err;
  }
}

}  // namespace
}  // namespace flowback::test
