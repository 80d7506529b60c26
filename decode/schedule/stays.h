// SPDX-License-Identifier: MIT
// From scheduling records to the threads' stays on one CPU.
#pragma once

#include <cstdint>
#include <vector>

#include "flowback/decode/schedule.h"
#include "flowback/model/recording.h"

namespace flowback {

// The stays of each CPU that a record names; without their code.
class StaysOfCpus {
 public:
  // `records` in time order.
  explicit StaysOfCpus(const std::vector<SidebandRecord>& records);

  // Empty when no record tells of the CPU.
  const std::vector<ThreadStay>& Of(int32_t cpu) const;

 private:
  struct Cpu {
    int32_t number = -1;
    std::vector<ThreadStay> stays;
    bool running = false;  // the last stay has not ended yet
    uint64_t out = 0;      // when the last one ended
  };

  Cpu& At(int32_t number);
  static void SwitchIn(Cpu& cpu, const SidebandBase& who, uint64_t time);
  static void SwitchOut(Cpu& cpu, const SidebandBase& who, uint64_t time);

  std::vector<Cpu> cpus_;  // by number
};

}  // namespace flowback
