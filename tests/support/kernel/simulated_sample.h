// SPDX-License-Identifier: MIT
// A sample's bytes, in the order in which the kernel writes them.
#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <vector>

namespace flowback::test {

struct SampleContent {
  uint64_t ip = 0;
  uint64_t period = 0;
  std::vector<perf_branch_entry> branches;  // the newest first
  uint64_t hardware_index = 0;              // of the newest; ~0: the hardware has none
};

// Thread and time of a sample, from the event and its moment.
struct SampleOrigin {
  uint64_t id = 0;
  uint64_t time = 0;
  uint32_t thread = 0;
  uint32_t cpu = 0;
};

// What follows the record's header. REQUIRES: the event asks for nothing else than what
// SampleOrigin and SampleContent have.
std::vector<uint8_t> EncodeSample(const perf_event_attr& attr, const SampleOrigin& origin,
                                  const SampleContent& content);

}  // namespace flowback::test
