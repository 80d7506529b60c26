// SPDX-License-Identifier: MIT
// Names of core dumps, as in core(5).
#include "capture/record/target/core_pattern.h"

#include <gtest/gtest.h>

namespace flowback::record {
namespace {

const CoreFacts kFacts{.pid = 12,
                       .tid = 34,
                       .uid = 56,
                       .gid = 78,
                       .signal = 11,
                       .cpu = 3,
                       .size_limit = 4096,
                       .time = 1700000000,
                       .host = "box",
                       .comm = "a/b",
                       .program = "/usr/bin/prog"};

std::string Name(const std::string& text, bool uses_pid = false) {
  return CoreFileName({text, uses_pid}, kFacts);
}

TEST(CoreFileName, PlainOrWithThePid) {
  EXPECT_EQ(Name("core"), "core");
  EXPECT_EQ(Name("core", true), "core.12");
  EXPECT_EQ(Name("core-%p", true), "core-12");
}

TEST(CoreFileName, EachLetter) {
  EXPECT_EQ(Name("/cores/%p.%P.%i.%I.%u.%g.%s.%t.%c.%C.%d"),
            "/cores/12.12.34.34.56.78.11.1700000000.4096.3.1");
  EXPECT_EQ(Name("%h-%f-%%-%x-%"), "box-prog-%--");
}

// What the program chose leads into no other folder.
TEST(CoreFileName, NamesHaveNoSlashes) {
  EXPECT_EQ(Name("%e"), "a!b");
  EXPECT_EQ(Name("%E"), "!usr!bin!prog");
  CoreFacts dots = kFacts;
  dots.comm = "..";
  EXPECT_EQ(CoreFileName({"%e/core", false}, dots), "!./core");
}

TEST(CoreFileName, APipeHasNone) {
  EXPECT_EQ(Name("|/usr/lib/collect %p"), "");
  EXPECT_TRUE((CorePattern{"|/usr/lib/collect %p", false}).is_pipe());
}

}  // namespace
}  // namespace flowback::record
