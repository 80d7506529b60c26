// SPDX-License-Identifier: MIT
// An event that is to be recorded, as words ask for it.
#pragma once

#include <linux/perf_event.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "capture/kernel/pmu.h"

namespace flowback::kernel {

// perf's call graphs: how the stack of a sample is recorded.
enum class StackKind : uint8_t { kNone, kFramePointers, kCopies, kBranchRecords };
struct CallStacks {
  StackKind kind = StackKind::kNone;
  uint32_t copy_bytes = 8192;  // of kCopies, from the stack pointer on
};

struct WantedEvent {
  std::string name;  // as it is written
  // The event and its place: type, config, config1, config2, bp_type, precise_ip, pinned,
  // exclusive, aux_output and all exclude_ bits.
  perf_event_attr attr{};
  const Pmu* pmu = nullptr;      // whose terms it has; null: an event that every kernel knows
  std::optional<size_t> leader;  // of its group, by number in the list; empty: of none
  bool levels_named = false;     // modifiers said which of u, k and h
  bool guests_named = false;     // the same for G and H
  bool reads_group = false;      // S: each sample of the leader has the counts of all
  bool most_precise = false;     // P
  bool weak = false;             // W: no group where it can't be scheduled as one
  // Terms that are of no PMU; empty: not named.
  std::optional<uint64_t> period, frequency, branches, aux_sample_size;
  std::optional<bool> inherit, time;
  size_t word = 0;     // of the words that named events, the one that named it
  std::string filter;  // as the kernel takes it; empty: none
  size_t filters = 0;  // how many address filters these are
  std::string cgroup;  // the folder of those it is of; empty: of all
  // Stacks of its samples; empty: as the others.
  std::optional<CallStacks> stacks;
  // For events of our own; 0: as usual.
  uint64_t sample_type = 0;     // just this, beside the fields that distinguish events
  uint64_t user_registers = 0;  // bits of PERF_REG_...: those of each sample
  // A probe of user code. Its attributes name memory of the recorder's, which the kernel would read
  // in each process that inherits it, and forks there would fail: where there are buffers of CPUs
  // it is of whoever runs on them. Each sample wakes who waits.
  bool is_probe = false;

  bool is_tracepoint() const { return attr.type == PERF_TYPE_TRACEPOINT; }
  bool is_breakpoint() const { return attr.type == PERF_TYPE_BREAKPOINT; }
  bool is_bpf_output() const {
    return attr.type == PERF_TYPE_SOFTWARE && attr.config == PERF_COUNT_SW_BPF_OUTPUT;
  }
  bool is_dummy() const {
    return attr.type == PERF_TYPE_SOFTWARE && attr.config == PERF_COUNT_SW_DUMMY;
  }
};

// perf_event_attr's word of AUX actions (Linux 6.13), whose name older headers lack.
inline constexpr size_t kAuxActionAt = offsetof(perf_event_attr, aux_sample_size) + 4;
inline uint32_t AuxActionOf(const perf_event_attr& attr) {
  uint32_t action = 0;
  std::memcpy(&action, reinterpret_cast<const uint8_t*>(&attr) + kAuxActionAt, sizeof action);
  return action;
}
inline void SetAuxAction(perf_event_attr& attr, uint32_t action) {
  std::memcpy(reinterpret_cast<uint8_t*>(&attr) + kAuxActionAt, &action, sizeof action);
}

}  // namespace flowback::kernel
