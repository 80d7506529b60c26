// SPDX-License-Identifier: MIT
// Planted causes of slowness in generated Intel PT with CYC, MTC and TSC packets. The generator
// executed every instruction itself at a time of its own, so counts must be exact, times must lie
// within the proven bounds, and the first sentence must name the cause.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "tests/cli/run_program.h"
#include "tests/spikes/assembled_recording.h"

namespace flowback::spikes {
namespace {

using nlohmann::json;

constexpr uint64_t kRequests = 2000;
constexpr double kTickNanoseconds = 894784853.0 / (uint64_t{1} << 31);
constexpr uint64_t kEvery = 250;  // requests, of which one is slow

struct Planted {
  std::string name;             // as comments in the source mark it
  std::string function;         // takes the time; handle calls it
  std::set<std::string> kinds;  // of the cause, as JSON names them
  std::function<void(AssembledRequest&)> plant;
  double edge = 0;  // the share of its time that passes between the same packets as other code
};

// The lines of the source that are marked with a cause.
std::set<int> LinesOf(const std::string& cause) { return LinesWith("CAUSE " + cause); }

testing::GeneratorOptions Options(uint64_t seed) {
  return {.seed = seed, .psb_period = 4096, .tsc = true, .mtc = true, .cyc = true};
}

// Requests as they usually are.
AssembledRequest Usual(testing::Random& random) {
  return {.items = random.Between(8, 24),
          .depth = random.Between(2, 6),
          .ticket_cycles = random.Between(200, 400)};
}

class Planting {
 public:
  Planting(const AssembledCode& code, const testing::GeneratorOptions& options,
           const std::function<void(AssembledRequest&)>& plant)
      : server(code, options) {
    testing::Random random(options.seed + 77);
    for (uint64_t i = 0; i < kRequests; ++i) {
      AssembledRequest request = Usual(random);
      if (i % kEvery == 0) chosen_ = i + 1 + random.Below(kEvery - 1);
      if (i == chosen_) {
        plant(request);
        slow.insert(i);
      }
      server.Handle(request);
    }
  }
  AssembledServer server;
  std::set<uint64_t> slow;

 private:
  uint64_t chosen_ = 0;
};

// A time in nanoseconds, with its bounds where they are known.
struct Moment {
  Moment(const std::map<std::string, std::string>& row, const std::string& name)
      : time(std::stoull(row.at(name))),
        lo(std::stoull(row.at(name + "_lo"))),
        hi(std::stoull(row.at(name + "_hi"))) {}
  uint64_t time, lo, hi;
};

// Whether something that happened between two values of the counter may lie within the bounds.
bool MayBeWithin(const Moment& moment, uint64_t after, uint64_t before) {
  return moment.lo <= AssembledRecording::TimeOf(before) + 1 &&
         AssembledRecording::TimeOf(after) - 1 <= moment.hi;
}

struct Parts {
  double extra = 0;  // nanoseconds that slow requests took beyond the mean of the others
  double part = 0;   // nanoseconds of these in one function
  double share() const { return part / extra; }
};

Parts TruePart(const Planting& planting, const std::string& function) {
  const double slow = static_cast<double>(planting.slow.size());
  const double scale = slow / (static_cast<double>(kRequests) - slow);
  Parts sums;
  for (uint64_t i = 0; i < kRequests; ++i) {
    const ExecutedRequest& request = planting.server.requests[i];
    const double weight = planting.slow.contains(i) ? kTickNanoseconds : -scale * kTickNanoseconds;
    sums.extra += weight * static_cast<double>(request.time());
    const auto found = request.in_calls.find(function);
    if (found != request.in_calls.end()) sums.part += weight * static_cast<double>(found->second);
  }
  return sums;
}

// Every request is an instance, with its instructions, its time, and whether it is slow. Returns
// how many nanoseconds their times may differ from the truth, on average.
double ExpectInstances(const Planting& planting, const AssembledRecording& recording) {
  const std::vector<ExecutedRequest>& truth = planting.server.requests;
  const auto rows = recording.Instances();
  EXPECT_EQ(rows.size(), truth.size());
  double slack = 0;
  for (size_t i = 0; i < std::min(rows.size(), truth.size()); ++i) {
    const auto& row = rows[i];
    EXPECT_EQ(row.at("instructions"), std::to_string(truth[i].instructions)) << i;
    EXPECT_EQ(row.at("group"), planting.slow.contains(i) ? "slow" : "normal") << i;
    const Moment begin(row, "begin"), end(row, "end");
    EXPECT_TRUE(MayBeWithin(begin, truth[i].called, truth[i].begun)) << i;
    EXPECT_TRUE(MayBeWithin(end, truth[i].ended, truth[i].left)) << i;
    // The latest time of the very last one is unknown.
    const uint64_t latest = i + 1 == truth.size() ? end.time : end.hi;
    slack += static_cast<double>(begin.hi - begin.lo + latest - end.lo);
  }
  return slack / static_cast<double>(rows.size());
}

// The first cause and the sentence about it.
void ExpectFirstCause(const Planted& planted, const Planting& planting, const json& answer) {
  ASSERT_FALSE(answer["causes"].empty()) << answer;
  const json& cause = answer["causes"][0];
  SCOPED_TRACE(cause.dump());
  EXPECT_TRUE(planted.kinds.contains(cause["kind"]));
  EXPECT_TRUE(cause["words"].get<std::string>().contains(planted.function));
  EXPECT_TRUE(LinesOf(planted.name).contains(cause["line"].get<int>()));
  EXPECT_TRUE(cause["words"].get<std::string>().contains("assembled_server.s:" +
                                                         std::to_string(cause["line"].get<int>())));
  EXPECT_EQ(cause["slow_with"], planting.slow.size());
  EXPECT_TRUE(
      answer["sentences"][1].get<std::string>().contains(cause["words"].get<std::string>()));
}

class Generated : public ::testing::TestWithParam<Planted> {};

TEST_P(Generated, CauseIsNamed) {
  const AssembledCode code(ServerPath());
  const testing::GeneratorOptions options = Options(1);
  Planting planting(code, options, GetParam().plant);
  const AssembledRecording recording(code, planting.server, options, SwitchRecords::kOwn);
  const json answer = recording.Json();
  ASSERT_TRUE(answer.is_object());
  EXPECT_EQ(answer["by"], "time");
  EXPECT_EQ(answer["instances"]["compared"], kRequests);
  EXPECT_EQ(answer["slow"], planting.slow.size());
  const double slack = ExpectInstances(planting, recording);
  ExpectFirstCause(GetParam(), planting, answer);
  // Parts within an instance are as certain as its begin and end are.
  const Parts truth = TruePart(planting, GetParam().function);
  const double most = 2 * slack * static_cast<double>(planting.slow.size());
  EXPECT_NEAR(answer["extra"].get<double>(), truth.extra, most);
  const double part = answer["causes"][0]["extra"];
  EXPECT_NEAR(part, truth.part, most + GetParam().edge * truth.part);
  EXPECT_NEAR(answer["causes"][0]["share"].get<double>(), part / truth.extra, 1e-3);
}

// Loads that wait take no more instructions, but cycles; so many as the generator let pass.
TEST(GeneratedCycles, AreThoseOfInstructionsThatWait) {
  const AssembledCode code(ServerPath());
  const testing::GeneratorOptions options = Options(4);
  constexpr uint64_t kCycles = 900;
  Planting planting(code, options, [](AssembledRequest& it) { it.load_cycles = kCycles; });
  const AssembledRecording recording(code, planting.server, options, SwitchRecords::kOwn);
  const json answer = recording.Json({"--by", "cycles"});
  ASSERT_TRUE(answer.is_object());
  EXPECT_EQ(answer["by"], "cycles");
  EXPECT_EQ(answer["slow"], planting.slow.size());
  const json& cause = answer["causes"][0];
  EXPECT_EQ(cause["kind"], "slower");
  EXPECT_TRUE(LinesOf("slower").contains(cause["line"].get<int>())) << cause;
  EXPECT_TRUE(cause["words"].get<std::string>().contains("cycles for each rather than")) << cause;
  const double slow = static_cast<double>(planting.slow.size());
  const double scale = slow / (static_cast<double>(kRequests) - slow);
  double extra = 0;
  for (uint64_t i = 0; i < kRequests; ++i)
    extra += (planting.slow.contains(i) ? 1 : -scale) *
             static_cast<double>(planting.server.requests[i].cycles);
  EXPECT_GT(extra, slow * kCycles);
  EXPECT_NEAR(answer["extra"].get<double>(), extra, 0.02 * extra);
}

// A recording with samples of loads shows which load waited, in the slow requests alone.
TEST(GeneratedLoads, ThatWaitedAreNamed) {
  const AssembledCode code(ServerPath());
  const testing::GeneratorOptions options = Options(5);
  Planting planting(code, options, [](AssembledRequest& it) { it.load_cycles = 900; });
  const uint64_t load = code.nodes[code.At(Place::kLoad)].address;
  const AssembledRecording recording(code, planting.server, options, [&] {
    std::vector<SampledLoad> loads;
    for (uint64_t i = 0; i < kRequests; ++i) {
      const ExecutedRequest& request = planting.server.requests[i];
      const bool slow = planting.slow.contains(i);
      for (const uint64_t cycles : {850, 870})
        loads.push_back(
            {.tsc = (request.begun + request.ended) / 2, .ip = load, .cycles = slow ? cycles : 7});
    }
    return loads;
  });
  const json answer = recording.Json();
  ASSERT_FALSE(answer["outliers"].empty());
  for (const json& outlier : answer["outliers"]) {
    EXPECT_EQ(outlier["sampled_accesses"], 2);
    EXPECT_EQ(outlier["sampled_cycles"], 1720);
    const auto sentence = outlier["sentence"].get<std::string>();
    EXPECT_TRUE(
        sentence.contains("2 sampled accesses waited 1720 cycles for data, 1720 of them at"))
        << sentence;
    EXPECT_TRUE(sentence.contains("assembled_server.s:")) << sentence;
  }
}

TEST(GeneratedSleep, IsInTheKernelWhereNothingTellsOfSwitches) {
  const AssembledCode code(ServerPath());
  const testing::GeneratorOptions options = Options(2);
  Planting planting(code, options, [](AssembledRequest& it) { it.sleep_cycles = 50'000; });
  const AssembledRecording recording(code, planting.server, options, SwitchRecords::kNone);
  const json answer = recording.Json();
  EXPECT_EQ(answer["slow"], planting.slow.size());
  EXPECT_EQ(answer["causes"][0]["function"], "the system call nanosleep");
  EXPECT_TRUE(Says(answer, "of this time was in the kernel.")) << answer["sentences"];
  EXPECT_FALSE(Says(answer, "off the CPU"));
}

TEST(GeneratedPreemption, IsAnInterruptionOffTheCpu) {
  const AssembledCode code(ServerPath());
  testing::GeneratorOptions options = Options(3);
  options.return_compression = false;  // the two threads would share the hardware's call stack
  Planting planting(code, options, [](AssembledRequest& it) { it.neighbour_trips = 20'000; });
  const AssembledRecording recording(code, planting.server, options, SwitchRecords::kCpuWide);
  ExpectInstances(planting, recording);
  const json answer = recording.Json();
  const Planted planted{"preemption", "copy", {"interrupted"}, {}};
  ExpectFirstCause(planted, planting, answer);
  EXPECT_TRUE(Says(answer, "of this time was off the CPU, while neighbour (tid 4001) ran there."))
      << answer["sentences"];
  for (const json& outlier : answer["outliers"])
    EXPECT_TRUE(outlier["sentence"].get<std::string>().contains(
        "Meanwhile others ran there: neighbour (tid 4001) for "))
        << outlier["sentence"];
}

// The CPU was idle while the request slept, and there is no record of another CPU.
TEST(GeneratedPreemption, IsNotSaidOfAnIdleCpu) {
  const AssembledCode code(ServerPath());
  const testing::GeneratorOptions options = Options(4);
  Planting planting(code, options, [](AssembledRequest& it) { it.sleep_cycles = 50'000; });
  const AssembledRecording recording(code, planting.server, options, SwitchRecords::kCpuWide);
  const json answer = recording.Json();
  EXPECT_TRUE(Says(answer, "of this time was off the CPU."));
  for (const json& outlier : answer["outliers"])
    EXPECT_FALSE(outlier["sentence"].get<std::string>().contains("ran there"));
}

TEST(GeneratedCauses, AreBothNamedWhereTwoCoincide) {
  const AssembledCode code(ServerPath());
  const testing::GeneratorOptions options = Options(4);
  Planting planting(code, options, [](AssembledRequest& it) {
    it.costly = true;
    it.ticket_cycles = 6000;
  });
  const AssembledRecording recording(code, planting.server, options, SwitchRecords::kOwn);
  const double slack = ExpectInstances(planting, recording);
  const json answer = recording.Json();
  ASSERT_GE(answer["causes"].size(), 2);
  const double most = 2 * slack * static_cast<double>(planting.slow.size());
  for (const auto& [function, kind] :
       {std::pair("costly", "callee"), std::pair("take_ticket", "system-time")}) {
    const auto named = std::ranges::find_if(answer["causes"], [&](const json& cause) {
      return cause["kind"] == kind && cause["words"].get<std::string>().contains(function);
    });
    ASSERT_NE(named, answer["causes"].end()) << function << answer;
    EXPECT_NEAR((*named)["extra"].get<double>(), TruePart(planting, function).part, most);
  }
}

TEST(GeneratedNoise, IsNoSpike) {
  const AssembledCode code(ServerPath());
  for (uint64_t seed = 5; seed < 8; ++seed) {
    const testing::GeneratorOptions options = Options(seed);
    Planting planting(code, options, [](AssembledRequest&) {});
    const AssembledRecording recording(code, planting.server, options, SwitchRecords::kOwn);
    const json answer = recording.Json();
    EXPECT_EQ(answer["slow"], 0) << answer["sentences"];
    EXPECT_EQ(answer["instances"]["compared"], kRequests);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Causes, Generated,
    ::testing::Values(
        Planted{"rare-branch", "price", {"branch"}, [](auto& request) { request.rounds = 1500; }},
        Planted{"longer-loop", "count_items", {"trips"}, [](auto& r) { r.items = 2000; }},
        Planted{"virtual-callee", "costly", {"callee"}, [](auto& r) { r.costly = true; }},
        Planted{"deep-recursion", "nest", {"calls"}, [](auto& r) { r.depth = 600; }},
        Planted{"slower", "copy", {"slower"}, [](auto& r) { r.load_cycles = 900; }, 1.0 / 8},
        Planted{
            "page-fault-storm", "touch", {"interrupted"}, [](auto& r) { r.fault_cycles = 2500; }},
        Planted{"slow-syscall",
                "take_ticket",
                {"system-time"},
                [](auto& r) { r.ticket_cycles = 50000; }},
        Planted{"sleep", "throttle", {"system-call"}, [](auto& r) { r.sleep_cycles = 50000; }}),
    [](const auto& test) {
      std::string name = test.param.name;
      for (char& c : name)
        if (c == '-') c = '_';
      return name;
    });

}  // namespace
}  // namespace flowback::spikes
