// SPDX-License-Identifier: MIT
// `decode --as calls`.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "tests/cli/run_program.h"
#include "tests/golden/shared_traces.h"

namespace flowback::test {
namespace {

using nlohmann::json;

ProgramResult Calls(const std::string& recording, std::vector<std::string> words) {
  const std::filesystem::path folder = golden::TracesFolder() / "generated";
  words.insert(words.begin(), {"decode", folder / recording / "perf.data", "--symfs",
                               folder / "images", "--as", "calls"});
  return RunFlowback(words);
}

std::vector<json> Objects(const std::string& recording, std::vector<std::string> words = {}) {
  words.push_back("--json");
  const ProgramResult result = Calls(recording, words);
  EXPECT_EQ(result.status, 0) << result.err;
  std::vector<json> objects;
  for (const std::string& line : Lines(result.out)) objects.push_back(json::parse(line));
  EXPECT_EQ(objects.at(0)["schema"], "flowback.decode.calls/1");
  objects.erase(objects.begin());
  return objects;
}

TEST(Calls, AreIndentedByDepth) {
  FLOWBACK_NEEDS_TRACES();
  const ProgramResult result = Calls("hello", {"--function", "main", "-F", "tid"});
  ASSERT_EQ(result.status, 0) << result.err;
  const std::vector<std::string> lines = Lines(result.out);
  ASSERT_GT(lines.size(), 20u);
  // The caller is a static function: only libc6-dbg has its name.
  EXPECT_TRUE(lines[0] == "4661 -> main from __libc_start_call_main+0x78" ||
              lines[0] == "4661 -> main from 7ffff7dfa248")
      << lines[0];
  EXPECT_TRUE(lines[1].starts_with("4661   -> ")) << lines[1];
  EXPECT_TRUE(lines.back().starts_with("4661 <- main ")) << lines.back();
}

TEST(Calls, OfAFunctionThatWasNotCalled) {
  FLOWBACK_NEEDS_TRACES();
  const ProgramResult none = Calls("hello", {"--function", "nosuchfn"});
  EXPECT_EQ(none.status, 2);
  EXPECT_EQ(Lines(none.out).size(), 0u) << none.out;
  EXPECT_TRUE(none.err.contains("--function nosuchfn: no such function was called")) << none.err;
  // It ran, though for no second.
  EXPECT_EQ(Calls("hello", {"--function", "main", "--min-duration", "1s"}).err, "");
}

TEST(Calls, EveryEntryHasItsExit) {
  FLOWBACK_NEEDS_TRACES();
  for (const char* recording : {"hello", "retmix", "signals-async"}) {
    std::map<std::string, std::vector<json>> open;  // by stream
    uint64_t self = 0;
    uint64_t outermost = 0;
    for (const json& object : Objects(recording)) {
      std::vector<json>& stack = open[object["stream"].dump()];
      if (object["type"] == "call") {
        ASSERT_EQ(object["depth"], stack.size());
        stack.push_back(object);
      } else if (object["type"] == "return") {
        ASSERT_FALSE(stack.empty());
        ASSERT_EQ(object["depth"], stack.size() - 1);
        ASSERT_EQ(object["ip"], stack.back()["ip"]);
        stack.pop_back();
        self += object["self"].get<uint64_t>();
        if (stack.empty()) outermost += object["instructions"].get<uint64_t>();
      }
    }
    for (const auto& [stream, stack] : open) EXPECT_TRUE(stack.empty()) << recording;
    EXPECT_EQ(self, outermost) << recording;
    EXPECT_GT(self, 0u);
  }
}

TEST(Calls, DepthKeepsTheOuterLevels) {
  FLOWBACK_NEEDS_TRACES();
  std::vector<json> expected = Objects("retmix");
  std::erase_if(expected, [](const json& object) { return object["depth"] >= 3; });
  EXPECT_EQ(Objects("retmix", {"--depth", "3"}), expected);
  EXPECT_EQ(Objects("retmix", {"--max-depth", "3"}), expected);
}

TEST(Calls, MinDurationKeepsTheLongOnes) {
  FLOWBACK_NEEDS_TRACES();
  std::vector<json> expected = Objects("signals-async");
  // An entry stays when its exit does.
  std::vector<size_t> open;
  std::vector<bool> keep(expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    const json& object = expected[i];
    if (object["type"] == "call") {
      open.push_back(i);
      continue;
    }
    keep[i] = !object["duration"].is_null() && object["duration"] >= 5000;
    if (object["type"] != "return") continue;
    keep[open.back()] = keep[i];
    open.pop_back();
  }
  std::vector<json> long_ones;
  for (size_t i = 0; i < expected.size(); ++i)
    if (keep[i]) long_ones.push_back(expected[i]);
  ASSERT_GT(long_ones.size(), 10u);
  ASSERT_LT(long_ones.size(), expected.size());
  EXPECT_EQ(Objects("signals-async", {"--min-duration", "5us"}), long_ones);
}

TEST(Calls, OfAFunctionBeginWithIt) {
  FLOWBACK_NEEDS_TRACES();
  size_t entries = 0;
  for (const json& object : Objects("retmix", {"--function", "b"})) {
    if (object["depth"] != 0 || object["type"] == "kernel") continue;
    EXPECT_EQ(object["function"], "b");
    entries += object["type"] == "call";
  }
  EXPECT_GT(entries, 100u);
  EXPECT_EQ(Calls("retmix", {"--function", "no_such", "--json"}).status, 2);
}

TEST(Calls, SignalHandlersAndSystemCalls) {
  FLOWBACK_NEEDS_TRACES();
  std::map<std::string, size_t> counts;
  for (const json& object : Objects("signals-async")) {
    if (object["type"] == "call") ++counts[object["entry"]];
    if (object["type"] == "kernel") ++counts[object["cause"]];
  }
  // truth.txt: syscalls 430, signals 351, irqs 766, page_faults 2096.
  EXPECT_EQ(counts["handler"], 351u);
  EXPECT_EQ(counts["system-call"], 430u);
}

// What the code proves of the number; else the function that made the call says what it is.
TEST(Calls, SystemCallsAreNamed) {
  FLOWBACK_NEEDS_TRACES();
  size_t writes = 0;
  size_t calls = 0;
  json last;
  for (const json& object : Objects("hello")) {
    if (object["type"] != "kernel" || object["cause"] != "system-call") continue;
    ++calls;
    EXPECT_EQ(object["system_call"].is_null(), object["number"].is_null()) << object;
    writes += object["system_call"] == "write" && object["number"] == 1;
    last = object;
  }
  EXPECT_GT(calls, 10u);
  EXPECT_GE(writes, 1u);
  // The number of the last one comes from another block.
  EXPECT_TRUE(last["number"].is_null()) << last;
  EXPECT_TRUE(last["caller"].is_null() || last["caller"].get<std::string>().ends_with("_exit"))
      << last;
  EXPECT_TRUE(Calls("hello", {}).out.contains("[kernel] system-call write "));
}

// As the records of switches have them, whatever the listing's threads and its order.
TEST(Calls, TimesOffTheCpu) {
  FLOWBACK_NEEDS_TRACES();
  std::map<int, std::pair<uint64_t, size_t>> away;  // by thread: when it was back last, how often
  json gap;                                         // that it lies in
  for (const json& object : Objects("spin-cyc")) {
    if (object["type"] == "kernel") gap = object;
    if (object["type"] != "off-cpu") continue;
    auto& [back, count] = away[object["tid"].get<int>()];
    EXPECT_GE(object["time"], back) << object;
    EXPECT_GT(object["until"], object["time"]) << object;
    EXPECT_EQ(gap["cpu"], object["cpu"]) << gap;
    EXPECT_EQ(object["until"].get<uint64_t>() - object["time"].get<uint64_t>(),
              object["duration"].get<uint64_t>());
    back = object["until"].get<uint64_t>();
    ++count;
  }
  // Each pair of records beyond the first is a time in between.
  const auto folder = golden::TracesFolder() / "generated";
  const json info = json::parse(RunFlowback({"info", "--json", folder / "spin-cyc/perf.data"}).out);
  size_t times = 0;
  for (const auto& [tid, told] : away) times += told.second;
  EXPECT_GT(times, 0u);
  EXPECT_LE(times, info["records"]["SWITCH"].get<size_t>() / 2);
  const ProgramResult text = Calls("spin-cyc", {"--threads", "1"});
  EXPECT_TRUE(text.out.contains("[off-cpu] until "));
  EXPECT_TRUE(Calls("spin-cyc", {"--threads", "3"}).out == text.out);
  EXPECT_FALSE(Calls("spin-cyc", {"--min-duration", "1000s"}).out.contains("[off-cpu]"));
}

// The values in the listing of events, each in the call that was entered last and not left.
TEST(Calls, ValuesOfPtwriteStandInTheirCalls) {
  FLOWBACK_NEEDS_TRACES();
  const auto folder = golden::TracesFolder() / "generated";
  std::vector<std::tuple<json, json, json>> events;
  for (const std::string& line :
       Lines(RunFlowback({"decode", folder / "ptwrite/perf.data", "--symfs", folder / "images",
                          "--json", "--as", "events"})
                 .out)) {
    const json object = json::parse(line);
    if (object.value("event", "") == "ptwrite")
      events.emplace_back(object["ip"], object["value"], object["tsc"]);
  }
  std::vector<std::tuple<json, json, json>> values;
  size_t depth = 0;
  for (const json& object : Objects("ptwrite")) {
    if (object["type"] == "call") ++depth;
    if (object["type"] == "return") --depth;
    if (object["type"] != "ptwrite") continue;
    EXPECT_EQ(object["depth"], depth);
    EXPECT_TRUE(object["size"] == 4 || object["size"] == 8) << object;
    values.emplace_back(object["ip"], object["value"], object["tsc"]);
  }
  EXPECT_GT(values.size(), 10u);
  EXPECT_EQ(values, events);
  EXPECT_TRUE(Calls("ptwrite", {}).out.contains("[ptwrite] 0x"));
  // In a time that no call lasted there are no values either.
  EXPECT_FALSE(Calls("ptwrite", {"--min-duration", "1000s"}).out.contains("[ptwrite]"));
}

// Three times the program replaces itself.
TEST(Calls, ExecEndsAllCalls) {
  FLOWBACK_NEEDS_TRACES();
  size_t running = 0;
  size_t replaced = 0;
  for (const json& object : Objects("execs")) {
    running += object["type"] == "call" && object["entry"] == "running";
    replaced += object["type"] == "return" && object["exit"] == "replaced" && object["depth"] == 0;
    EXPECT_NE(object.value("entry", ""), "handler");
  }
  EXPECT_EQ(running, 4u);
  EXPECT_EQ(replaced, 3u);
}

TEST(Calls, LossesCutTheStack) {
  FLOWBACK_NEEDS_TRACES();
  bool after_loss = false;
  size_t losses = 0;
  for (const json& object : Objects("vcalls-ovf")) {
    if (object["type"] == "loss") {
      after_loss = true;
      ++losses;
    } else if (after_loss) {
      EXPECT_EQ(object["type"], "call");
      EXPECT_EQ(object["entry"], "running");
      EXPECT_EQ(object["depth"], 0);
      after_loss = false;
    }
  }
  EXPECT_GT(losses, 10u);
}

TEST(Calls, SrclineTellsWhereTheCallIs) {
  FLOWBACK_NEEDS_TRACES();
  const ProgramResult result = Calls("hello", {"--function", "main", "-F", "srcline"});
  ASSERT_EQ(result.status, 0) << result.err;
  const std::vector<std::string> lines = Lines(result.out);
  ASSERT_GT(lines.size(), 2u);
  EXPECT_TRUE(lines[1].ends_with("from main+0x3d at hello.c:6")) << lines[1];
}

TEST(Calls, NoLevelsAreRefused) {
  for (const std::string command : {"decode", "timeline"}) {
    const ProgramResult result = RunFlowback({command, "none", "--depth", "0"});
    EXPECT_EQ(result.status, 2);
    EXPECT_TRUE(result.err.contains("--depth: at least 1")) << result.err;
  }
}

TEST(Calls, OptionsForOtherKindsAreRefused) {
  const ProgramResult result = RunFlowback({"decode", "none", "--depth", "3"});
  EXPECT_EQ(result.status, 2);
  EXPECT_NE(result.err.find("--as calls"), std::string::npos) << result.err;
}

// A call's time is that of the instruction that calls, and so are its bounds.
TEST(Times, AreThoseOfTheInstructions) {
  FLOWBACK_NEEDS_TRACES();
  const auto folder = golden::TracesFolder() / "generated";
  const auto bounds = [](const json& object) {
    return std::tuple(object["tsc"], object["time_lo"], object["time_hi"]);
  };
  std::set<std::tuple<std::string, json, json, json>> instructions;
  for (const std::string& line :
       Lines(RunFlowback({"decode", folder / "retmix/perf.data", "--symfs", folder / "images",
                          "--json", "-F", "time,ip"})
                 .out)) {
    const json object = json::parse(line);
    if (object.value("type", "") != "instruction") continue;
    instructions.insert(
        std::tuple_cat(std::tuple(object["ip"].get<std::string>()), bounds(object)));
  }
  size_t calls = 0;
  size_t returns = 0;
  for (const json& object : Objects("retmix")) {
    if (!object.contains("time") || object["time"].is_null()) continue;  // the header has none
    if (!object["time_lo"].is_null()) {
      EXPECT_LE(object["time_lo"], object["time"]) << object;
    }
    if (!object["time_hi"].is_null()) {
      EXPECT_GE(object["time_hi"], object["time"]) << object;
    }
    if (object["type"] == "return" && object["exit"] == "return") {
      ++returns;
      EXPECT_FALSE(object["time_lo"].is_null() && object["time_hi"].is_null()) << object;
    }
    if (object["type"] != "call" || object["entry"] != "call") continue;
    ++calls;
    EXPECT_TRUE(instructions.contains(
        std::tuple_cat(std::tuple(object["site"].get<std::string>()), bounds(object))))
        << object;
  }
  EXPECT_GT(calls, 100u);
  EXPECT_GT(returns, 100u);
}

}  // namespace
}  // namespace flowback::test
