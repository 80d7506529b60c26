// SPDX-License-Identifier: MIT
// Functions by name, in files as compilers write them and in damaged ones.
#include "capture/record/watch/function_name.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "tests/capture/temporary_file.h"
#include "tests/record/recorded.h"

namespace flowback::record {
namespace {

TEST(ParseFunctionName, UnderstandsFiles) {
  EXPECT_EQ(ParseFunctionName("main"), (FunctionName{"main", ""}));
  EXPECT_EQ(ParseFunctionName("ns::f(int)"), (FunctionName{"ns::f(int)", ""}));
  EXPECT_EQ(ParseFunctionName("deflate@libz.so.1"), (FunctionName{"deflate", "libz.so.1"}));
  EXPECT_EQ(ParseFunctionName("/lib/libz.so.1:deflate"),
            (FunctionName{"deflate", "/lib/libz.so.1"}));
  EXPECT_EQ(ParseFunctionName("a.out:ns::f"), (FunctionName{"ns::f", "a.out"}));
  for (const char* wrong : {"", "@libz", "f@", ":f", "a.out:"})
    EXPECT_FALSE(ParseFunctionName(wrong)) << wrong;
  EXPECT_EQ(ToText({"f", "libz"}), "f@libz");
}

TEST(FunctionNameTest, AFileIsNamedByItsPathOrItsLastPart) {
  const std::string path = "/usr/lib/libz.so.1.2.13";
  for (const char* file :
       {"", "libz", "libz.so", "libz.so.1", "libz.so.1.2.13", "/usr/lib/libz.so.1.2.13"})
    EXPECT_TRUE((FunctionName{"f", file}.MayBeIn(path))) << file;
  for (const char* file : {"lib", "z", "libz.so.1.2.1", "lib/libz.so.1.2.13", "/usr/lib/libz"})
    EXPECT_FALSE((FunctionName{"f", file}.MayBeIn(path))) << file;
}

TEST(FindFunctionTest, FindsWhatTheLinkerNamed) {
  const std::string program = record_test::Program("known");
  const FunctionPlaces places = FindFunction(program, "_start");
  ASSERT_EQ(places.offsets.size(), 1u);
  EXPECT_FALSE(places.indirect);
  EXPECT_TRUE(FindFunction(program, "no_such_function").offsets.empty());
  EXPECT_TRUE(FindFunction("/no/such/file", "_start").offsets.empty());
  EXPECT_TRUE(FindFunction("/proc/self/status", "_start").offsets.empty());
}

TEST(FindFunctionTest, FindsFunctionsOfThirtyTwoBitFiles) {
  const std::string program = record_test::Program("thirty_two_spans");
  const FunctionPlaces first = FindFunction(program, "first");
  const FunctionPlaces second = FindFunction(program, "second");
  ASSERT_EQ(first.offsets.size(), 1u);
  ASSERT_EQ(second.offsets.size(), 1u);
  EXPECT_EQ(second.offsets[0], first.offsets[0] + 2);  // INC, RET
  EXPECT_EQ(FindFunction(program, "*").offsets.size(), 4u);
}

TEST(FindFunctionTest, FindsCxxByEitherName) {
  const std::string program = record_test::Sample("exceptions");
  for (const char* name : {"main", "_ZSt9terminatev", "std::terminate()", "std::terminate"})
    EXPECT_EQ(FindFunction(program, name).offsets.size(), 1u) << name;
  EXPECT_EQ(FindFunction(program, "std::terminate").offsets,
            FindFunction(program, "_ZSt9terminatev").offsets);
  EXPECT_TRUE(FindFunction(program, "terminate").offsets.empty());
}

TEST(FindFunctionTest, AnonymousNamespacesNeedNotBeWritten) {
  const std::string program = record_test::Sample("exceptions");
  const FunctionPlaces whole = FindFunction(program, "(anonymous namespace)::Descend");
  ASSERT_EQ(whole.offsets.size(), 1u) << "not the part that the compiler moved away";
  for (const char* name : {"Descend", "Descend(int)"})
    EXPECT_EQ(FindFunction(program, name).offsets, whole.offsets) << name;
}

TEST(FindFunctionTest, TellsOfFunctionsChosenAtRunTime) {
  const FunctionPlaces places = FindFunction(record_test::Sample("exceptions"), "memcpy");
  EXPECT_TRUE(places.indirect);
  EXPECT_TRUE(places.offsets.empty());
}

// Whatever the bytes are: no crash, and offsets inside the file.
class FindFunctionIn : public testing::TestWithParam<const char*> {};

TEST_P(FindFunctionIn, SurvivesDamage) {
  std::ifstream file(record_test::Program(GetParam()), std::ios::binary);
  const std::vector<uint8_t> good{std::istreambuf_iterator<char>(file), {}};
  support::TemporaryFolder folder;
  uint32_t random = 1;
  for (int i = 0; i < 300; ++i) {
    std::vector<uint8_t> bad = good;
    for (int j = 0; j < 8; ++j) {
      random = random * 1664525 + 1013904223;
      // The headers, the tables' descriptions at the end, or anywhere.
      const size_t range = j % 2 == 0 ? 256 : bad.size();
      bad[j % 4 < 2 ? (random >> 8) % range : bad.size() - 1 - (random >> 8) % range] =
          static_cast<uint8_t>(random);
    }
    if (i % 3 == 0) bad.resize((random >> 4) % bad.size());
    const std::string path = folder.Write("bad", bad);
    for (const uint64_t offset : FindFunction(path, "_start").offsets)
      EXPECT_LE(offset, uint64_t{1} << 63);
  }
}

INSTANTIATE_TEST_SUITE_P(, FindFunctionIn, testing::Values("known", "thirty_two_spans"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace flowback::record
