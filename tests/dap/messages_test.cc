// SPDX-License-Identifier: MIT
// How messages are framed, and which breakpoints a visit stops at, without any recording.
#include "replay/dap/messages.h"

#include <gtest/gtest.h>

#include <string>

#include "replay/dap/breakpoints.h"

namespace flowback::dap {
namespace {

using Kind = ReceivedMessage::Kind;

TEST(DapMessages, ComeWholeHoweverTheBytesAreCut) {
  const std::string bytes = Framed({{"seq", 1}, {"text", "a\r\n\r\nb"}}) + Framed({{"seq", 2}});
  for (size_t cut = 1; cut < bytes.size(); ++cut) {
    MessageReader reader;
    std::vector<int64_t> numbers;
    for (size_t at = 0; at < bytes.size(); at += cut) {
      reader.Add(std::string_view(bytes).substr(at, cut));
      while (const auto message = reader.Next()) {
        ASSERT_EQ(message->kind, Kind::kMessage);
        numbers.push_back(NumberIn(message->message, "seq"));
      }
    }
    ASSERT_EQ(numbers, (std::vector<int64_t>{1, 2})) << cut;
  }
}

TEST(DapMessages, OtherHeadersAreLeftOut) {
  MessageReader reader;
  reader.Add("Content-Type: json\r\ncontent-length:  2 \r\n\r\n{}");
  const auto message = reader.Next();
  ASSERT_TRUE(message);
  EXPECT_EQ(message->kind, Kind::kMessage);
}

TEST(DapMessages, WhatIsNoJsonCostsThatMessageAlone) {
  MessageReader reader;
  reader.Add("Content-Length: 3\r\n\r\n{x}Content-Length: 3\r\n\r\n[1]" + Framed({{"seq", 3}}));
  EXPECT_EQ(reader.Next()->kind, Kind::kNotJson);
  EXPECT_EQ(reader.Next()->kind, Kind::kNotJson);
  EXPECT_EQ(reader.Next()->kind, Kind::kMessage);
}

TEST(DapMessages, ABadHeaderEndsAll) {
  const std::string too_long = "Content-Length: " + std::to_string(kMostMessageBytes + 1);
  for (const std::string& header :
       {std::string("Content-Length: -1"), std::string("Content-Length: 99999999999999999999"),
        std::string("Content-Length"), std::string("Other: 1"), too_long,
        std::string(kMostHeaderBytes + 1, 'x')}) {
    MessageReader reader;
    reader.Add(header + "\r\n\r\n{}");
    const auto message = reader.Next();
    ASSERT_TRUE(message) << header.substr(0, 40);
    EXPECT_EQ(message->kind, Kind::kBadHeader) << header.substr(0, 40);
    EXPECT_FALSE(message->problem.empty());
    reader.Add(Framed({{"seq", 1}}));
    EXPECT_FALSE(reader.Next());
  }
}

TEST(DapMessages, MembersOfOtherTypesAreAbsent) {
  const Json object = {{"number", "7"}, {"text", 7}, {"flag", 1}, {"big", UINT64_MAX}};
  EXPECT_EQ(NumberIn(object, "number", -1), -1);
  EXPECT_EQ(NumberIn(object, "big", -1), -1);
  EXPECT_EQ(TextIn(object, "text", "x"), "x");
  EXPECT_TRUE(FlagIn(object, "flag", true));
  EXPECT_TRUE(MemberOf(object, "none").is_null());
  EXPECT_TRUE(MemberOf(Json(3), "none").is_null());
}

TEST(DapMessages, TextThatIsNotUtf8IsReplaced) {
  const std::string framed = Framed({{"name", "\xff\xfe"}});
  EXPECT_NE(framed.find("\xef\xbf\xbd"), std::string::npos);
}

TEST(HitCondition, HoldsForTheVisitsThatItNames) {
  const auto holds = [](const char* text) {
    const auto condition = HitCondition::Of(text);
    std::string visits;
    for (uint64_t hits = 1; condition && hits <= 6; ++hits)
      visits += condition->Holds(hits) ? 'x' : '.';
    return visits;
  };
  EXPECT_EQ(holds("3"), "..x...");
  EXPECT_EQ(holds(" == 3 "), "..x...");
  EXPECT_EQ(holds("=3"), "..x...");
  EXPECT_EQ(holds("> 3"), "...xxx");
  EXPECT_EQ(holds(">=3"), "..xxxx");
  EXPECT_EQ(holds("<3"), "xx....");
  EXPECT_EQ(holds("<= 3"), "xxx...");
  EXPECT_EQ(holds("% 2"), ".x.x.x");
  for (const char* text : {"", "x", "3x", "% 0", "==", "-1", "9999999999999999999"})
    EXPECT_FALSE(HitCondition::Of(text)) << text;
}

TEST(DapBreakpoints, ThoseOfOneFileTakeThePlaceOfItsOldOnes) {
  using Sort = Breakpoints::Sort;
  Breakpoints breakpoints;
  breakpoints.Replace(Sort::kLines, "a.c", {{.id = 1, .addresses = {16, 32}}});
  breakpoints.Replace(Sort::kLines, "b.c", {{.id = 2, .addresses = {32}}});
  breakpoints.Replace(Sort::kFunctions, "", {{.id = 3, .addresses = {48}}});
  EXPECT_EQ(breakpoints.Addresses(), (std::vector<uint64_t>{16, 32, 48}));
  EXPECT_EQ(breakpoints.At(32).size(), 2U);
  breakpoints.Replace(Sort::kLines, "a.c", {});
  EXPECT_EQ(breakpoints.Addresses(), (std::vector<uint64_t>{32, 48}));
  ASSERT_EQ(breakpoints.At(48).size(), 1U);
  EXPECT_EQ(breakpoints.At(48).front().first, Sort::kFunctions);
}

}  // namespace
}  // namespace flowback::dap
