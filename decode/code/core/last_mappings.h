// SPDX-License-Identifier: MIT
// Finds the records whose mappings a process still has at the end of the recording: a core dump
// holds the bytes of those mappings alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>

namespace flowback {

// Finds the record that owns each address. Records are named by their positions in the recording's
// sideband.
class LastMappings {
 public:
  static constexpr size_t kBefore = ~size_t{0};  // nothing recorded: mapped before the recording

  struct Owner {
    size_t since = kBefore;   // from when on the process has had it: its record, exec, or fork
    size_t record = kBefore;  // that mapped it, in this process or in one it was forked from
  };

  LastMappings() { begins_.emplace(0, Owner()); }

  // The record mapped the range.
  void Map(uint64_t address, uint64_t size, size_t record) {
    if (size == 0) return;
    const uint64_t last = address + (size - 1);
    if (last < address) return Map(address, -address, record);  // cut at the end of all addresses
    if (last != ~uint64_t{0}) begins_.try_emplace(last + 1, OwnerOf(last + 1));
    begins_.erase(begins_.lower_bound(address),
                  last == ~uint64_t{0} ? begins_.end() : begins_.find(last + 1));
    begins_[address] = {record, record};
  }
  // A new program: nothing of the old one is left.
  void Exec(size_t record) {
    begins_.clear();
    begins_.emplace(0, Owner{record, kBefore});
  }
  // A new process, with its parent's memory.
  void Fork(size_t record, const LastMappings& parent) {
    begins_ = parent.begins_;
    for (auto& [begin, owner] : begins_) owner.since = record;
  }

  Owner OwnerOf(uint64_t address) const { return std::prev(begins_.upper_bound(address))->second; }
  // Calls use(address, size, owner) for each part of the range with an owner of its own, in order.
  template <class Use>
  void ForEach(uint64_t address, uint64_t size, const Use& use) const {
    for (uint64_t done = 0; done < size;) {
      const uint64_t at = address + done;
      const auto next = begins_.upper_bound(at);
      uint64_t part = size - done;
      if (next != begins_.end() && next->first - at < part) part = next->first - at;
      use(at, part, std::prev(next)->second);
      done += part;
    }
  }

 private:
  std::map<uint64_t, Owner> begins_;  // each holds up to the next
};

}  // namespace flowback
