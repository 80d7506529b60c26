// SPDX-License-Identifier: MIT
// What perf can't judge here: terms that other machines' capabilities forbid, messages, damage.
#include "capture/kernel/event_words.h"

#include <gtest/gtest.h>

#include "capture/kernel/event_plan.h"
#include "tests/support/kernel/trees.h"

namespace flowback::kernel {
namespace {

class EventWords : public testing::Test {
 protected:
  Result<std::vector<WantedEvent>> Parse(const std::string& tree, const std::string& text) {
    machine_ = std::make_unique<TreeKernel>(test::Tree(tree));
    pmus_ = ReadPmus(*machine_);
    return ParseEvents(text, pmus_, *machine_);
  }
  void ExpectRefused(const std::string& tree, const std::string& text, ErrorCode code,
                     const std::string& words) {
    const auto events = Parse(tree, text);
    ASSERT_FALSE(events) << text;
    EXPECT_EQ(events.error().code(), code) << text;
    EXPECT_TRUE(events.error().message().contains(words)) << events.error().message();
    EXPECT_TRUE(events.error().message().contains(text)) << events.error().message();
    EXPECT_FALSE(events.error().remedy().empty()) << text;
  }

  std::unique_ptr<TreeKernel> machine_;
  std::vector<Pmu> pmus_;
};

// Bits of the manual's IA32_RTIT_CTL, as the driver takes them.
TEST_F(EventWords, TermsOfIntelPtAreBitsOfItsControlRegister) {
  const auto events =
      Parse("sapphire_rapids",
            "intel_pt/cyc,cyc_thresh=5,mtc_period=6,psb_period=4,noretcomp,ptw,fup_on_ptw,pwr_evt,"
            "event,notnt,tsc=0/u");
  ASSERT_TRUE(events) << events.error().message();
  const uint64_t bits = 1u << 0 | 1u << 1 | 1u << 4 | 1u << 5 | 1u << 9 | 1u << 11 | 1u << 12 |
                        1u << 13 | 6u << 14 | 5u << 19 | 4u << 24 | uint64_t{1} << 31 |
                        uint64_t{1} << 55;
  EXPECT_EQ(events->front().attr.config, bits);
  EXPECT_EQ(events->front().attr.type, 8u);
}

TEST_F(EventWords, CapsForbidPeriods) {
  ExpectRefused("skylake_server", "intel_pt/mtc_period=1/u", ErrorCode::kNoHardware,
                "caps/mtc_periods");
  ExpectRefused("skylake_server", "intel_pt/psb_period=9/u", ErrorCode::kNoHardware,
                "caps/psb_periods");
  ExpectRefused("skylake_server", "intel_pt/cyc_thresh=15/u", ErrorCode::kNoHardware,
                "caps/cycle_thresholds");
  ExpectRefused("skylake_server", "intel_pt/ptw/u", ErrorCode::kNoHardware, "caps/ptwrite");
}

TEST_F(EventWords, UnknownNamesSayWhatThereIs) {
  ExpectRefused("virtual_machine", "intel_pt//u", ErrorCode::kNoHardware,
                "/sys/bus/event_source/devices/intel_pt is missing");
  ExpectRefused("skylake_server", "cpu/nope=1/", ErrorCode::kUsage, "'nope'");
  ExpectRefused("skylake_server", "page-fault", ErrorCode::kUsage, "'page-fault'");
  ExpectRefused("skylake_server", "sched:nope", ErrorCode::kPermission, "tracepoints");
}

TEST_F(EventWords, NonsenseIsRefused) {
  for (const char* text : {"",
                           ",",
                           "{",
                           "}",
                           "{}",
                           "{{cycles}}",
                           "cycles,,cycles",
                           "cycles/",
                           "cpu/event=/",
                           "cpu/event=0x/",
                           "cpu/event=99999999999999999999/",
                           "mem:",
                           "mem:x",
                           "mem:0x10/",
                           "/",
                           "//",
                           ":",
                           ":u",
                           "cycles:u:u",
                           "{cycles}x",
                           "cpu/name=/",
                           "cycles/nope/"})
    EXPECT_FALSE(Parse("skylake_server", text)) << text;
}

// perf ors both values.
TEST_F(EventWords, ATermBehindAnEventsNameCounts) {
  const auto events = Parse("skylake_server", "cpu/mem-loads,ldlat=30/P");
  ASSERT_TRUE(events) << events.error().message();
  EXPECT_EQ(events->front().attr.config, 0x1cdu);
  EXPECT_EQ(events->front().attr.config1, 30u);
}

// A tree whose events name each other must not lead round and round.
TEST_F(EventWords, EventsThatNameEachOtherEnd) {
  MachineTree tree = test::Tree("skylake_server");
  tree.Add("/sys/bus/event_source/devices/cpu/events/a", "b");
  tree.Add("/sys/bus/event_source/devices/cpu/events/b", "a");
  const TreeKernel machine(tree);
  const auto pmus = ReadPmus(machine);
  EXPECT_FALSE(ParseEvents("cpu/a/", pmus, machine));
}

TEST_F(EventWords, ATraceIsTrackedByADummy) {
  const auto events = Parse("skylake_server", "intel_pt//u");
  ASSERT_TRUE(events);
  const auto planned = PlanEvents(*events, {.launches = true, .build_ids = true});
  ASSERT_EQ(planned.size(), 2u);
  EXPECT_TRUE(planned[0].has_aux);
  EXPECT_EQ(planned[0].attr.sample_period, 1u);
  EXPECT_FALSE(planned[0].attr.freq);
  EXPECT_FALSE(planned[0].attr.mmap);
  EXPECT_EQ(planned[1].wanted.name, "dummy:u");
  EXPECT_TRUE(planned[1].attr.mmap2 && planned[1].attr.task && planned[1].attr.build_id);
  for (const PlannedEvent& event : planned)
    EXPECT_TRUE(event.attr.sample_type & PERF_SAMPLE_IDENTIFIER);
}

}  // namespace
}  // namespace flowback::kernel
