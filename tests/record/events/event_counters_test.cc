// SPDX-License-Identifier: MIT
// Counters beside the trace: of the kernel that runs here, judged by perf and by a program that
// knows what it did; of a simulated one where there must be hardware.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "tests/record/events/event_simulated.h"
#include "tests/record/recorded.h"
#include "tests/support/places.h"

namespace flowback::record_test {
namespace {

using std::chrono::milliseconds;

#define FLOWBACK_NEEDS_PERF_EVENTS() FLOWBACK_NEEDS_HOST(flowback::host::Trait::kPerfEvents)

size_t PlaceOf(const CountedEvents& counters, std::string_view event) {
  const auto found = std::ranges::find_if(counters.events, [&](const EventCounter& one) {
    return one.name == event || one.name == std::string(event) + ":u";
  });
  EXPECT_NE(found, counters.events.end()) << event;
  return static_cast<size_t>(found - counters.events.begin());
}

uint64_t TotalOf(const CountedEvents& counters, std::string_view event) {
  const size_t place = PlaceOf(counters, event);
  return place < counters.events.size() ? counters.events[place].total.value : 0;
}

// Returns the count of each thread that has one.
std::vector<uint64_t> ByThread(const CountedEvents& counters, std::string_view event) {
  std::vector<uint64_t> values;
  const size_t place = PlaceOf(counters, event);
  for (const ThreadCount& count : counters.threads)
    if (count.event == place) values.push_back(count.value.value);
  std::ranges::sort(values);
  return values;
}

class EventCountersHere : public ::testing::Test {
 protected:
  EventCountersHere() {
    options_.engine = "events";
    options_.files.output = File("ours.data");
    options_.events.words = {"dummy:u"};
    options_.events.counters = true;
    options_.target.command = {RecordedProgramsFolder() + "/toucher"};
  }
  std::string File(const std::string& name) const { return (folder_.path() / name).string(); }
  RecordSummary Run() {
    const auto summary = Record(options_);
    EXPECT_TRUE(summary) << summary.error().message();
    return summary ? *summary : RecordSummary();
  }
  CountedEvents Counted() const {
    const auto recording = OpenFile(options_.files.output);
    EXPECT_TRUE(recording);
    return recording ? recording->counters : CountedEvents();
  }
  // What a command prints on both streams.
  std::string OutputOf(const std::string& command) const {
    const int status = std::system((command + " >" + File("output") + " 2>&1").c_str());
    std::ostringstream text;
    text << std::ifstream(File("output")).rdbuf();
    EXPECT_EQ(status, 0) << command << '\n' << text.str();
    return text.str();
  }
  // {"page-faults": 7321}, of lines "7,321  page-faults  ..." with digits in groups.
  static std::map<std::string, uint64_t> CountsIn(const std::string& text) {
    std::map<std::string, uint64_t> counts;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      std::erase(line, ',');
      std::istringstream words(line);
      double count = 0;
      std::string event, unit;
      if (!(words >> count >> event)) continue;
      if (event == "msec" && words >> unit) {
        counts[unit] = static_cast<uint64_t>(std::llround(count * 1e6));
        continue;
      }
      counts[event] = static_cast<uint64_t>(count);
    }
    return counts;
  }

  support::TemporaryFolder folder_;
  RecordOptions options_;
};

// Each thread's own count, though all but the first are gone when the counters are read.
TEST_F(EventCountersHere, ThreadsThatEndedHaveTheirCounts) {
  FLOWBACK_NEEDS_PERF_EVENTS();
  const RecordSummary summary = Run();
  const CountedEvents counters = Counted();
  const std::vector<uint64_t> faults = ByThread(counters, "page-faults");
  ASSERT_EQ(faults.size(), 5u) << "the program's first thread, three more, and a process";
  const uint64_t pages[] = {1000, 2000, 3000, 5000};
  for (size_t i = 0; i < std::size(pages); ++i) {
    EXPECT_GE(faults[i + 1], pages[i]);
    EXPECT_LT(faults[i + 1], pages[i] + 200);
  }
  uint64_t sum = 0;
  for (const uint64_t value : faults) sum += value;
  EXPECT_EQ(sum, TotalOf(counters, "page-faults"));
  EXPECT_EQ(sum, TotalOf(summary.counters, "page-faults"));
  EXPECT_EQ(counters.readings, 1u);
}

// The kernel lets threads that take turns exchange their counts, and not always like with like.
TEST_F(EventCountersHere, CountsStayWithTheirEvents) {
  FLOWBACK_NEEDS_PERF_EVENTS();
  options_.target.command = {Sample("threads")};
  for (int i = 0; i < 10; ++i) {
    Run();
    const CountedEvents counters = Counted();
    EXPECT_GT(TotalOf(counters, "task-clock"), 50'000u);
    EXPECT_LT(TotalOf(counters, "context-switches"), 1000u);
    EXPECT_LT(TotalOf(counters, "page-faults"), 1000u);
  }
}

TEST_F(EventCountersHere, AgreeWithPerfStat) {
  FLOWBACK_NEEDS_PERF_EVENTS();
  FLOWBACK_NEEDS_PERF();
  Run();
  const CountedEvents ours = Counted();
  const auto perfs = CountsIn(
      OutputOf("LC_ALL=C perf stat -e task-clock,context-switches,cpu-migrations,page-faults -- " +
               options_.target.command[0]));
  ASSERT_TRUE(perfs.contains("page-faults"));
  const auto faults = static_cast<double>(perfs.at("page-faults"));
  EXPECT_GT(faults, 11'000);
  EXPECT_NEAR(static_cast<double>(TotalOf(ours, "page-faults")), faults, 100);
  // The rest is the machine's as much as the program's.
  const auto clock = static_cast<double>(perfs.at("task-clock"));
  EXPECT_GT(static_cast<double>(TotalOf(ours, "task-clock")), clock / 10);
  EXPECT_LT(static_cast<double>(TotalOf(ours, "task-clock")), clock * 10);
  EXPECT_GE(TotalOf(ours, "context-switches"), 4u) << "it waits for three threads and a process";
  EXPECT_GE(perfs.at("context-switches"), 4u);
  PlaceOf(ours, "cpu-migrations");
}

// perf shows what we wrote, and the same as we do.
TEST_F(EventCountersHere, PerfReadsThem) {
  FLOWBACK_NEEDS_PERF_EVENTS();
  FLOWBACK_NEEDS_PERF();
  options_.events.words = {"cpu-clock:u"};
  const RecordSummary summary = Run();
  const auto perfs = CountsIn(OutputOf("LC_ALL=C perf stat report -i " + options_.files.output));
  for (const char* event : {"page-faults", "context-switches", "cpu-migrations"}) {
    const auto told =
        std::ranges::find_if(perfs, [&](const auto& one) { return one.first.starts_with(event); });
    ASSERT_NE(told, perfs.end()) << event;
    EXPECT_EQ(told->second, TotalOf(summary.counters, event)) << event;
  }
  const std::string threads = OutputOf("perf report -T --stdio -i " + options_.files.output);
  for (const uint64_t faults : ByThread(Counted(), "page-faults"))
    EXPECT_TRUE(threads.contains(std::to_string(faults))) << faults << '\n' << threads;
  OutputOf("perf script -i " + options_.files.output);
}

// Sums grow from reading to reading, up to the last one.
TEST_F(EventCountersHere, AreReadWhileItRuns) {
  FLOWBACK_NEEDS_PERF_EVENTS();
  options_.target.command = {"sh", "-c", "for i in 1 2 3 4; do /bin/true; sleep 0.1; done"};
  options_.events.counter_interval = milliseconds(50);
  const RecordSummary summary = Run();
  const CountedEvents counters = Counted();
  EXPECT_GE(counters.readings, 3u);
  EXPECT_EQ(counters.readings, summary.counters.readings);
  EXPECT_EQ(TotalOf(counters, "page-faults"), TotalOf(summary.counters, "page-faults"));
  EXPECT_EQ(ByThread(counters, "page-faults").size(), 9u) << "the shell, four times two commands";
  if (!host::Has(host::Trait::kPerf)) return;
  const std::string text = OutputOf("LC_ALL=C perf stat report -i " + options_.files.output);
  EXPECT_GE(std::ranges::count(text, '\n'), 12) << "an interval's lines each\n" << text;
}

// A recording of perf's own with -s: threads that ended, and no more. The kernel may exchange the
// counts of such threads on a busy machine, so perf itself is asked for each.
TEST_F(EventCountersHere, PerfsOwnAreRead) {
  FLOWBACK_NEEDS_PERF_EVENTS();
  FLOWBACK_NEEDS_PERF();
  OutputOf("perf record -s -e page-faults:u -o " + options_.files.output + " -- " +
           options_.target.command[0]);
  const CountedEvents counters = Counted();
  const std::vector<uint64_t> faults = ByThread(counters, "page-faults");
  ASSERT_GE(faults.size(), 4u);
  const std::string threads = OutputOf("perf report -T --stdio -i " + options_.files.output);
  for (const uint64_t count : faults)
    EXPECT_TRUE(threads.contains(std::to_string(count))) << count << '\n' << threads;
  EXPECT_EQ(counters.readings, 0u);
}

// ---- hardware that is simulated ----

class EventCountersSimulated : public EventSimulated {
 protected:
  EventCountersSimulated() {
    options_.engine = "events";
    options_.events.words = {"dummy:u"};
    options_.events.counters = true;
    kernel_.meanwhile = [] { return false; };
  }
  const EventCounter& Find(const CountedEvents& counters, const std::string& name) {
    return counters.events.at(PlaceOf(counters, name));
  }
  CountedEvents Read() const { return Open().counters; }
};

// Two thirds of the time another event had the counter.
TEST_F(EventCountersSimulated, MultiplexedOnesAreScaled) {
  kernel_.meanwhile = [&] {
    for (SimulatedKernel::Event* event : kernel_.EventsOf(PERF_TYPE_HARDWARE)) {
      event->count = event->attr.config == PERF_COUNT_HW_CPU_CYCLES ? 1'000'000 : 77;
      event->time_enabled = 3000;
      event->time_running = event->attr.config == PERF_COUNT_HW_CPU_CYCLES ? 1000 : 3000;
    }
    return false;
  };
  Recorded();
  const CountedEvents counters = Read();
  const CounterValue cycles = Find(counters, "cycles").total;
  EXPECT_TRUE(cycles.multiplexed());
  EXPECT_EQ(cycles.value, 1'000'000u);
  EXPECT_EQ(cycles.scaled(), 3'000'000u);
  EXPECT_EQ(Find(counters, "instructions").total.scaled(), 77u);
  EXPECT_EQ(Find(counters, "branch-misses").total.scaled(), 77u);
  ASSERT_FALSE(counters.threads.empty());
  EXPECT_EQ(counters.threads[0].tid, kProgram);
}

// What samples is a counter, too; with its skid.
TEST_F(EventCountersSimulated, SkidIsKept) {
  options_.events.words = {"cycles:upp", "instructions:u"};
  Recorded();
  const CountedEvents counters = Read();
  EXPECT_EQ(counters.events.at(0).name, "cycles:upp");
  EXPECT_EQ(counters.events.at(0).precision, 2u);
  EXPECT_EQ(Find(counters, "instructions").precision, 0u);
  const auto cycles = std::ranges::count_if(
      counters.events, [](const EventCounter& event) { return event.name.starts_with("cycles"); });
  EXPECT_EQ(cycles, 1) << "it is counted once";
}

// A machine without counters records nevertheless, and says what is not counted.
TEST_F(EventCountersSimulated, WhatIsNotThereIsSaid) {
  kernel_.has_no_counters = true;
  const RecordSummary summary = Recorded();
  EXPECT_TRUE(std::ranges::any_of(summary.notes, [](const std::string& note) {
    return note.contains("'cycles' is not counted");
  }));
  EXPECT_EQ(summary.counters.events.size(), 4u);
  Find(Read(), "task-clock");
}

}  // namespace
}  // namespace flowback::record_test
