// SPDX-License-Identifier: MIT
// Every command on every kind of hostile input, in the memory that docs/explanation/bounds.md
// promises: it ends as it should, and before the two minutes after which RunFlowback ends it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "base/sanitized.h"
#include "tests/bounds/hostile_files.h"

namespace flowback::test {
namespace {

const std::vector<std::vector<std::string>> kCommands = {
    {"info"},
    {"info", "--json"},
    {"decode", "--as", "digest"},
    {"decode", "--as", "summary"},
    {"decode", "--as", "packets"},
    {"decode", "--as", "events"},
    {"decode", "--as", "calls"},
    {"decode", "--as", "branches", "--by-time"},
    {"timeline"},
    {"timeline", "--json"},
};

// A thread, or a stream that is nobody's, has a tree, a name and its times there.
constexpr size_t kPerByteOfTimeline = 20;

uint64_t SizeOf(const ScratchFolder& folder) {
  uint64_t size = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path()))
    if (entry.is_regular_file()) size += entry.file_size();
  return size;
}

void ExpectBounded(const HostileKind& kind) {
  // What the threads' heaps reserve of the address space, and do not use, depends on how they meet.
  setenv("MALLOC_ARENA_MAX", "1", 1);
  const ScratchFolder folder;
  const std::vector<std::string> input = kind.make(folder);
  const size_t size = SizeOf(folder);
  for (std::vector<std::string> words : kCommands) {
    const size_t per_byte = kind.per_byte + (words[0] == "timeline" ? kPerByteOfTimeline : 0);
    const size_t memory = kFreeMib + per_byte * size / (1 << 20);
    std::string said;
    for (const std::string& word : words) said += word + " ";
    words.insert(words.end(), input.begin(), input.end());
    words.insert(words.end(), {"--threads", "2", "--no-cache", "-o", "/dev/null"});
    const ProgramResult result = RunFlowback(words, {.memory_mib = memory});
    const bool refused = kind.samples && said.contains(" calls ");
    EXPECT_EQ(result.status, refused ? 1 : kind.status)
        << said << "in " << memory << " MiB: " << result.err;
    EXPECT_FALSE(result.timed_out) << said;
  }
}

class Bound : public testing::TestWithParam<HostileKind> {};

TEST_P(Bound, Holds) {
#if FLOWBACK_SANITIZED
  GTEST_SKIP() << "a sanitizer takes more memory than any bound";
#endif
  ExpectBounded(GetParam());
}

std::string NameOf(const testing::TestParamInfo<HostileKind>& info) { return info.param.name; }

class CallSampleBound : public testing::TestWithParam<HostileKind> {};

TEST_P(CallSampleBound, Holds) {
#if FLOWBACK_SANITIZED
  GTEST_SKIP() << "a sanitizer takes more memory than any bound";
#endif
  const HostileKind& kind = GetParam();
  const ScratchFolder folder;
  const std::vector<std::string> input = kind.make(folder);
  const size_t memory = kFreeMib + kind.per_byte * SizeOf(folder) / (1 << 20);
  for (std::vector<std::string> words : {std::vector<std::string>{"stack", "--all"},
                                         {"stack", "--all", "--json"},
                                         {"stack", "--stitch"},
                                         {"stack", "--paths"},
                                         {"export", "--to", "folded"},
                                         {"info"}}) {
    const std::string said = words.front() + " " + words.back();
    words.insert(words.end(), input.begin(), input.end());
    words.insert(words.end(), {"--threads", "2", "--no-cache", "-o", "/dev/null"});
    const ProgramResult result = RunFlowback(words, {.memory_mib = memory});
    EXPECT_EQ(result.status, 0) << said << " in " << memory << " MiB: " << result.err;
    EXPECT_FALSE(result.timed_out) << said;
  }
}

INSTANTIATE_TEST_SUITE_P(Samples, CallSampleBound, testing::ValuesIn(CallSampleKinds()), NameOf);
INSTANTIATE_TEST_SUITE_P(Records, Bound, testing::ValuesIn(RecordKinds()), NameOf);
INSTANTIATE_TEST_SUITE_P(Traces, Bound, testing::ValuesIn(TraceKinds()), NameOf);

}  // namespace
}  // namespace flowback::test
