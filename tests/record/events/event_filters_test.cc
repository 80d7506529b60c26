// SPDX-License-Identifier: MIT
// What events shall not record, with a kernel that the test plays, judged by nm, and with the real
// one, judged by perf.
#include <errno.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <sstream>

#include "capture/record/events/address_filter.h"
#include "tests/record/events/event_simulated.h"
#include "tests/support/places.h"

namespace flowback::record_test {
namespace {

constexpr uint32_t kPtType = 8;  // of the tree skylake_server
const std::string kProgramFile = RecordedProgramsFolder() + "/two_statics";

std::string OutputOf(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::string text;
  std::array<char, 4096> bytes{};
  while (pipe && fgets(bytes.data(), bytes.size(), pipe.get()) != nullptr) text += bytes.data();
  return text;
}

// "0x1139/0x1c" of each symbol of that name, in the order of addresses, as nm prints them. The file
// is linked so that addresses of its code are offsets.
std::vector<std::string> ToldByNm(const std::string& symbol) {
  std::istringstream lines(OutputOf("nm -nS " + kProgramFile + " | grep -i ' t " + symbol + "$'"));
  std::vector<std::string> told;
  uint64_t address = 0, size = 0;
  std::string kind, name;
  while (lines >> std::hex >> address >> size >> kind >> name) {
    std::ostringstream text;
    text << std::hex << "0x" << address << "/0x" << size;
    told.push_back(text.str());
  }
  return told;
}

class EventFilters : public EventSimulated {
 protected:
  // The filter that the kernel got for the trace.
  std::string FilterOf(const std::string& words) {
    options_.events.filters = {{.text = words}};
    std::string got;
    kernel_.meanwhile = [&] {
      got = kernel_.FindEvent(kPtType)->filter;
      return false;
    };
    Recorded();
    return got;
  }
  void ExpectRefused(const std::string& words, const std::string& why, const std::string& remedy,
                     ErrorCode code = ErrorCode::kUsage) {
    options_.events.filters = {{.text = words}};
    kernel_.meanwhile = [] { return false; };
    const auto summary = Run();
    ASSERT_FALSE(summary) << words;
    EXPECT_TRUE(summary.error().message().contains(why)) << summary.error().message();
    EXPECT_TRUE(summary.error().remedy().contains(remedy)) << summary.error().remedy();
    EXPECT_EQ(summary.error().code(), code) << summary.error().message();
  }
};

TEST_F(EventFilters, FunctionsAreOffsetsInTheirFile) {
  const auto once = ToldByNm("once");
  const auto twice = ToldByNm("twice");
  ASSERT_EQ(once.size(), 1u);
  ASSERT_EQ(twice.size(), 2u);
  const std::string at = "@" + kProgramFile;
  const std::string begin = once[0].substr(0, once[0].find('/'));
  EXPECT_EQ(FilterOf("filter once @ " + kProgramFile), "filter " + once[0] + at);
  EXPECT_EQ(FilterOf("filter once " + at), "filter " + once[0] + at);
  EXPECT_EQ(FilterOf("filter twice #2 @ " + kProgramFile), "filter " + twice[1] + at);
  EXPECT_EQ(FilterOf("tracestop once #g @ " + kProgramFile), "tracestop " + once[0] + at);
  EXPECT_EQ(FilterOf("start once @ " + kProgramFile), "start " + begin + at);
  EXPECT_EQ(FilterOf("start " + begin + at + ",stop twice #1 " + at),
            "start " + begin + at + ",stop " + twice[0].substr(0, twice[0].find('/')) + at);
  EXPECT_EQ(FilterOf("filter 0x1000/256" + at), "filter 0x1000/0x100" + at);
  // The recording says that parts are missing on purpose.
  EXPECT_TRUE(OutputOf("strings " + options_.files.output).contains("filter 0x1000/0x100" + at));
}

TEST_F(EventFilters, SymbolsOfTheKernel) {
  kernel_.tree().Add("/proc/kallsyms", "ffffffff81000000 T _text");
  kernel_.tree().Add("/proc/kallsyms", "ffffffff81000100 T schedule");
  kernel_.tree().Add("/proc/kallsyms", "ffffffff81000180 t helper");
  kernel_.tree().Add("/proc/kallsyms", "ffffffff81000200 T _etext");
  EXPECT_EQ(FilterOf("filter schedule"), "filter 0xffffffff81000100/0x80");
  EXPECT_EQ(FilterOf("filter schedule / helper"), "filter 0xffffffff81000100/0x100");
  ExpectRefused("filter nothing", "no symbol 'nothing' in the kernel", "@ /usr/bin/x");
}

TEST_F(EventFilters, WhatCannotBeFilteredIsSaid) {
  const std::string at = " @ " + kProgramFile;
  ExpectRefused("filter twice" + at, "'twice' is 2 times in", "#1");
  ExpectRefused("filter twice #3" + at, "2 are in", "filter main");
  ExpectRefused("filter twice #g" + at, "no global symbol 'twice'", "filter main");
  ExpectRefused("filter nothing" + at, "no symbol 'nothing' in " + kProgramFile, "filter main");
  ExpectRefused("filter once @ /no/file", "no file '/no/file'", "filter main");
  ExpectRefused("filter 0x1000" + at, "how long it is is not known", "filter main");
  ExpectRefused("trace once" + at, "'trace' is none of", "filter main");
  ExpectRefused("filter", "filter of nothing", "filter main");
  ExpectRefused(" , ", "no filter in it", "filter main");
  ExpectRefused("filter 1/1,filter 2/1,filter 3/1", "3 address filters, and this CPU has 2",
                "fewer", ErrorCode::kNoHardware);
  kernel_.filter_error = EINVAL;
  ExpectRefused("filter once" + at, "the kernel refuses the filter", "one mapping");
  kernel_.tree().Remove(std::string(kernel::kPmuFolder) + "/intel_pt/nr_addr_filters");
  ExpectRefused("filter once" + at, "no address filters", "leave it out", ErrorCode::kNoHardware);
  options_.engine = "events";
  options_.events.words = {"cycles:u"};
  ExpectRefused("x > 0", "takes no such filter", "behind a tracepoint");
}

// ---- groups, samples of traces, stacks ----

TEST_F(EventFilters, TasksOfAControlGroup) {
  kernel_.GiveAllRights();
  kernel_.tree().Add("/proc/self/mounts", "none /sys/fs/cgroup cgroup2 rw 0 0");
  kernel_.tree().Add("/sys/fs/cgroup/web/cgroup.procs", "1");
  options_.engine = "events";
  options_.target.pids = {};
  options_.events = {};
  options_.events.all_cpus = true;
  options_.events.words = {"cycles:u", "instructions:u"};
  options_.events.cgroups = "web";
  size_t of_group = 0, of_all = 0;
  kernel_.meanwhile = [&] {
    of_group = of_all = 0;
    for (const auto& [descriptor, event] : kernel_.events())
      ++(event.of_cgroup ? of_group : of_all);
    return false;
  };
  Recorded();
  EXPECT_EQ(of_group, 8u) << "two events on four CPUs";
  EXPECT_EQ(of_all, 4u) << "mappings are told of all";
  options_.events.cgroups = ",web";
  Recorded();
  EXPECT_EQ(of_group, 4u) << "of the second event";
  const std::pair<std::string, std::string> wrong[] = {{"db", "there is no"},
                                                       {"web,web,web", "more groups than events"}};
  for (const auto& [groups, why] : wrong) {
    options_.events.cgroups = groups;
    const auto summary = Run();
    ASSERT_FALSE(summary);
    EXPECT_TRUE(summary.error().message().contains(why)) << summary.error().message();
  }
}

TEST_F(EventFilters, TracesInSamples) {
  options_.engine = "events";
  options_.events.words = {"{intel_pt//u,branch-misses:u}"};
  options_.events.aux_sample_bytes = 8192;
  perf_event_attr attr{};
  bool overwrites = false;
  kernel_.meanwhile = [&] {
    attr = kernel_.FindEvent(PERF_TYPE_HARDWARE)->attr;
    overwrites = kernel_.FindEvent(kPtType)->overwrites;
    return false;
  };
  Recorded();
  EXPECT_TRUE(attr.sample_type & PERF_SAMPLE_AUX);
  EXPECT_EQ(attr.aux_sample_size, 8192u);
  EXPECT_TRUE(overwrites) << "nobody else reads it";
  for (const auto& [words, bytes] :
       {std::pair{"branch-misses:u", 4096u}, std::pair{"{intel_pt//u,branch-misses:u}", 65536u}}) {
    options_.events.words = {words};
    options_.events.aux_sample_bytes = bytes;
    const auto summary = Run();
    ASSERT_FALSE(summary);
    EXPECT_EQ(summary.error().code(), ErrorCode::kUsage);
    EXPECT_TRUE(summary.error().remedy().contains("--aux-sample")) << summary.error().remedy();
  }
}

// Counters stand beside all of these: each with its own layout of samples.
TEST_F(EventFilters, CountersBesideGroupsStacksAndTraces) {
  options_.engine = "events";
  options_.events.counters = true;
  options_.events.call_graph = "fp";
  options_.events.words = {"{intel_pt//u,branch-misses:u}"};
  options_.events.aux_sample_bytes = 8192;
  bool has_stacks = false, has_trace = false, tells_number = true;
  kernel_.meanwhile = [&] {
    for (const auto& [descriptor, event] : kernel_.events()) {
      tells_number = tells_number && (event.attr.sample_type & PERF_SAMPLE_IDENTIFIER) != 0;
      has_stacks = has_stacks || (event.attr.sample_type & PERF_SAMPLE_CALLCHAIN) != 0;
      has_trace = has_trace || (event.attr.sample_type & PERF_SAMPLE_AUX) != 0;
    }
    return false;
  };
  const RecordSummary summary = Recorded();
  EXPECT_TRUE(has_stacks);
  EXPECT_TRUE(has_trace);
  EXPECT_TRUE(tells_number) << "which layout a record has";
  EXPECT_TRUE(std::ranges::any_of(summary.counters.events, [](const EventCounter& event) {
    return event.name == "branch-misses:u";
  }));
  EXPECT_GT(Open().counters.readings, 0u);
  // Events of a control group.
  kernel_.GiveAllRights();
  kernel_.tree().Add("/proc/self/mounts", "none /sys/fs/cgroup cgroup2 rw 0 0");
  kernel_.tree().Add("/sys/fs/cgroup/web/cgroup.procs", "1");
  options_.target.pids = {};
  options_.events = {};
  options_.events.counters = true;
  options_.events.all_cpus = true;
  options_.events.words = {"cycles:u"};
  options_.events.cgroups = "web";
  Recorded();
  const auto recording = Open();
  EXPECT_GT(recording.counters.readings, 0u);
  EXPECT_EQ(recording.counters.events[0].name, "cycles:u");
}

TEST_F(EventFilters, EventsPauseTraces) {
  options_.engine = "events";
  options_.events.words = {
      "{intel_pt/aux-action=start-paused/u,cycles/aux-action=resume/u,instructions/"
      "aux-action=pause/u}"};
  std::vector<uint32_t> actions;
  kernel_.meanwhile = [&] {
    for (const auto& [descriptor, event] : kernel_.events())
      actions.push_back(kernel::AuxActionOf(event.attr));
    return false;
  };
  Recorded();
  EXPECT_EQ(actions, (std::vector<uint32_t>{1, 4, 2, 0}));
  kernel_.knows_aux_actions = false;
  const auto summary = Run();
  ASSERT_FALSE(summary);
  EXPECT_TRUE(summary.error().message().contains("Linux 6.13")) << summary.error().message();
}

// As one where it can be, else by themselves.
TEST_F(EventFilters, WeakGroupsAreBroken) {
  options_.engine = "events";
  for (const size_t most : {4u, 2u}) {
    kernel_.most_in_group = most;
    options_.events.words = {"{cycles:u,instructions:u,branches:u}:W"};
    size_t members = 0, begin = 0;
    kernel_.meanwhile = [&] {
      members = begin = 0;
      for (const auto& [descriptor, event] : kernel_.events()) {
        members += event.group >= 0;
        begin += event.enabled;
      }
      return false;
    };
    Recorded();
    EXPECT_EQ(members, most == 4 ? 2u : 0u);
    EXPECT_EQ(begin, 3u);
  }
  options_.events.words = {"{cycles:u,instructions:u,branches:u}"};
  EXPECT_FALSE(Run()) << "a group that is not weak";
}

// ---- the real kernel ----

TEST_F(EventFilters, TracepointsAsPerfReadsThem) {
  FLOWBACK_NEEDS_HOST(host::Trait::kPerfEvents);
  FLOWBACK_NEEDS_HOST(host::Trait::kPerf);
  FLOWBACK_NEEDS_HOST(host::Trait::kRoot);
  if (access("/sys/kernel/tracing/events/sched", R_OK) != 0) GTEST_SKIP() << "no tracefs here";
  options_.engine = "events";
  options_.target.pids = {};
  options_.target.command = {"sh", "-c", "sleep 0.02; ls / >/dev/null; sleep 0.02"};
  options_.events = {};
  options_.events.words = {"sched:sched_switch"};
  options_.events.filters = {{.text = "prev_comm == \"sleep\"", .words = 1},
                             {.text = "prev_pid > 1", .words = 1},
                             {.text = {}, .words = 1, .excludes_recorder = true}};
  const auto summary = Record(options_);
  ASSERT_TRUE(summary) << summary.error().message();
  EXPECT_GT(summary->events->samples, 1u);
  const std::string all =
      OutputOf("perf script -F trace -i " + options_.files.output + " 2>/dev/null");
  EXPECT_GT(std::ranges::count(all, '\n'), 1);
  EXPECT_EQ(OutputOf("perf script -F trace -i " + options_.files.output +
                     " 2>/dev/null | grep -vc prev_comm=sleep"),
            "0\n");
  options_.events.filters = {{.text = "no_field == 1", .words = 1}};
  const auto refused = Record(options_);
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().remedy().contains("events/sched/sched_switch/format"))
      << refused.error().remedy();
}

}  // namespace
}  // namespace flowback::record_test
