// SPDX-License-Identifier: MIT
// Requests that one thread hands to another, in generated Intel PT with PTWRITE: how long each took
// from the one to the other, and why some took longer.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/cli/run_program.h"
#include "tests/spikes/assembled_recording.h"

namespace flowback::spikes {
namespace {

using nlohmann::json;

constexpr uint32_t kRequests = 600;
constexpr uint32_t kTogether = 4;  // that are handed on before the server comes to them

// "assembled_server.s:12", of the line with that comment.
std::string PlaceWith(const std::string& comment) {
  return "assembled_server.s:" + std::to_string(*LinesWith(comment).begin());
}

class GeneratedPairs : public ::testing::Test {
 protected:
  // Hands on all requests, the one of `first` in a bunch of `bunch`.
  template <class Plant>
  void Serve(uint32_t first, uint32_t bunch, const Plant& plant) {
    testing::Random random(9);
    for (uint32_t next = 0; next < kRequests;) {
      std::vector<uint32_t> values(next == first ? bunch : kTogether);
      for (uint32_t& value : values) value = next++;
      server_.Submit(values, 100);
      for (const uint32_t value : values) {
        AssembledRequest request{.items = random.Between(8, 24), .value = value};
        plant(request);
        server_.Handle(request);
      }
    }
  }

  json Answer(const AssembledRecording& recording, std::vector<std::string> more = {}) {
    std::vector<std::string> words = {"--start",         PlaceWith("SUBMITTED"), "--stop",
                                      PlaceWith("DONE"), "--across-threads",     "--json"};
    words.insert(words.end(), more.begin(), more.end());
    const test::ProgramResult run = recording.RunFor(words);
    EXPECT_EQ(run.status, 0) << run.err;
    return json::parse(run.out, nullptr, false);
  }

  const AssembledCode code_{ServerPath()};
  const testing::GeneratorOptions options_{
      .seed = 11, .ptwrite = true, .psb_period = 4096, .tsc = true, .mtc = true, .cyc = true};
  AssembledServer server_{code_, options_};
};

TEST_F(GeneratedPairs, ASlowCallOfTheThreadThatEndsThemIsNamed) {
  Serve(kRequests, 0, [](AssembledRequest& request) {
    // The last of a bunch, so that no other one waits for it.
    if (*request.value % (38 * kTogether) == 20 * kTogether - 1) request.rounds = 20'000;
  });
  const AssembledRecording recording(code_, server_, options_, SwitchRecords::kCpuWide);
  const json answer = Answer(recording);
  ASSERT_TRUE(answer.is_object());
  EXPECT_EQ(answer["instances"]["whole"], kRequests);
  for (const char* unpaired : {"without_begin", "without_end", "without_value"})
    EXPECT_EQ(answer["instances"][unpaired], 0) << unpaired;
  EXPECT_EQ(answer["slow"], 4);
  // From one stop to the next: what it writes, a jump, the call, and what the call executes.
  for (const json& outlier : answer["outliers"]) {
    const auto same = std::ranges::find_if(server_.requests, [&](const auto& request) {
      return outlier["instructions"] == request.instructions + 3;
    });
    EXPECT_NE(same, server_.requests.end()) << outlier["instructions"];
  }
  ASSERT_EQ(server_.submitted.size(), kRequests);
  ASSERT_EQ(server_.done.size(), kRequests);
  ASSERT_FALSE(answer["causes"].empty());
  EXPECT_EQ(answer["causes"][0]["function"], "price") << answer["causes"][0];
  EXPECT_GT(answer["causes"][0]["share"], 0.9);
}

TEST_F(GeneratedPairs, WaitingForTheThreadThatEndsThemIsACause) {
  constexpr uint32_t kFirst = 300, kMany = 60;
  Serve(kFirst, kMany, [](AssembledRequest&) {});
  const AssembledRecording recording(code_, server_, options_, SwitchRecords::kCpuWide);
  const json answer = Answer(recording, {"--over", "4x"});
  ASSERT_TRUE(answer.is_object());
  EXPECT_EQ(answer["instances"]["whole"], kRequests);
  ASSERT_FALSE(answer["causes"].empty());
  EXPECT_EQ(answer["causes"][0]["kind"], "queued") << answer["sentences"];
  for (const json& outlier : answer["outliers"]) {
    const uint64_t begin = outlier["begin"], end = outlier["end"];
    const auto away = [&](uint64_t tsc, uint64_t time) {
      const uint64_t at = AssembledRecording::TimeOf(tsc);
      return std::max(at, time) - std::min(at, time);
    };
    const auto same = std::ranges::min_element(
        server_.done, {}, [&](const auto& each) { return away(each.second, end); });
    EXPECT_LT(away(same->second, end), 100U);
    EXPECT_LT(away(server_.submitted.at(same->first), begin), 100U);
    EXPECT_GE(same->first, kFirst);
    EXPECT_LT(same->first, kFirst + kMany);
  }
}

}  // namespace
}  // namespace flowback::spikes
