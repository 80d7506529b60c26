// SPDX-License-Identifier: MIT
#include "tests/support/kernel/simulated_sample.h"

#include <gtest/gtest.h>

namespace flowback::test {
namespace {

constexpr uint64_t kEncoded = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
                              PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |
                              PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_BRANCH_STACK;

void AppendBytes(const void* bytes, size_t size, std::vector<uint8_t>& out) {
  const auto* begin = static_cast<const uint8_t*>(bytes);
  out.insert(out.end(), begin, begin + size);
}

}  // namespace

std::vector<uint8_t> EncodeSample(const perf_event_attr& attr, const SampleOrigin& origin,
                                  const SampleContent& content) {
  EXPECT_EQ(attr.sample_type & ~kEncoded, 0u) << "a sample with what is not simulated";
  std::vector<uint8_t> body;
  const auto add = [&](uint64_t bit, uint64_t value) {
    if ((attr.sample_type & bit) != 0) AppendBytes(&value, sizeof value, body);
  };
  add(PERF_SAMPLE_IDENTIFIER, origin.id);
  add(PERF_SAMPLE_IP, content.ip);
  add(PERF_SAMPLE_TID, origin.thread | uint64_t{origin.thread} << 32);
  add(PERF_SAMPLE_TIME, origin.time);
  add(PERF_SAMPLE_ID, origin.id);
  add(PERF_SAMPLE_STREAM_ID, origin.id);
  add(PERF_SAMPLE_CPU, origin.cpu);
  add(PERF_SAMPLE_PERIOD, content.period);
  add(PERF_SAMPLE_BRANCH_STACK, content.branches.size());
  if ((attr.sample_type & PERF_SAMPLE_BRANCH_STACK) == 0) return body;
  if ((attr.branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX) != 0)
    AppendBytes(&content.hardware_index, sizeof content.hardware_index, body);
  AppendBytes(content.branches.data(), content.branches.size() * sizeof(perf_branch_entry), body);
  return body;
}

}  // namespace flowback::test
