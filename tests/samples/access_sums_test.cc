// SPDX-License-Identifier: MIT
// Sums of accesses that are made by hand.
#include "replay/samples/access_sums.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

namespace flowback {
namespace {

using Place = EventSample::Place;
enum Kind { kLoad, kStore };

EventSample Access(int32_t tid, uint64_t ip, uint64_t address, Kind kind = kLoad) {
  EventSample sample;
  sample.pid = 42;
  sample.tid = tid;
  sample.ip = ip;
  sample.place = Place::kExact;
  sample.access.address = address;
  (kind == kLoad ? sample.access.load : sample.access.store) = true;
  return sample;
}

AccessReport Of(const std::vector<EventSample>& samples) {
  AccessSums sums;
  for (const EventSample& sample : samples) sums.Add(sample, nullptr);
  return sums.Take();
}

TEST(AccessSums, ByInstructionAndLine) {
  const AccessReport report = Of({Access(1, 0x10, 0x1000), Access(1, 0x10, 0x103f, kStore),
                                  Access(2, 0x20, 0x1000), Access(1, 0x10, 0x1040)});
  EXPECT_EQ(report.samples, 4u);
  EXPECT_EQ(report.accesses, 4u);
  ASSERT_EQ(report.code.size(), 2u);
  EXPECT_EQ(report.code[0].address, 0x10u);
  EXPECT_EQ(report.code[0].counts.samples, 3u);
  EXPECT_EQ(report.code[0].counts.loads, 2u);
  EXPECT_EQ(report.code[0].counts.stores, 1u);
  ASSERT_EQ(report.lines.size(), 2u);
  const LineSum& line = report.lines[0];
  EXPECT_EQ(line.address, 0x1000u);
  EXPECT_EQ(line.pid, 42);
  EXPECT_TRUE(line.shared());
  EXPECT_FALSE(line.apart()) << "both were at its first byte";
  ASSERT_EQ(line.uses.size(), 2u);
  EXPECT_EQ(line.uses[0].code, 0u);
  EXPECT_EQ(line.uses[0].samples, 2u);
  EXPECT_EQ(line.uses[0].places, uint64_t{1} | uint64_t{1} << 63);
  EXPECT_EQ(line.uses[0].tids, std::set<int32_t>{1});
  EXPECT_FALSE(report.lines[1].shared());
}

TEST(AccessSums, ThreadsAtDifferentPlacesOfALine) {
  const AccessReport report =
      Of({Access(1, 0x10, 0x1000, kStore), Access(2, 0x20, 0x1008), Access(1, 0x10, 0x1000)});
  ASSERT_EQ(report.lines.size(), 1u);
  EXPECT_TRUE(report.lines[0].shared());
  EXPECT_TRUE(report.lines[0].apart());
}

// An address is one process's own, but for the kernel's.
TEST(AccessSums, ProcessesDoNotShareAddresses) {
  EventSample other = Access(2, 0x10, 0x1000);
  other.pid = 43;
  EventSample kernel = Access(1, 0x10, 0xffff888000001000), also = kernel;
  also.pid = 43;
  also.tid = 2;
  const AccessReport report = Of({Access(1, 0x10, 0x1000), other, kernel, also});
  ASSERT_EQ(report.lines.size(), 3u);
  EXPECT_EQ(report.lines[0].pid, -1);
  EXPECT_TRUE(report.lines[0].shared());
  EXPECT_FALSE(report.lines[1].shared());
  EXPECT_FALSE(report.lines[2].shared());
}

TEST(AccessSums, WhatIsNoAccessIsCountedApart) {
  EventSample fetch = Access(1, 0x10, 0x1000);
  fetch.fetch = true;
  EventSample silent = Access(1, 0x10, 0x1000);
  silent.access.address.reset();
  EventSample nowhere = Access(1, 0, 0x1000);
  nowhere.place = Place::kNotTold;
  EventSample skid = Access(1, 0x10, 0x1000);
  skid.place = Place::kSkid;
  EventSample cut = Access(1, 0x10, 0x1000);
  cut.cut = true;
  cut.unread = 3;
  const AccessReport report =
      Of({fetch, silent, nowhere, skid, cut, Access(1, 0x10, 0x1234'5678'9abc'def0),
          Access(1, 0x10, uint64_t{1} << 56), Access(1, 0x10, (uint64_t{1} << 56) - 1)});
  EXPECT_EQ(report.samples, 8u);
  EXPECT_EQ(report.accesses, 4u);
  EXPECT_EQ(report.fetches, 1u);
  EXPECT_EQ(report.impossible, 2u);
  EXPECT_EQ(report.nowhere, 1u);
  EXPECT_EQ(report.inexact, 1u);
  EXPECT_EQ(report.cut, 1u);
  EXPECT_EQ(report.unread, 3u);
  ASSERT_EQ(report.code.size(), 1u);
  EXPECT_EQ(report.code[0].counts.samples, 3u);
  EXPECT_EQ(report.code[0].inexact, 1u);
}

TEST(AccessSums, LatencyLevelsAndOtherCaches) {
  std::vector<EventSample> samples;
  for (const uint64_t latency : {10, 20, 30, 40}) {
    EventSample& sample = samples.emplace_back(Access(1, 0x10, 0x1000));
    sample.access.latency = latency;
    sample.access.level = latency > 20 ? MemoryLevel::kMemory : MemoryLevel::kL2;
    sample.access.level_outcome = MemoryAccess::Outcome::kHit;
  }
  samples[0].access.level_outcome = MemoryAccess::Outcome::kMiss;
  samples[1].access.latency = ~uint64_t{0};
  samples[2].access.snoop = samples[3].access.snoop = MemoryAccess::Snoop::kModified;
  samples[3].access.remote = true;
  const AccessReport report = Of(samples);
  const AccessingCode& code = report.code.at(0);
  EXPECT_EQ(code.counts.latency.count(), 3u);
  EXPECT_EQ(code.counts.latency.Quantile(0.5), 30u);
  EXPECT_EQ(code.counts.latency.at_least, 1u);
  EXPECT_EQ(code.levels[static_cast<size_t>(MemoryLevel::kMemory)], 2u);
  EXPECT_EQ(code.levels[static_cast<size_t>(MemoryLevel::kL2)], 1u);
  EXPECT_EQ(code.counts.modified, 2u);
  EXPECT_EQ(code.counts.remote_modified, 1u);
  EXPECT_EQ(code.counts.remote, 1u);
  EXPECT_EQ(report.lines.at(0).counts.modified, 2u);
}

// Whatever order they come in, and each in one line and one instruction.
TEST(AccessSums, NumbersAddUp) {
  std::vector<EventSample> samples;
  for (uint64_t i = 0; i < 1000; ++i)
    samples.push_back(Access(static_cast<int32_t>(i % 3), 0x10 + i % 7, 0x1000 + 8 * (i * i % 50),
                             i % 5 == 0 ? kStore : kLoad));
  const AccessReport report = Of(samples);
  uint64_t by_code = 0, by_line = 0, by_use = 0;
  for (const AccessingCode& code : report.code) by_code += code.counts.samples;
  for (const LineSum& line : report.lines) {
    by_line += line.counts.samples;
    for (const LineUse& use : line.uses) by_use += use.samples;
  }
  EXPECT_EQ(by_code, 1000u);
  EXPECT_EQ(by_line, 1000u);
  EXPECT_EQ(by_use, 1000u);
  std::ranges::reverse(samples);
  const AccessReport again = Of(samples);
  ASSERT_EQ(again.lines.size(), report.lines.size());
  for (size_t i = 0; i < report.lines.size(); ++i)
    EXPECT_EQ(again.lines[i].address, report.lines[i].address);
}

}  // namespace
}  // namespace flowback
