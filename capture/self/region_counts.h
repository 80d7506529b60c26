// SPDX-License-Identifier: MIT
// A process's own table of its regions.
#pragma once

#include <cstdint>

#include "base/descriptor.h"
#include "capture/record/watch/region_table.h"

namespace flowback::self {

// Any thread may count. Movable.
class RegionCounts {
 public:
  // In memory of its own; without an entry where the kernel gives none.
  static RegionCounts Create();
  RegionCounts(RegionCounts&& other) noexcept;
  RegionCounts& operator=(RegionCounts&&) = delete;
  ~RegionCounts();

  // Returns the file that holds the table; -1: the kernel gave no memory.
  int file() const { return *file_; }
  // Forgets all counts.
  void Clear();
  // The entry of that name, which began once more; null: there is no place for it.
  record::RegionEntry* Begin(const char* name);
  static void End(record::RegionEntry& entry, uint64_t nanoseconds);

 private:
  RegionCounts() = default;

  Descriptor file_;
  record::RegionTable* table_ = nullptr;
};

}  // namespace flowback::self
