// SPDX-License-Identifier: MIT
// Profiles that were made by hand, compared.
#include "replay/diff/run_comparison.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "replay/diff/diff_limit.h"

namespace flowback {
namespace {

// A run of which so many of all lines executed.
RunProfile RunWithLines(uint64_t executed, uint64_t total) {
  RunProfile run;
  run.shares.lines = {.total = total, .executed = executed};
  return run;
}

LimitOutcome Held(const std::string& limit, const std::vector<RunProfile>& old,
                  const std::vector<RunProfile>& now) {
  return Hold(*DiffLimit::Parse(limit), Compare(old, now));
}

// The new side executes about as many lines of twice the code.
TEST(RunComparison, HoldsLimitsAgainstTheSharesOfEachRun) {
  const std::vector<RunProfile> old = {RunWithLines(80, 100), RunWithLines(81, 100),
                                       RunWithLines(80, 100)};
  const std::vector<RunProfile> now = {RunWithLines(80, 200), RunWithLines(80, 200),
                                       RunWithLines(81, 200)};
  for (const char* limit : {"coverage(lines) < -1%", "coverage(lines) < 0.9x", "coverage() < -5"}) {
    const LimitOutcome outcome = Held(limit, old, now);
    EXPECT_TRUE(outcome.exceeded) << limit;
    EXPECT_FALSE(outcome.is_noise) << limit;
    EXPECT_NEAR(outcome.change.old.mean, 80.33, 0.01);
    EXPECT_NEAR(outcome.change.now.mean, 40.17, 0.01);
  }
}

// Ten times the code, of which the same share executes.
TEST(RunComparison, SharesThatOverlapAreNoise) {
  const std::vector<RunProfile> old = {RunWithLines(50, 100), RunWithLines(60, 100)};
  const std::vector<RunProfile> now = {RunWithLines(490, 1000), RunWithLines(590, 1000)};
  const LimitOutcome outcome = Held("coverage(lines) < 0.999x", old, now);
  EXPECT_FALSE(outcome.exceeded);
  EXPECT_TRUE(outcome.is_noise);
}

TEST(RunComparison, ARunWithoutLinesIsNoShare) {
  const LimitOutcome outcome = Held("coverage(lines) < 1x", {RunWithLines(50, 100)},
                                    {RunWithLines(50, 100), RunWithLines(0, 0)});
  EXPECT_DOUBLE_EQ(outcome.change.now.mean, 50);
  EXPECT_FALSE(outcome.exceeded);
  EXPECT_FALSE(
      Held("coverage(lines) < 1x", {RunWithLines(0, 0)}, {RunWithLines(50, 100)}).passed());
}

MeasuredChange ChangeOf(uint64_t old, uint64_t now) {
  return {Measured::Of(std::vector<uint64_t>{old}), Measured::Of(std::vector<uint64_t>{now})};
}

LineChange ChangedLine(const char* file, uint32_t number, uint64_t now) {
  LineChange line;
  line.file = file;
  line.line = number;
  line.function = "Init";
  line.instructions = ChangeOf(0, now);
  return line;
}

// Two files have a function of that name. The largest change is in the other one.
TEST(RunComparison, TheMostChangedLineIsInTheFunctionsOwnFile) {
  RunComparison diff;
  diff.lines = {ChangedLine("other.c", 9, 900), ChangedLine("own.c", 5, 50)};
  FunctionChange function;
  function.name = "Init";
  function.at = {"own.c", 4};
  function.file = "own.c";
  function.self = ChangeOf(0, 60);
  const LineChange* const line = MostChangedLine(diff, function);
  ASSERT_NE(line, nullptr);
  EXPECT_EQ(line->file, "own.c");
  EXPECT_EQ(line->line, 5u);
}

// "lib.so" has the function `F`, at line 3 of lib.c.
RunProfile RunOfLibrary() {
  RunProfile run;
  run.objects = {{.id = {}, .has_code = true, .executed = true}};
  run.objects[0].id.path = "/lib/lib.so";
  run.files = {"lib.c"};
  run.functions = {{.address = 0x1000,
                    .name = "F",
                    .at = {0, 3},
                    .last_line = 4,
                    .state = Executed::kYes,
                    .sums = {.calls = 1, .self = 5}}};
  run.lines = {{.at = {0, 3}, .state = Executed::kYes, .times = 1, .instructions = 5, .text = {}}};
  run.instructions = 5;
  return run;
}

// The same library without its file: only the sum of its instructions is known.
RunProfile RunWithoutFile() {
  RunProfile run = RunOfLibrary();
  run.objects[0].has_code = false;
  run.objects[0].lines_unknown = run.objects[0].functions_unknown = true;
  run.functions = {{.name = {}, .state = Executed::kYes, .sums = {.self = 7}}};
  run.lines.clear();
  return run;
}

TEST(RunComparison, CodeWithoutAFileOnOneSideIsNotKnownThere) {
  for (const bool is_new : {false, true}) {
    const std::vector<RunProfile> known = {RunOfLibrary()};
    const std::vector<RunProfile> unknown = {RunWithoutFile()};
    const RunComparison diff = is_new ? Compare(known, unknown) : Compare(unknown, known);
    ASSERT_EQ(diff.functions.size(), 2u);
    for (const FunctionChange& each : diff.functions)
      EXPECT_EQ(each.fate, Fate::kNotKnown) << each.name;
    ASSERT_EQ(diff.lines.size(), 1u);
    EXPECT_EQ(diff.lines[0].fate, Fate::kNotKnown);
    EXPECT_EQ(diff.unmatched_lines, 0u);
    ASSERT_EQ(diff.objects.size(), 1u);
    EXPECT_EQ(std::pair(diff.objects[0].old_missing, diff.objects[0].missing),
              std::pair(!is_new, is_new));
    const LimitOutcome outcome = Hold(*DiffLimit::Parse("self(F) > 1x"), diff);
    EXPECT_TRUE(outcome.problem.contains("not known of one side")) << outcome.problem;
    EXPECT_EQ(Hold(*DiffLimit::Parse("self(F) > 4"), diff).exceeded, !is_new);
  }
}

// A library that one side does not have at all is known not to have executed there.
TEST(RunComparison, CodeOfAnObjectThatOneSideLacksIsNew) {
  const RunComparison diff = Compare({{RunProfile()}}, {{RunOfLibrary()}});
  ASSERT_EQ(diff.functions.size(), 1u);
  EXPECT_EQ(diff.functions[0].fate, Fate::kAdded);
}

// Its file is missing, nothing of it executed, and no trace was lost.
TEST(RunComparison, CodeThatDidNotExecuteIsNewWithoutAFileToo) {
  RunProfile idle = RunWithoutFile();
  idle.objects[0].executed = false;
  idle.objects[0].lines_unknown = idle.objects[0].functions_unknown = false;
  idle.functions.clear();
  const RunComparison diff = Compare({{idle}}, {{RunOfLibrary()}});
  ASSERT_EQ(diff.functions.size(), 1u);
  EXPECT_EQ(diff.functions[0].fate, Fate::kNewlyExecuted);
  EXPECT_FALSE(diff.objects[0].old_missing);
}

RunProfile RunWithWaits(uint64_t waits) {
  RunProfile run;
  run.has_waits = true;
  if (waits != 0) run.waits = {{.function = "Lock", .caller = "Work", .waits = waits}};
  return run;
}

TEST(RunComparison, WaitsOfARunThatLostTraceAreNotKnown) {
  RunProfile lossy = RunWithWaits(0);
  EXPECT_EQ(Compare({{lossy}}, {{RunWithWaits(3)}}).waits.at(0).fate, Fate::kNewlyExecuted);
  lossy.has_losses = true;
  const RunComparison diff = Compare({{lossy}}, {{RunWithWaits(3)}});
  ASSERT_EQ(diff.waits.size(), 1u);
  EXPECT_EQ(diff.waits[0].fate, Fate::kNotKnown);
  EXPECT_EQ(diff.waits[0].waits.now.rounded(), 3u);
  EXPECT_EQ(diff.all_waits.delta(), 3);
}

// A side on which waits were not searched for has none to compare with.
TEST(RunComparison, WaitsNeedBothSides) {
  const RunComparison diff = Compare({{RunProfile()}}, {{RunWithWaits(3)}});
  EXPECT_FALSE(diff.has_waits);
  EXPECT_TRUE(diff.waits.empty());
}

}  // namespace
}  // namespace flowback
