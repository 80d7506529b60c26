// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "flowback/capture/open.h"

namespace flowback {
namespace {

TEST(SectionSpec, NumbersAreDecimalOrHexadecimal) {
  const auto spec = ParseSectionSpec("lib.so:0x1000:4096:0x7f0000001000");
  ASSERT_TRUE(spec) << spec.error().message();
  EXPECT_EQ(spec->file, "lib.so");
  EXPECT_EQ(spec->offset, 0x1000u);
  EXPECT_EQ(spec->size, 4096u);
  EXPECT_EQ(spec->address, 0x7f0000001000u);
}

TEST(SectionSpec, FileNameMayHoldColons) {
  const auto spec = ParseSectionSpec("/tmp/a:b:0x1:c:0:16:32");
  ASSERT_TRUE(spec) << spec.error().message();
  EXPECT_EQ(spec->file, "/tmp/a:b:0x1:c");
  EXPECT_EQ(spec->size, 16u);
}

TEST(SectionSpec, TopOfTheAddressSpaceIsAllowed) {
  EXPECT_TRUE(ParseSectionSpec("f:0:0x1000:0xfffffffffffff000"));
  EXPECT_FALSE(ParseSectionSpec("f:0:0x1001:0xfffffffffffff000"));
}

TEST(SectionSpec, MalformedOnesAreUsageErrorsThatQuoteThem) {
  for (const char* text :
       {"", "f", "f:0", "f:0:1", ":0:1:2", "f:0:0:2", "f:x:1:2", "f:0:1:0x", "f:0:1:-2", "f:0:1:2 ",
        "f:0:1:99999999999999999999999", "f:0xffffffffffffffff:2:0"}) {
    const auto spec = ParseSectionSpec(text);
    ASSERT_FALSE(spec) << text;
    EXPECT_EQ(spec.error().code(), ErrorCode::kUsage);
    EXPECT_NE(spec.error().message().find("`" + std::string(text) + "`"), std::string::npos);
    EXPECT_FALSE(spec.error().remedy().empty());
  }
}

TEST(ImageSpec, AddressIsOptional) {
  const auto plain = ParseImageSpec("a.out");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->file, "a.out");
  EXPECT_FALSE(plain->load_address);
  const auto placed = ParseImageSpec("lib.so@0x7ffff7bd9000");
  ASSERT_TRUE(placed);
  EXPECT_EQ(placed->file, "lib.so");
  EXPECT_EQ(placed->load_address, 0x7ffff7bd9000u);
  EXPECT_EQ(ParseImageSpec("lib.so@0")->load_address, 0u);
}

TEST(ImageSpec, OnlyANumberBehindTheLastAtIsAnAddress) {
  const auto spec = ParseImageSpec("user@host/lib@v2.so");
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->file, "user@host/lib@v2.so");
  EXPECT_FALSE(spec->load_address);
  EXPECT_EQ(ParseImageSpec("lib@v2@4096")->file, "lib@v2");
}

TEST(ImageSpec, MalformedOnesAreUsageErrors) {
  for (const char* text : {"", "@0x1000", "a.out@"}) {
    const auto spec = ParseImageSpec(text);
    ASSERT_FALSE(spec) << text;
    EXPECT_EQ(spec.error().code(), ErrorCode::kUsage);
  }
}

TEST(CpuIdSpec, SteppingIsOptional) {
  const auto cpu = ParseCpuId("6/0x4f/1");
  ASSERT_TRUE(cpu) << cpu.error().message();
  EXPECT_TRUE(cpu->intel);
  EXPECT_EQ(cpu->family, 6);
  EXPECT_EQ(cpu->model, 79);
  EXPECT_EQ(cpu->stepping, 1);
  EXPECT_EQ(ParseCpuId("6/85")->stepping, 0);
}

TEST(CpuIdSpec, MalformedOnesAreUsageErrors) {
  for (const char* text : {"", "6", "6/", "/85", "0/85/4", "6/85/", "6/85/4/1", "6/256/1",
                           "6/85/16", "6/-1", "six/85", "600/85"}) {
    const auto cpu = ParseCpuId(text);
    ASSERT_FALSE(cpu) << text;
    EXPECT_EQ(cpu.error().code(), ErrorCode::kUsage);
  }
}

TEST(TraceFilterSpec, TakesRangesAndPerfsWords) {
  const auto ranges = [](const char* text) {
    const auto filter = ParseTraceFilter(text);
    EXPECT_TRUE(filter) << text;
    std::string found;
    for (const AddressRange& range : filter->ranges)
      found += std::to_string(range.begin) + "-" + std::to_string(range.end) + " ";
    return found;
  };
  EXPECT_EQ(ranges("0x10/0x20"), "16-48 ");
  EXPECT_EQ(ranges("16/32,64/8"), "16-48 64-72 ");
  EXPECT_EQ(ranges("filter 0x10/0x20, filter 64/8 tracestop 0x80/8"), "16-48 64-72 ");
  EXPECT_EQ(ranges("filter main @ /bin/ls,filter 0x10/0x20@/bin/ls"), "") << "of files";
  EXPECT_EQ(ranges("start main, stop exit"), "");
  EXPECT_TRUE(ParseTraceFilter("filter main @ /bin/ls")->set);
  EXPECT_FALSE(ParseTraceFilter("none")->set);
}

TEST(TraceFilterSpec, MalformedOnesAreUsageErrorsThatQuoteThem) {
  for (const char* text : {"", " ", "main", "0x10", "0x10/", "0x10/0", "0xffffffffffffffff/2",
                           "filter", "filter @ ls", "filter main @", "none, 1/2", "1/2@ls"}) {
    const auto filter = ParseTraceFilter(text);
    ASSERT_FALSE(filter) << text;
    EXPECT_EQ(filter.error().code(), ErrorCode::kUsage);
    EXPECT_NE(filter.error().message().find("`" + std::string(text) + "`"), std::string::npos);
  }
}

}  // namespace
}  // namespace flowback
