// SPDX-License-Identifier: MIT
// The locks themselves, by the addresses of their data. A site may acquire several of them, and a
// lock may be acquired at several sites.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "replay/locks/atomic_uses.h"
#include "replay/locks/locks.h"

namespace flowback {

// Lock instances of all threads of a recording.
class LockInstances {
 public:
  // `pids`: of the threads, by their numbers.
  explicit LockInstances(std::vector<int32_t> pids) : pids_(std::move(pids)) {}

  // An atomic operation or a futex call of the thread. Threads come one after the other. Returns
  // the lock if this is the thread's first use of it, else null.
  LockInstance* NoteUse(uint32_t thread, const AtomicUse& use) {
    ++uses_;
    Place* place = PlaceOf(thread, use.address);
    if (place == nullptr) return nullptr;
    std::vector<uint32_t>& threads = place->lock.threads;
    if (!threads.empty() && threads.back() == thread) return nullptr;
    threads.push_back(thread);
    return &place->lock;
  }
  // Returns the number of the lock that the operation acquires or waits for. `is_event`: nothing
  // is held then.
  uint32_t NumberOf(uint32_t thread, const AtomicUse& use, bool is_event);
  // How often an instruction's address was known; 0: the recording has none.
  uint64_t uses() const { return uses_; }
  // Returns the locks by their numbers, and behind them others that the same instructions acquire.
  std::vector<LockInstance> Take();

 private:
  static constexpr size_t kMost = size_t{1} << 20;  // addresses

  struct Key {
    int32_t pid = 0;
    uint64_t address = 0;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    size_t operator()(const Key& key) const {
      return (key.address ^ static_cast<uint64_t>(key.pid) << 48) * 0x9e3779b97f4a7c15 >> 7;
    }
  };
  struct Place {
    LockInstance lock;
    std::optional<uint32_t> number;
  };

  Place* PlaceOf(uint32_t thread, uint64_t address);

  std::vector<int32_t> pids_;
  std::unordered_map<Key, Place, Hash> places_;
  std::vector<Key> numbered_;
  std::set<uint64_t> acquiring_;  // instructions
  uint64_t uses_ = 0;
};

// Returns the numbers of locks of one process that lie in one line of the cache and that different
// threads use, line by line. Objects such as conditions are left out.
std::vector<std::vector<uint32_t>> SharedLines(const std::vector<LockInstance>& locks);

}  // namespace flowback
