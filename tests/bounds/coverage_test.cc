// SPDX-License-Identifier: MIT
// Part files of coverage that are the worst of their kind, in the memory that
// docs/explanation/bounds.md promises.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "base/sanitized.h"
#include "replay/coverage/coverage_parts.h"
#include "tests/bounds/hostile_files.h"

namespace flowback::test {
namespace {

ObjectCounts Named(const std::string& path) {
  ObjectCounts object;
  object.id.path = path;
  return object;
}

struct PartKind {
  const char* name;
  size_t per_byte;
  std::function<void(CoverageCounts& counts)> fill;
};

constexpr size_t kMany = 1'000'000;

void FillObjects(CoverageCounts& counts) {
  for (size_t i = 0; i < kMany / 4; ++i) {
    ObjectCounts& object = counts.objects.emplace_back(Named("x"));
    object.id.checksum = i + 1;
  }
}

// In each object a few of everything, so that small lists cost most.
void FillSmallLists(CoverageCounts& counts) {
  for (size_t i = 0; i < kMany / 8; ++i) {
    ObjectCounts& object = counts.objects.emplace_back(Named("x"));
    object.id.checksum = i + 1;
    object.instructions = {{1, 1, 1}};
    object.branches = {{1, 1, 0}};
    object.targets = {{1, InstructionClass::kCall, TargetCount::kNoObject, 1, 1}};
    object.losses = {{"a", 1}};
  }
  counts.instructions = kMany / 8;
}

void FillInstructions(CoverageCounts& counts) {
  ObjectCounts& object = counts.objects.emplace_back(Named("x"));
  for (uint64_t i = 0; i < 4 * kMany; ++i) object.instructions.push_back({i, 1, 1});
  counts.instructions = 4 * kMany;
}

void FillBranches(CoverageCounts& counts) {
  ObjectCounts& object = counts.objects.emplace_back(Named("x"));
  for (uint64_t i = 0; i < 4 * kMany; ++i) object.branches.push_back({i, 1, 0});
}

void FillTargets(CoverageCounts& counts) {
  ObjectCounts& object = counts.objects.emplace_back(Named("x"));
  for (uint64_t i = 0; i < 4 * kMany; ++i)
    object.targets.push_back({i, InstructionClass::kCall, TargetCount::kNoObject, i, 1});
}

void FillLosses(CoverageCounts& counts) {
  ObjectCounts& object = counts.objects.emplace_back(Named("x"));
  for (size_t i = 0; i < kMany; ++i) object.losses.emplace(std::to_string(i), 1);
}

const PartKind kKinds[] = {
    {"Objects", 90, FillObjects},           {"SmallLists", 70, FillSmallLists},
    {"Instructions", 18, FillInstructions}, {"Branches", 18, FillBranches},
    {"Targets", 20, FillTargets},           {"Losses", 21, FillLosses},
};

class PartBound : public testing::TestWithParam<PartKind> {};

TEST_P(PartBound, Holds) {
#if FLOWBACK_SANITIZED
  GTEST_SKIP() << "a sanitizer takes more memory than any bound";
#endif
  setenv("MALLOC_ARENA_MAX", "1", 1);
  const ScratchFolder folder;
  CoverageCounts counts;
  counts.recordings = 1;
  GetParam().fill(counts);
  const std::vector<uint8_t> bytes = PartToBytes(counts);
  const std::string part = folder.Write("a.part", {bytes.begin(), bytes.end()});
  const std::string sum = folder.File("sum.part");
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"merge", "-o", sum, part, part},
           {"coverage", part, part, "--no-cache", "--json", "-o", "/dev/null"},
           {"coverage", part, "--baseline", part, "--no-cache", "-o", "/dev/null"}}) {
    const size_t memory = kFreeMib + GetParam().per_byte * bytes.size() / (1 << 20);
    const ProgramResult result = RunFlowback(words, {.memory_mib = memory});
    EXPECT_EQ(result.status, 0) << words[0] << " in " << memory << " MiB: " << result.err;
    EXPECT_FALSE(result.timed_out) << words[0];
  }
}

INSTANTIATE_TEST_SUITE_P(Parts, PartBound, testing::ValuesIn(kKinds),
                         [](const auto& part) { return std::string(part.param.name); });

}  // namespace
}  // namespace flowback::test
