// SPDX-License-Identifier: MIT
// The buffer with a stay's time, if several hold the CPU's trace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "flowback/decode/decoder.h"
#include "flowback/decode/schedule.h"
#include "flowback/model/recording.h"

namespace flowback {

// A stay's time counts once, however many buffers there are: by the one that has most of its trace,
// and by the largest where none has any.
class StayHolders {
 public:
  // `schedule` and `changes` are the stream's. The schedule must outlive this.
  void Add(const Stream& stream, const Schedule& schedule, const std::vector<StayChange>& changes);
  // When all streams have been added.
  void Decide();
  // Returns the stays in the stream, by place in memory.
  const std::vector<const ThreadStay*>& Of(const Stream& stream) const;

 private:
  struct Holder {
    const Stream* stream = nullptr;
    uint64_t bytes = 0;
  };
  struct Cpu {
    std::span<const ThreadStay> stays;
    const Stream* largest = nullptr;
    std::map<size_t, Holder> holders;  // by stay
  };

  std::map<const ThreadStay*, Cpu> cpus_;                     // by their first stay
  std::map<uint32_t, std::vector<const ThreadStay*>> stays_;  // by stream
};

}  // namespace flowback
