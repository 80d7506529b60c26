// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>

#include "flowback/decode/decoder.h"

namespace flowback {
namespace {

TEST(Registry, MakesEveryDecoderItNames) {
  const std::vector<std::string_view> names = DecoderNames();
  EXPECT_TRUE(std::ranges::find(names, "native") != names.end());
  for (const std::string_view name : names) {
    const Result<std::unique_ptr<Decoder>> decoder = MakeDecoder(name);
    ASSERT_TRUE(decoder) << decoder.error().message();
    EXPECT_NE(*decoder, nullptr) << name;
  }
}

TEST(Registry, AnUnknownNameIsAUsageErrorThatListsTheNames) {
  const Result<std::unique_ptr<Decoder>> decoder = MakeDecoder("fast");
  ASSERT_FALSE(decoder);
  EXPECT_EQ(decoder.error().code(), ErrorCode::kUsage);
  EXPECT_NE(decoder.error().message().find("\"fast\""), std::string::npos);
  EXPECT_NE(decoder.error().remedy().find("native"), std::string::npos);
}

TEST(Registry, AnEngineLeftOutIsUnsupportedAndSaysHowToGetIt) {
  const std::vector<std::string_view> names = DecoderNames();
  const Result<std::unique_ptr<Decoder>> decoder = MakeDecoder("libipt");
  EXPECT_EQ(decoder.has_value(), std::ranges::find(names, "libipt") != names.end());
  if (decoder) return;
  EXPECT_EQ(decoder.error().code(), ErrorCode::kUnsupported);
  EXPECT_NE(decoder.error().remedy().find("FLOWBACK_LIBIPT"), std::string::npos);
}

}  // namespace
}  // namespace flowback
