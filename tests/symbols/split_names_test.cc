// SPDX-License-Identifier: MIT
// Names of parts and copies of functions, as compilers, linkers and demanglers write them.
#include "replay/symbols/elf/split_names.h"

#include <gtest/gtest.h>

#include <string_view>

namespace flowback::symbols {
namespace {

TEST(SplitNames, CodeThatWasMovedAway) {
  const struct {
    std::string_view name;
    std::string_view whole;
  } cases[] = {
      {"f.cold", "f"},
      {"f.cold.1", "f"},
      {"f.__part.12", "f"},
      {"f.__part.1.cold", "f"},
      {"f.constprop.0.cold", "f.constprop.0"},
      {"f.part.0.cold", "f.part.0"},
      {"_Z1fv.cold", "_Z1fv"},
      {"f(int) [clone .cold]", "f(int)"},
      {"f(int) [clone .__part.3]", "f(int)"},
      {"f(int) [clone .constprop.0] [clone .cold]", "f(int) [clone .constprop.0]"},
      {"f", ""},
      {"f.part.0", ""},
      {"f.resume", ""},
      {"f.constprop.0", ""},
      {"f.1", ""},
      {"f.colder", ""},
      {".cold", ""},
      {"cold", ""},
      {"", ""},
      {".", ""},
      {"f.", ""},
      {"f [clone ]", ""},
  };
  for (const auto& each : cases) EXPECT_EQ(MovedFrom(each.name), each.whole) << each.name;
}

TEST(SplitNames, PartsThatAreCalled) {
  EXPECT_EQ(PartOf("f.part.0"), "f");
  EXPECT_EQ(PartOf("f.part.0.cold"), "f");
  EXPECT_EQ(PartOf("f.cold"), "f");
  EXPECT_EQ(PartOf("_Z6tickeri.resume"), "_Z6tickeri");
  EXPECT_EQ(PartOf("_Z6tickeri.destroy"), "_Z6tickeri");
  EXPECT_EQ(PartOf("f(int) [clone .part.0]"), "f(int)");
  EXPECT_EQ(PartOf("f.isra.0.part.1"), "f.isra.0");
  EXPECT_EQ(PartOf("f.constprop.0"), "");
  EXPECT_EQ(PartOf("f"), "");
}

TEST(SplitNames, CopiesOfAWholeFunction) {
  EXPECT_EQ(WithoutCopyMarks("f.constprop.0"), "f");
  EXPECT_EQ(WithoutCopyMarks("f.isra.0.constprop.1"), "f");
  EXPECT_EQ(WithoutCopyMarks("f.llvm.123456"), "f");
  EXPECT_EQ(WithoutCopyMarks("f.cold"), "f.cold");
  EXPECT_EQ(WithoutCopyMarks("f"), "f");
}

}  // namespace
}  // namespace flowback::symbols
