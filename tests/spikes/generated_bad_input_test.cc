// SPDX-License-Identifier: MIT
// Generated recordings in which instances are hard to compare: all lost, without times, very long,
// or of two threads with one number.
#include <gtest/gtest.h>

#include <string>

#include "tests/spikes/assembled_recording.h"

namespace flowback::spikes {
namespace {

using nlohmann::json;

constexpr uint64_t kCalls = 300;
constexpr uint64_t kSlowCall = 123;

class GeneratedBadInput : public ::testing::Test {
 protected:
  const AssembledCode code_{ServerPath()};
  testing::GeneratorOptions options_{
      .seed = 11, .psb_period = 4096, .tsc = true, .mtc = true, .cyc = true};

  // One of the requests is slow.
  AssembledRequest Request(uint64_t number) const {
    return {.rounds = number == kSlowCall ? 1500u : 0u, .items = 10 + number % 7};
  }
};

TEST_F(GeneratedBadInput, ALossInEachInstance) {
  AssembledServer server(code_, options_);
  for (uint64_t i = 0; i < kCalls; ++i) {
    AssembledRequest request = Request(i);
    request.lost = true;
    server.Handle(request);
  }
  const AssembledRecording recording(code_, server, options_, SwitchRecords::kOwn);
  const json answer = recording.Json();
  EXPECT_EQ(answer["instances"]["lost"], kCalls);
  EXPECT_EQ(answer["instances"]["whole"], 0);
  EXPECT_TRUE(Says(answer, "There is no whole call of handle to compare."));
  EXPECT_TRUE(Says(answer, "The trace has a loss in each of them"));
  EXPECT_TRUE(Says(answer, "300 cut by a loss."));
}

TEST_F(GeneratedBadInput, TimesMissing) {
  options_.tsc = options_.mtc = options_.cyc = false;
  AssembledServer server(code_, options_);
  for (uint64_t i = 0; i < kCalls; ++i) server.Handle(Request(i));
  const AssembledRecording recording(code_, server, options_, SwitchRecords::kNone);
  const json answer = recording.Json();
  EXPECT_EQ(answer["by"], "instructions");
  EXPECT_EQ(answer["slow"], 1);
  EXPECT_EQ(answer["outliers"][0]["instance"], kSlowCall);
  EXPECT_EQ(answer["causes"][0]["kind"], "branch");
  EXPECT_TRUE(Says(answer, "The trace has no times: everything is compared by instructions."));
  for (const char* measure : {"time", "off-cpu", "kernel"}) {
    const test::ProgramResult asked = recording.Run({"--by", measure});
    EXPECT_EQ(asked.status, 2);
    EXPECT_EQ(asked.out, "");
    EXPECT_TRUE(asked.err.contains("the trace has no times")) << asked.err;
    EXPECT_TRUE(asked.err.contains("--by instructions")) << asked.err;
  }
}

TEST_F(GeneratedBadInput, TenMillionInstructions) {
  options_.tsc = options_.mtc = options_.cyc = false;
  AssembledServer server(code_, options_);
  for (uint64_t i = 0; i < 10; ++i) {
    AssembledRequest request = Request(i);
    if (i == 7) request.items = 2'500'000;
    server.Handle(request);
  }
  const AssembledRecording recording(code_, server, options_, SwitchRecords::kNone);
  const json answer = recording.Json();
  EXPECT_EQ(answer["slow"], 1);
  EXPECT_EQ(answer["outliers"][0]["instructions"], server.requests[7].instructions);
  EXPECT_GT(server.requests[7].instructions, 10'000'000);
  EXPECT_EQ(answer["causes"][0]["kind"], "trips");
  EXPECT_EQ(answer["causes"][0]["slow_count"], 2'499'999);
}

TEST_F(GeneratedBadInput, SlowCallsAlone) {
  for (const bool triggered : {false, true}) {
    AssembledServer server(code_, options_);
    for (uint64_t i = 0; i < 20; ++i) server.Handle({.rounds = 1000 + i % 5, .items = 10});
    std::vector<std::string> events = {"intel_pt//u", "uprobe:other", "dummy:u"};
    if (triggered) events.insert(events.end(), {"uprobe:handle", "uprobe:handle:return"});
    const AssembledRecording recording(code_, server, options_, SwitchRecords::kOwn, events);
    const json answer = recording.Json();
    EXPECT_EQ(answer["trigger"], triggered ? json("handle") : json());
    EXPECT_EQ(Says(answer, "The recorder kept the trace of slow calls of handle alone"), triggered);
    const json all = recording.Json({"--over", "1us"});
    EXPECT_EQ(all["slow"], 20);
    EXPECT_TRUE(Says(all, "hat the slow ones did differently is not known."));
  }
}

TEST_F(GeneratedBadInput, TwoThreadsWithOneNumber) {
  options_.return_compression = false;
  AssembledServer server(code_, options_);
  for (uint64_t i = 0; i < kCalls; ++i) {
    if (i == kCalls / 2) server.Restart();
    server.Handle(Request(i));
  }
  const AssembledRecording recording(code_, server, options_, SwitchRecords::kOwn);
  const json answer = recording.Json();
  EXPECT_EQ(answer["instances"]["whole"], kCalls);
  EXPECT_EQ(answer["slow"], 1);
  const auto rows = recording.Instances();
  ASSERT_EQ(rows.size(), kCalls);
  for (uint64_t i = 0; i < kCalls; ++i) {
    const ExecutedRequest& truth = server.requests[i];
    EXPECT_EQ(rows[i].at("instructions"), std::to_string(truth.instructions)) << i;
    EXPECT_LE(std::stoull(rows[i].at("begin_lo")), AssembledRecording::TimeOf(truth.begun)) << i;
    EXPECT_GE(std::stoull(rows[i].at("end_hi")), AssembledRecording::TimeOf(truth.ended)) << i;
    EXPECT_GT(std::stoull(rows[i].at("time")), 0u) << i;
  }
}

}  // namespace
}  // namespace flowback::spikes
