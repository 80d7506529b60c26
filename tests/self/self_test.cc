// SPDX-License-Identifier: MIT
// Programs that direct the recording of themselves, with the real kernel's software events.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "tests/cli/run_program.h"
#include "tests/support/host.h"

namespace flowback::test {
namespace {

using nlohmann::json;

#define FLOWBACK_NEEDS_PERF_EVENTS() FLOWBACK_NEEDS_HOST(flowback::host::Trait::kPerfEvents)

class Self : public testing::Test {
 protected:
  // Output of the program that does these steps; the recording is File().
  std::string Do(const std::string& steps, const std::string& engine = "events",
                 const std::string& event = "cpu-clock:u", const std::string& before = "") {
    const ProgramResult result =
        RunShell(folder_, before + " FLOWBACK_PROGRAM=$F " FLOWBACK_DIRECTS_ITSELF " '" + File() +
                              "' '" + engine + "' '" + event + "' " + steps);
    EXPECT_FALSE(result.timed_out) << steps;
    return result.out + result.err;
  }
  std::string File() const { return folder_.File("r"); }
  json Info() const {
    return json::parse(RunFlowback({"info", "--json", File()}).out, nullptr, false);
  }
  uint64_t Samples() const {
    const json info = Info();
    return info.contains("records") ? info["records"].value("SAMPLE", uint64_t{0}) : 0;
  }
  json Region(const std::string& name) const {
    for (const json& region : Info().value("regions", json::array()))
      if (region["name"] == name) return region;
    return {};
  }

  const ScratchFolder folder_;
};

TEST_F(Self, RecordsFromStartToStop) {
  FLOWBACK_NEEDS_PERF_EVENTS();
  EXPECT_EQ(Do("recording start recording burn:100 stop recording"),
            "recording: 0\nstart: done\nrecording: 1\nstop: done\nrecording: 0\n");
  EXPECT_GT(Samples(), 50);
}

TEST_F(Self, PausesAndGoesOn) {
  FLOWBACK_NEEDS_PERF_EVENTS();
  EXPECT_EQ(Do("start-paused burn:200 stop"), "start-paused: done\nstop: done\n");
  EXPECT_EQ(Samples(), 0);
  EXPECT_EQ(Do("start-paused burn:300 resume burn:100 pause burn:300 stop"),
            "start-paused: done\nresume: done\npause: done\nstop: done\n");
  const uint64_t samples = Samples();  // 4000 a second
  EXPECT_GT(samples, 50);
  EXPECT_LT(samples, 700);
}

TEST_F(Self, RegionsAloneAreRecorded) {
  FLOWBACK_NEEDS_PERF_EVENTS();
  EXPECT_EQ(Do("start-regions burn:300 region:busy burn:100 recording end recording burn:300 stop"),
            "start-regions: done\nrecording: 1\nrecording: 0\nstop: done\n");
  const uint64_t samples = Samples();
  EXPECT_GT(samples, 50);
  EXPECT_LT(samples, 700);
  EXPECT_EQ(Region("busy")["begun"], 1);
  EXPECT_GE(Region("busy")["total_ns"], 100'000'000);
}

TEST_F(Self, RegionsAreCounted) {
  FLOWBACK_NEEDS_PERF_EVENTS();
  Do("end region:before start end region:a region:b end end region:a end region:open crowd stop");
  EXPECT_EQ(Region("before"), json());
  EXPECT_EQ(Region("a")["begun"], 2);
  EXPECT_EQ(Region("a")["ended"], 2);
  EXPECT_EQ(Region("open")["begun"], 1);
  EXPECT_EQ(Region("open")["ended"], 0);
  EXPECT_EQ(Region("all")["ended"], 8000);
  for (int i = 0; i < 8; ++i) EXPECT_EQ(Region("thread " + std::to_string(i))["ended"], 1000) << i;
  const std::string text = RunFlowback({"info", File()}).out;
  EXPECT_TRUE(text.contains("thread 7\n")) << text;
}

TEST_F(Self, CountersAreRead) {
  FLOWBACK_NEEDS_PERF_EVENTS();
  const std::string told = Do("start-counters burn:100 counters stop");
  const size_t at = told.find("counter task-clock ");
  ASSERT_NE(at, std::string::npos) << told;
  EXPECT_GE(std::stoull(told.substr(at + 19)), 90'000'000) << told;
  EXPECT_TRUE(
      Do("start counters stop").contains("counters: nothing is counted: record with --stat"));
}

TEST_F(Self, OneThreadAlone) {
  FLOWBACK_NEEDS_PERF_EVENTS();
  EXPECT_EQ(Do("start-thread burn:100 stop"), "start-thread: done\nstop: done\n");
  EXPECT_GT(Samples(), 50);
}

TEST_F(Self, ChildrenDirectNothing) {
  FLOWBACK_NEEDS_PERF_EVENTS();
  const std::string why =
      "this process was forked from one that is recorded: it is recorded with it\n";
  EXPECT_EQ(
      Do("start fork burn:50 pause stop"),
      "start: done\nchild resume: " + why + "child start: " + why + "pause: done\nstop: done\n");
  EXPECT_EQ(Region("of the child"), json());
}

// Its wait and its files are its own.
TEST_F(Self, RecorderIsNotSeen) {
  FLOWBACK_NEEDS_PERF_EVENTS();
  const std::string told = Do("start wait stop files wait start stop files");
  const size_t files = told.find("files: ");
  ASSERT_NE(files, std::string::npos) << told;
  const std::string number = told.substr(files, told.find('\n', files) + 1 - files);
  EXPECT_EQ(told, "start: done\nwait: none\nstop: done\n" + number +
                      "wait: none\nstart: done\nstop: done\n" + number);
}

TEST_F(Self, EndOfTheProgramCompletesIt) {
  FLOWBACK_NEEDS_PERF_EVENTS();
  Do("start region:last burn:50");
  EXPECT_EQ(Region("last")["begun"], 1) << Info();
  EXPECT_GT(Samples(), 0);
}

TEST_F(Self, DeathOfTheProgramCompletesIt) {
  FLOWBACK_NEEDS_PERF_EVENTS();
  Do("start region:last burn:50 die");
  for (int i = 0; i < 200 && Region("last").is_null(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(Region("last")["begun"], 1) << Info();
  EXPECT_GT(Samples(), 0);
}

TEST_F(Self, SecondStartIsRefusedAndThirdIsNot) {
  FLOWBACK_NEEDS_PERF_EVENTS();
  EXPECT_EQ(Do("start region:one end start stop start region:two end stop stop"),
            "start: done\nstart: this process is recorded already: flowback_self_stop ends that\n"
            "stop: done\nstart: done\nstop: done\n"
            "stop: nothing is recorded: flowback_self_start was not called\n");
  EXPECT_EQ(Region("one"), json());
  EXPECT_EQ(Region("two")["ended"], 1);
}

// ---- where nothing can be recorded ----

TEST_F(Self, ReasonsAreTheRecorders) {
  EXPECT_EQ(Do("resume pause snapshot counters stop"), [] {
    std::string all;
    for (const char* step : {"resume", "pause", "snapshot", "counters", "stop"})
      all += std::string(step) + ": nothing is recorded: flowback_self_start was not called\n";
    return all;
  }());
  const std::string unknown = Do("start region:a end stop", "nonsense", "");
  EXPECT_TRUE(unknown.contains("start: flowback: record: no engine 'nonsense'; try: --engine "))
      << unknown;
  EXPECT_TRUE(unknown.contains("stop: nothing is recorded")) << unknown;
  EXPECT_TRUE(Do("start", "events", "no-such-event").contains("no-such-event"));
  EXPECT_TRUE(Do("start", "emulate", "").contains("start: flowback: "));
  EXPECT_TRUE(Do("output:/no/such/folder/r start").contains("/no/such/folder"));
}

TEST_F(Self, HardwareThatIsNotThereIsSaid) {
  const ProgramResult doctor =
      RunFlowback({"record", "--engine", "hardware", "-o", File(), "--", "true"});
  if (doctor.status == 0) GTEST_SKIP() << "there is hardware";
  const std::string told = Do("start", "", "");
  const std::string sentence = doctor.err.substr(0, doctor.err.find('\n'));
  EXPECT_TRUE(told.contains(sentence)) << told << "\n" << doctor.err;
}

// A start that records nothing is none.
TEST_F(Self, NothingToSwitchOnIsSaid) {
  FLOWBACK_NEEDS_PERF_EVENTS();
  const std::string told = Do("start stop", "events", "dummy:u");
  EXPECT_TRUE(told.starts_with("start: no event")) << told;
  EXPECT_TRUE(told.contains("stop: no event")) << told;
}

TEST_F(Self, NoProgramIsSaid) {
  EXPECT_TRUE(
      Do("start", "", "", "F=/nothing/here;").contains("there is no program flowback in PATH"));
}

TEST_F(Self, CanBeTurnedOff) {
  EXPECT_EQ(Do("start stop", "events", "cpu-clock:u", "FLOWBACK_SELF=off"),
            "start: FLOWBACK_SELF=off is in the environment\n"
            "stop: FLOWBACK_SELF=off is in the environment\n");
}

TEST_F(Self, RecorderThatEndsIsSaid) {
  FLOWBACK_NEEDS_PERF_EVENTS();
  const std::string told = Do("start-limited burn:600 pause resume recording");
  EXPECT_TRUE(told.contains("pause: flowback: record: ")) << told;
  EXPECT_TRUE(told.contains("resume: flowback: record: ")) << told;
  EXPECT_TRUE(told.contains("recording: 0")) << told;
}

}  // namespace
}  // namespace flowback::test
