// SPDX-License-Identifier: MIT
// Translations that may be out of date.
//
// The emulator write-protects the pages whose code it has translated. A write at their own
// addresses faults, and the emulator drops the translation. It does not see code that changes by
// another way: through a second mapping of the same memory (the W^X of .NET and LuaJIT), by write()
// into the mapped file, by /proc/self/mem, or by another process. The processor would run the new
// code.
//
// So the pages of other writable mappings of translated code are write-protected here (Arm), and a
// fault there asks for all translations to be dropped. Behind each system call, what was translated
// is compared with memory. What another process changes meanwhile is found when a block of such
// memory begins, which is too late for that one run of it: that is reported.
#pragma once

#include <array>
#include <atomic>
#include <bitset>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "capture/emulate/guest.h"
#include "flowback/base/bytes.h"

namespace flowback::emulate {

// The caller locks, unless a comment says otherwise. Addresses are the guest's, unless they are
// called the host's.
class StaleCode {
 public:
  static constexpr uint64_t kPage = 4096;

  // Code has been translated that lies in memory which others may write to: keeps it, and protects
  // all other mappings of it. `base`: host address less guest address.
  void Keep(uint64_t start, Bytes code, uint64_t base);
  // Protects the unprotected mappings of kept code, if any.
  void Arm(uint64_t base);
  void OnMappingsChanged() { all_armed_ = false; }
  bool any() const { return !pages_.empty(); }
  // A system call may write to the guest's memory: it must find no protected pages.
  void Disarm();
  // All translations are to be dropped.
  void Forget() { pages_.clear(); }
  void Forget(uint64_t begin, uint64_t end);
  // Whether any kept code in [begin, end) is another one in memory now. Memory that is not there is
  // no other code.
  bool HasChanged(uint64_t begin, uint64_t end, const GuestMemory& memory) const;

  // The program wrote to the host's `address`, which faulted. True: the page was protected by Arm,
  // and is no more. Async-signal-safe, without the lock.
  bool OnWriteFault(uint64_t address);

 private:
  struct Page {
    std::array<uint8_t, kPage> bytes{};
    std::bitset<kPage> is_code{};
  };
  static constexpr size_t kMostArmed = 8192;

  void ArmPage(uint64_t host_page);

  std::map<uint64_t, Page> pages_;  // by address
  // The host's pages, in open addressing; 0: free, 1: was one.
  std::array<std::atomic<uint64_t>, kMostArmed> armed_{};
  std::atomic<size_t> armed_count_ = 0;
  std::atomic<bool> all_armed_ = false;
};

}  // namespace flowback::emulate
