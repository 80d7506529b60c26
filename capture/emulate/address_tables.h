// SPDX-License-Identifier: MIT
// What a program's mappings cost the emulator.
#pragma once

#include <cstdint>
#include <map>

namespace flowback::emulate {

// Counts the address space that a program has ever mapped, and checks whether the emulator can keep
// tables of more. QEMU before 8.0 keeps 24 bytes for each page, also where nothing was ever stored,
// and never gives them back: a sanitizer's reservation of 16 TB takes 100 GB of memory. Later
// versions keep intervals.
class AddressTables {
 public:
  // `most_bytes` of tables.
  explicit AddressTables(uint64_t most_bytes) : most_pages_(most_bytes / kBytesPerPage) {}

  // What this machine, and the control group of this process, can spare: a quarter of the memory,
  // 2 GB at most, which are for 350 GB of addresses.
  static uint64_t MostBytesHere();

  // Whether `size` bytes more fit, all of them where nothing was mapped before. True for sizes that
  // the kernel itself refuses.
  bool HasRoomFor(uint64_t size) const;
  // The same at an address that is known before.
  bool HasRoomAt(uint64_t begin, uint64_t size) const {
    return HasRoomFor(size - Mapped(begin, begin + size));
  }
  // The program mapped this, which was possibly mapped before.
  void Add(uint64_t begin, uint64_t end);

  uint64_t pages() const { return pages_; }

 private:
  uint64_t Mapped(uint64_t begin, uint64_t end) const;  // bytes
  static constexpr uint64_t kPage = 4096;
  static constexpr uint64_t kBytesPerPage = 24;

  const uint64_t most_pages_;
  uint64_t pages_ = 0;                   // of all intervals
  std::map<uint64_t, uint64_t> mapped_;  // intervals that don't touch: end by begin
};

}  // namespace flowback::emulate
