// SPDX-License-Identifier: MIT
#include "capture/kernel/pmu.h"

#include <gtest/gtest.h>

#include "tests/support/kernel/trees.h"

namespace flowback::kernel {
namespace {

TEST(TermBits, GoWhereTheFormatSays) {
  const auto bits = TermBits::Parse("config:0-7,32-35");
  ASSERT_TRUE(bits);
  EXPECT_EQ(bits->largest(), 0xfffu);
  perf_event_attr attr{};
  attr.config = 0xff00;
  bits->Set(attr, 0xabc);
  EXPECT_EQ(attr.config, 0xa'0000'ffbcu);
  EXPECT_EQ(bits->Get(attr), 0xabcu);
  bits->Set(attr, 1);
  EXPECT_EQ(attr.config, 0xff01u);
}

TEST(TermBits, AWholeWord) {
  const auto bits = TermBits::Parse("config1:0-63");
  ASSERT_TRUE(bits);
  perf_event_attr attr{};
  bits->Set(attr, ~uint64_t{0});
  EXPECT_EQ(attr.config1, ~uint64_t{0});
  EXPECT_EQ(attr.config, 0u);
}

TEST(TermBits, WhatIsNoFormatIsNone) {
  for (const char* text : {"", "config", "config:", "config9:0", "config:7-0", "config:0-64",
                           "config:x", "config:1,,2", "config:1-", ":0-7"})
    EXPECT_FALSE(TermBits::Parse(text)) << text;
}

TEST(CpuList, RangesAndNumbers) {
  EXPECT_EQ(ParseCpuList("0-2,5"), (std::vector{0, 1, 2, 5}));
  EXPECT_FALSE(ParseCpuList("0-"));
  EXPECT_FALSE(ParseCpuList("0-4000000000"));
}

TEST(Pmus, OfAHybridMachine) {
  const TreeKernel machine(test::Tree("alder_lake"));
  const auto pmus = ReadPmus(machine);
  const Pmu* atom = FindPmu(pmus, "cpu_atom");
  ASSERT_NE(atom, nullptr);
  EXPECT_EQ(atom->type, 10u);
  EXPECT_EQ(atom->cpus.front(), 16);
  EXPECT_EQ(atom->cpus.size(), 8u);
  EXPECT_TRUE(atom->of_core());
  EXPECT_EQ(FindPmu(pmus, "cpu"), nullptr);
}

TEST(Pmus, CapsOfIntelPtAreHexadecimal) {
  const TreeKernel machine(test::Tree("skylake_server"));
  const auto pmus = ReadPmus(machine);
  const Pmu* pt = FindPmu(pmus, "intel_pt");
  ASSERT_NE(pt, nullptr);
  EXPECT_EQ(pt->Cap("mtc_periods"), 0x249u);
  EXPECT_EQ(pt->Cap("ptwrite"), 0u);
  EXPECT_EQ(pt->Cap("no_such"), 0u);
  const Pmu* cpu = FindPmu(pmus, "cpu");
  ASSERT_NE(cpu, nullptr);
  EXPECT_EQ(cpu->Cap("branches"), 32u);
  EXPECT_EQ(pt->address_filters, 2u);
}

}  // namespace
}  // namespace flowback::kernel
