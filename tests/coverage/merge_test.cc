// SPDX-License-Identifier: MIT
// `flowback merge`: sums of part files, however many and in whatever order.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "replay/coverage/coverage_parts.h"
#include "tests/cli/run_program.h"
#include "tests/coverage/random_counts.h"

namespace flowback::testing {
namespace {

std::string PartText(const CoverageCounts& counts) {
  const std::vector<uint8_t> bytes = PartToBytes(counts);
  return {bytes.begin(), bytes.end()};
}

std::vector<std::string> WriteParts(const test::ScratchFolder& folder, uint64_t count) {
  std::vector<std::string> files;
  for (uint64_t seed = 0; seed < count; ++seed)
    files.push_back(folder.Write("p" + std::to_string(seed), PartText(RandomCounts(seed))));
  return files;
}

TEST(Merge, IsTheSameFileInAnyOrderAndGroups) {
  const test::ScratchFolder folder;
  const std::vector<std::string> parts = WriteParts(folder, 4);
  const std::string all = folder.File("all");
  EXPECT_EQ(test::RunFlowback({"merge", "-o", all, parts[0], parts[1], parts[2], parts[3]}).status,
            0);
  const std::string half = folder.File("half");
  EXPECT_EQ(test::RunFlowback({"merge", "-o", half, parts[3], parts[1]}).status, 0);
  const std::string list = folder.Write("list", parts[2] + "\n\n" + half + "\n");
  // The output may be one of the parts.
  const test::ProgramResult last =
      test::RunFlowback({"merge", "--json", "-o", half, "@" + list, "--from-list",
                         folder.Write("more", parts[0] + "\n")});
  EXPECT_EQ(last.status, 0) << last.err;
  EXPECT_TRUE(last.out.starts_with(R"({"schema":"flowback.merge/1","parts":3,"recordings":)"))
      << last.out;
  EXPECT_TRUE(test::ReadFile(half) == test::ReadFile(all));
  CoverageCounts sum;
  for (uint64_t seed = 0; seed < 4; ++seed) sum.Add(RandomCounts(seed));
  EXPECT_TRUE(test::ReadFile(all) == PartText(sum));
}

TEST(Merge, TakesTenThousandPartsInTheMemoryOfTheSum) {
  const test::ScratchFolder folder;
  CoverageCounts large;
  large.objects.resize(1);
  large.objects[0].id = {.path = "/lib/large", .build_id = {{1}}};
  for (uint64_t i = 0; i < 5'000; ++i) large.objects[0].instructions.push_back({4 * i, 1, 4});
  large.instructions = 5'000;
  large.recordings = 1;
  std::string list;
  for (int i = 0; i < 10'000; ++i) list += folder.File("large") + "\n";
  folder.Write("large", PartText(large));
  const std::string sum = folder.File("sum");
  // All of them together are 180 MB.
  const test::ProgramResult done = test::RunFlowback(
      {"merge", "-o", sum, "@" + folder.Write("list", list)}, {.memory_mib = 100});
  EXPECT_EQ(done.status, 0) << done.err;
  const Result<CoverageCounts> counts = ReadPart(sum);
  ASSERT_TRUE(counts);
  EXPECT_EQ(counts->recordings, 10'000u);
  EXPECT_EQ(counts->objects[0].instructions.size(), 5'000u);
  EXPECT_EQ(counts->objects[0].instructions[7].times, 10'000u);
}

TEST(Merge, WritesNothingWhereAPartIsBad) {
  const test::ScratchFolder folder;
  const std::vector<std::string> parts = WriteParts(folder, 2);
  const std::string cut =
      folder.Write("cut", test::ReadFile(parts[1]).substr(0, test::ReadFile(parts[1]).size() - 1));
  const test::ProgramResult bad =
      test::RunFlowback({"merge", "-o", folder.File("sum"), parts[0], cut});
  EXPECT_EQ(bad.status, 8);
  EXPECT_TRUE(bad.err.contains("cut or damaged")) << bad.err;
  EXPECT_EQ(test::ReadFile(folder.File("sum")), "");
  EXPECT_EQ(test::RunFlowback({"merge", "-o", folder.File("sum")}).status, 2);
  EXPECT_EQ(test::RunFlowback({"merge", parts[0]}).status, 2);
  EXPECT_EQ(test::RunFlowback({"merge", "--json", "-o", "-", parts[0]}).status, 2);
  const test::ProgramResult out = test::RunFlowback({"merge", "-o", "-", parts[0]});
  EXPECT_TRUE(out.out == test::ReadFile(parts[0]));
}

}  // namespace
}  // namespace flowback::testing
