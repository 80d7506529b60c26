// SPDX-License-Identifier: MIT
// Named regions of a program, as it counts them itself (flowback/self.h): a file in memory, which
// the recorder reads at the end, however the program came to its own.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace flowback::record {

inline constexpr uint64_t kRegionTableMagic = 0x736e6f6967657266;
inline constexpr uint32_t kRegionTableVersion = 1;

struct RegionEntry {
  enum State : uint32_t { kNone, kTaken, kNamed };  // kTaken: its name is being written
  static constexpr size_t kNameBytes = 212;

  std::atomic<uint32_t> state;
  char name[kNameBytes];  // with a NUL; longer ones are cut
  std::atomic<uint64_t> begun;
  std::atomic<uint64_t> ended;
  std::atomic<uint64_t> total_ns;  // of those that ended
  std::atomic<uint64_t> longest_ns;
  uint64_t unused;
};
static_assert(sizeof(RegionEntry) == 256);

struct RegionTable {
  static constexpr size_t kEntries = 511;

  uint64_t magic;
  uint32_t version;
  uint32_t entry_count;
  std::atomic<uint64_t> left_out;  // begun, of names that had no place any more
  uint64_t unused[29];
  RegionEntry entries[kEntries];
};
static_assert(sizeof(RegionTable) == 128 * 1024);

}  // namespace flowback::record
