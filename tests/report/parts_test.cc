// SPDX-License-Identifier: MIT
// What a report keeps of a timeline and of coverage, however large they are.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/report/analysis_run.h"
#include "cli/report/coverage_part.h"
#include "cli/report/output_lines.h"
#include "cli/report/timeline_part.h"

namespace flowback::cli {
namespace {

using Json = nlohmann::json;

struct Closer {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Closer>;

File FileWith(const std::string& text) {
  File file(std::tmpfile());
  std::fwrite(text.data(), 1, text.size(), file.get());
  std::fflush(file.get());
  std::rewind(file.get());
  return file;
}

// A thread with nested calls: the one of number i lasts i % 1000 ticks.
Json Thread(size_t number, size_t calls, size_t functions) {
  Json columns;
  for (size_t i = 0; i < calls; ++i) {
    columns["begin"].push_back(i == 0 ? 0 : 10);
    columns["duration"].push_back(i % 1000);
    columns["depth"].push_back(i % 5);
    columns["fn"].push_back(i % functions);
    columns["instructions"].push_back(i);
    columns["least"].push_back(0);
  }
  Json spans;
  for (size_t i = 0; i < 2000; ++i) {
    spans["begin"].push_back(i * 100);
    spans["length"].push_back(100);
    spans["kind"].push_back(i % 2);
  }
  return {{"name", "thread " + std::to_string(number)}, {"calls", columns}, {"spans", spans}};
}

Json LargeTimeline(size_t threads, size_t paths, size_t calls) {
  constexpr size_t kFunctions = 2000;
  Json data = {{"title", "a"},  {"ns", true},       {"emulated", false},  {"begin", 1000},
               {"end", 501000}, {"moment", "1000"}, {"said", {"It ran."}}};
  for (size_t i = 0; i < kFunctions; ++i)
    data["functions"].push_back({{"name", "function " + std::to_string(i)},
                                 {"calls", 1},
                                 {"self", i},
                                 {"total", i},
                                 {"instructions", i}});
  for (size_t i = 0; i < paths; ++i) {
    data["paths"]["parent"].push_back(i == 0 ? 0 : (i - 1) / 2);
    data["paths"]["fn"].push_back(i == 0 ? -1 : static_cast<int64_t>(i % kFunctions));
    data["paths"]["time"].push_back(paths - i);
    data["paths"]["instructions"].push_back(paths - i);
    data["paths"]["calls"].push_back(1);
  }
  for (size_t i = 0; i < threads; ++i) data["threads"].push_back(Thread(i, calls, kFunctions));
  return data;
}

std::string PageWith(const Json& data) {
  return "<html><script id=\"data\" type=\"application/json\">\n" + data.dump() +
         "</script><script>1 < 2</script></html>";
}

TEST(ReportParts, TimelineIsBounded) {
  const Json whole = LargeTimeline(60, 20'000, 1000);
  const TimelineRoom room;
  const std::optional<Json> cut = ReadTimelinePage(FileWith(PageWith(whole)).get(), room);
  ASSERT_TRUE(cut);
  EXPECT_EQ((*cut)["threads"].size(), room.threads);
  EXPECT_EQ((*cut)["left_out"]["threads"], 60 - room.threads);
  EXPECT_EQ((*cut)["paths"]["fn"].size(), room.paths);
  EXPECT_EQ((*cut)["left_out"]["paths"], 20'000 - room.paths);
  size_t calls = 0;
  for (const Json& thread : (*cut)["threads"]) {
    calls += thread["calls"]["begin"].size();
    EXPECT_FALSE(thread.contains("spans"));
    EXPECT_LE(thread["strip"].size(), room.columns * 6);
  }
  EXPECT_LE(calls, room.calls);
  EXPECT_EQ((*cut)["left_out"]["calls"].get<size_t>() + calls, room.threads * 1000);
  EXPECT_LT(cut->dump().size(), size_t{10} << 20);
}

// The names of paths and of calls are the same before and after.
TEST(ReportParts, TimelineKeepsTheLargest) {
  const Json whole = LargeTimeline(1, 5000, 4000);
  TimelineRoom room;
  room.calls = 200;
  room.paths = 100;
  room.functions = 3;
  const std::optional<Json> cut = ReadTimelinePage(FileWith(PageWith(whole)).get(), room);
  ASSERT_TRUE(cut);
  const auto name = [](const Json& data, const Json& number) {
    return number < 0 ? Json() : data["functions"][number.get<size_t>()]["name"];
  };
  const Json& paths = (*cut)["paths"];
  for (size_t i = 0; i < 100; ++i) {
    EXPECT_EQ(paths["time"][i], whole["paths"]["time"][i]);
    EXPECT_EQ(paths["parent"][i], whole["paths"]["parent"][i]);
    EXPECT_EQ(name(*cut, paths["fn"][i]), name(whole, whole["paths"]["fn"][i]));
  }
  const Json& calls = (*cut)["threads"][0]["calls"];
  int64_t begin = 0;
  for (size_t i = 0; i < calls["begin"].size(); ++i) {
    begin += calls["begin"][i].get<int64_t>();
    const size_t number = calls["instructions"][i];  // as Thread made it
    EXPECT_EQ(begin, static_cast<int64_t>(number) * 10);
    EXPECT_GE(calls["duration"][i], 950);
    EXPECT_EQ(name(*cut, calls["fn"][i]), "function " + std::to_string(number % 2000));
  }
  const auto largest = std::ranges::find_if((*cut)["functions"], [](const Json& function) {
    return function["name"] == "function 1999";
  });
  EXPECT_NE(largest, (*cut)["functions"].end());
}

// The time of each class stays what it was, up to rounding.
TEST(ReportParts, SpansBecomeColumnsOfTheSameTime) {
  const std::optional<Json> cut =
      ReadTimelinePage(FileWith(PageWith(LargeTimeline(1, 10, 100))).get(), {});
  ASSERT_TRUE(cut);
  int64_t times[6] = {};
  const Json& strip = (*cut)["threads"][0]["strip"];
  for (size_t i = 0; i < strip.size(); ++i) times[i % 6] += strip[i].get<int64_t>();
  EXPECT_NEAR(static_cast<double>(times[0]), 100'000, 500);
  EXPECT_NEAR(static_cast<double>(times[1]), 100'000, 500);
}

// A thread whose spans fill `whole` ticks, with ends at and beside the columns' bounds.
Json SpansOf(int64_t whole) {
  Json spans;
  int64_t at = 0;
  for (size_t i = 0; at < whole; ++i) {
    const int64_t bound = (at / (whole / 500) + 1) * (whole / 500);
    const int64_t end = i % 4 == 3 ? whole : bound + static_cast<int64_t>(i % 3) - 1;
    const int64_t length = std::min(std::clamp<int64_t>(end - at, 1, whole / 2000), whole - at);
    spans["begin"].push_back(at);
    spans["length"].push_back(length);
    spans["kind"].push_back(i % 6);
    at += length;
  }
  return spans;
}

TEST(ReportParts, ColumnsHoldEachTickOfTheSpans) {
  for (const int64_t whole : {9'168'024'629, 9'168'024'628, 9'168'024'630, 9'007'199'254'740'993}) {
    Json data = LargeTimeline(1, 10, 100);
    data["begin"] = 1'700'000'000'000'000'001;
    data["end"] = 1'700'000'000'000'000'001 + whole;
    const Json& spans = data["threads"][0]["spans"] = SpansOf(whole);
    int64_t expected[6] = {}, shown[6] = {};
    for (size_t i = 0; i < spans["kind"].size(); ++i)
      expected[spans["kind"][i].get<size_t>()] += spans["length"][i].get<int64_t>();
    const std::optional<Json> cut = ReadTimelinePage(FileWith(PageWith(data)).get(), {});
    ASSERT_TRUE(cut);
    const Json& strip = (*cut)["threads"][0]["strip"];
    for (size_t i = 0; i < strip.size(); ++i) shown[i % 6] += strip[i].get<int64_t>();
    for (size_t i = 0; i < 6; ++i) EXPECT_EQ(shown[i], expected[i]) << whole << ", kind " << i;
    // No column holds more than its width.
    for (size_t i = 0; i + 6 <= strip.size(); i += 6) {
      int64_t sum = 0;
      for (size_t kind = 0; kind < 6; ++kind) sum += strip[i + kind].get<int64_t>();
      EXPECT_LE(sum, whole / 500 + 1) << whole << ", column " << i / 6;
    }
  }
}

TEST(ReportParts, TextNeedsNoMoreMemoryThanItHas) {
  const std::string text(100'000, 'x');
  EXPECT_EQ(TextOf(FileWith(text).get(), size_t{1} << 50), text);
  EXPECT_EQ(TextOf(FileWith(text).get(), 99'999), text.substr(1));
  EXPECT_EQ(TextOf(FileWith("").get(), 10), "");
}

TEST(ReportParts, MessagesThatAreLeftOutAreCounted) {
  std::string said =
      "flowback: a\n  try: b\n  try: c\n\nplain\nflowback: " + std::string(2000, 'y') + "\n";
  AnalysisAnswer answer;
  ReadMessages(FileWith(said).get(), answer);
  ASSERT_EQ(answer.messages.size(), 3u);
  EXPECT_EQ(answer.messages[0].text, "a");
  EXPECT_EQ(answer.messages[0].remedies, (std::vector<std::string>{"b", "c"}));
  EXPECT_EQ(answer.messages[1].text, "plain");
  EXPECT_EQ(answer.messages[2].text, std::string(1000, 'y') + "...");
  EXPECT_EQ(answer.left_out_messages, 0u);

  for (size_t i = 0; i < 250; ++i) said += "flowback: " + std::to_string(i) + "\n";
  for (size_t i = 0; i < 10; ++i) said += "  try: " + std::to_string(i) + "\n";
  AnalysisAnswer many;
  ReadMessages(FileWith(said).get(), many);
  EXPECT_EQ(many.messages.size(), 200u);
  EXPECT_EQ(many.messages.back().text, "249");
  EXPECT_EQ(many.messages.back().remedies.size(), 8u);
  EXPECT_EQ(many.left_out_messages, 53u + 2);
}

TEST(ReportParts, OtherTextIsNoTimeline) {
  for (const char* text : {"", "<html></html>", "<script id=\"data\" type=\"application/json\">{",
                           "<script id=\"data\" type=\"application/json\">[]</script>",
                           "<script id=\"data\" type=\"application/json\">{\"a\":1}</script>"})
    EXPECT_FALSE(ReadTimelinePage(FileWith(text).get(), {})) << text;
}

TEST(ReportParts, CoverageKeepsTheLargestOfTheProgram) {
  std::string lines = R"({"type":"coverage","main":"/bin/a","sentences":["a executed."]})"
                      "\n";
  lines += R"({"type":"object","object":"/bin/a","instructions":{"executed":5}})"
           "\n";
  for (size_t i = 0; i < 500; ++i) {
    for (const char* object : {"/bin/a", "/lib/b"})
      lines += Json{{"type", "function"},
                    {"object", object},
                    {"function", std::to_string(i)},
                    {"bytes", i},
                    {"file", "/src/a.c"},
                    {"line", i},
                    {"executed", i % 2 == 0 ? "yes" : "no"}}
                   .dump() +
               "\n";
    lines += Json{{"type", "branch"}, {"object", "/bin/a"}, {"file", "/src/a.c"},
                  {"line", i},        {"taken", i % 3 * i}, {"not_taken", 0}}
                 .dump() +
             "\n";
    lines += Json{{"type", "line"},
                  {"file", i % 2 == 0 ? "/src/a.c" : "/usr/include/x.h"},
                  {"line", i},
                  {"executed", i % 4 == 0 ? "yes" : "no"}}
                 .dump() +
             "\nno json\n";
  }
  const std::optional<Json> cut = ReadCoverage(FileWith(lines).get(), {});
  ASSERT_TRUE(cut);
  EXPECT_EQ((*cut)["program"]["object"], "/bin/a");
  EXPECT_EQ((*cut)["never"].size(), 40u);
  EXPECT_EQ((*cut)["never"][0]["function"], "499");
  EXPECT_EQ((*cut)["left_out"]["never"], 250 - 40);
  EXPECT_EQ((*cut)["one_way"][0]["taken"], 2 * 497);
  ASSERT_EQ((*cut)["files"].size(), 1u);
  EXPECT_EQ((*cut)["files"][0]["lines"]["total"], 250);
  EXPECT_EQ((*cut)["files"][0]["lines"]["executed"], 125);
  EXPECT_FALSE(ReadCoverage(FileWith("nothing\n").get(), {}));
}

}  // namespace
}  // namespace flowback::cli
