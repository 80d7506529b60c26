// SPDX-License-Identifier: MIT
// `flowback stack`. That the frames are right is for tests/calls; here is what is printed.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/cli/run_program.h"
#include "tests/golden/shared_traces.h"

namespace flowback::test {
namespace {

using nlohmann::json;

ProgramResult Stack(const std::string& recording, std::vector<std::string> words) {
  const std::filesystem::path folder = golden::TracesFolder() / "generated";
  words.insert(words.begin(),
               {"stack", folder / recording / "perf.data", "--symfs", folder / "images"});
  return RunFlowback(words);
}

std::vector<json> Objects(const std::string& recording, std::vector<std::string> words) {
  words.push_back("--json");
  const ProgramResult result = Stack(recording, words);
  EXPECT_EQ(result.status, 0) << result.err;
  std::vector<json> objects;
  for (const std::string& line : Lines(result.out)) objects.push_back(json::parse(line));
  EXPECT_EQ(objects.at(0)["schema"], "flowback.stack/1");
  objects.erase(objects.begin());
  return objects;
}

std::vector<std::string> FunctionsOf(const json& stack) {
  std::vector<std::string> functions;
  for (const json& frame : stack["frames"])
    functions.push_back(frame["function"].is_null() ? "??" : frame["function"]);
  return functions;
}

TEST(Stack, AtTheEndByDefault) {
  FLOWBACK_NEEDS_TRACES();
  const std::vector<std::string> lines = Lines(Stack("hello", {}).out, true);
  ASSERT_GT(lines.size(), 3u);
  EXPECT_TRUE(lines[0].starts_with("Thread 4661 \"hello\" at its end, after ")) << lines[0];
  EXPECT_TRUE(lines[1].starts_with("#0  0x00007ffff7")) << lines[1];
  EXPECT_EQ(Stack("hello", {"--at", "end"}).out, Stack("hello", {}).out);
}

// The open calls of the whole flow show how deep it is.
TEST(Stack, IsTheOneOfTheCalls) {
  FLOWBACK_NEEDS_TRACES();
  const auto folder = golden::TracesFolder() / "generated";
  std::vector<json> open;
  const ProgramResult calls = RunFlowback({"decode", folder / "retmix/perf.data", "--symfs",
                                           folder / "images", "--as", "calls", "--json"});
  uint64_t executed = 0;
  uint64_t left = 0;
  for (const std::string& line : Lines(calls.out)) {
    const json object = json::parse(line);
    if (object.value("type", "") == "call") open.push_back(object);
    if (object.value("type", "") != "return") continue;
    open.pop_back();
    executed += object["self"].get<uint64_t>();
    if (object["function"] == "b" && ++left == 100) break;
  }
  ASSERT_EQ(left, 100u);
  // The calls that are still open have executed some, too: a stack with the same calls is near.
  bool found = false;
  for (uint64_t ahead = 0; ahead < 60 && !found; ++ahead) {
    const std::vector<json> stacks =
        Objects("retmix", {"--at", "#" + std::to_string(executed + ahead)});
    size_t calls_on_it = 0;
    for (const json& frame : stacks.at(0)["frames"]) calls_on_it += !frame["inlined"];
    found = calls_on_it == open.size();
  }
  EXPECT_TRUE(found);
}

TEST(Stack, HandlersAreMarked) {
  FLOWBACK_NEEDS_TRACES();
  const auto folder = golden::TracesFolder() / "generated";
  std::string time;
  for (const std::string& line :
       Lines(RunFlowback({"decode", folder / "signals-async/perf.data", "--symfs",
                          folder / "images", "--as", "calls", "--json"})
                 .out)) {
    const json object = json::parse(line);
    if (object.value("entry", "") == "handler")
      time = std::to_string(object["tsc"].get<uint64_t>());
  }
  ASSERT_NE(time, "");
  bool marked = false;
  for (uint64_t ahead : {0, 20, 40, 60, 80, 100, 150, 200, 300, 400})
    for (const json& stack :
         Objects("signals-async", {"--at", "tsc:" + std::to_string(std::stoull(time) + ahead)}))
      for (const json& frame : stack["frames"]) marked = marked || frame["handler"];
  EXPECT_TRUE(marked);
}

TEST(Stack, AfterALossItIsSaid) {
  FLOWBACK_NEEDS_TRACES();
  const std::vector<json> stacks = Objects("vcalls-ovf", {"--at", "50%"});
  ASSERT_EQ(stacks.size(), 1u);
  EXPECT_EQ(stacks[0]["outside"], "lost");
  EXPECT_TRUE(stacks[0]["loss"].get<std::string>().contains("internal buffer overflow"));
  const ProgramResult text = Stack("vcalls-ovf", {"--at", "50%"});
  EXPECT_TRUE(text.out.contains("is not known, since what was before was lost")) << text.out;
  EXPECT_EQ(Stack("vcalls-ovf", {"--at", "50%", "--strict"}).status, 6);
}

TEST(Stack, OfOneThread) {
  FLOWBACK_NEEDS_TRACES();
  const std::vector<json> all = Objects("pool-perthread", {"--at", "50%"});
  ASSERT_GT(all.size(), 2u);
  const std::string tid = std::to_string(all[1]["tid"].get<int>());
  const std::vector<json> one = Objects("pool-perthread", {"--at", "50%", "--thread", tid});
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0], all[1]);
  EXPECT_EQ(Objects("pool-perthread", {"--at", "50%", "--all"}), all);
}

TEST(Stack, AnInstructionIsOfOneThread) {
  FLOWBACK_NEEDS_TRACES();
  const ProgramResult several = Stack("pool-perthread", {"--at", "#1000"});
  EXPECT_EQ(several.status, 2);
  EXPECT_TRUE(several.err.contains("--thread")) << several.err;
  EXPECT_GT(Objects("pool-perthread", {"--at", "#1000", "--all"}).size(), 2u);
}

TEST(Stack, BeforeAndBehindTheFlow) {
  FLOWBACK_NEEDS_TRACES();
  const json before = Objects("hello", {"--at", "tsc:1"}).at(0);
  EXPECT_EQ(before["outside"], "not-begun");
  EXPECT_TRUE(before["frames"].empty());
  const json first = Objects("hello", {"--at", "#0"}).at(0);
  EXPECT_EQ(FunctionsOf(first), std::vector<std::string>{"_start"});
  EXPECT_EQ(Stack("hello", {"--at", "#999999999"}).status, 2);
  const json behind = Objects("hello", {"--at", "#999999999", "--all"}).at(0);
  EXPECT_EQ(behind["reached"], false);
  EXPECT_EQ(behind["frames"], Objects("hello", {}).at(0)["frames"]);
}

TEST(Stack, BadWords) {
  FLOWBACK_NEEDS_TRACES();
  for (const char* word :
       {"", "yesterday", "120%", "-", "+5x", "10,20", "#x", "99999999999999999999x"}) {
    const ProgramResult result = Stack("hello", {"--at=" + std::string(word)});
    EXPECT_EQ(result.status, 2) << word << result.out;
    EXPECT_TRUE(result.err.contains("--at")) << result.err;
  }
  EXPECT_EQ(Stack("hello", {"--time", "10%,20%"}).status, 2);
  EXPECT_EQ(Stack("hello", {"--thread", "nobody"}).status, 2);
  EXPECT_EQ(RunFlowback({"stack", "no_such_file"}).status, 8);
}

}  // namespace
}  // namespace flowback::test
