// SPDX-License-Identifier: MIT
// Goes through what threads did with locks of one family, in the order of time, and finds who held
// what others waited for.
//
// Somebody holds what a thread begins to wait for. Where one thread alone can, it does until it
// begins to release something; after that the waiting thread may not have been woken yet, or
// another one has come before it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "replay/locks/holders/hold.h"
#include "replay/locks/locks.h"

namespace flowback {

class HoldSweep {
 public:
  // A time in which a thread held something while a wait (its number in the family) went on.
  struct Part {
    uint32_t wait = 0;
    uint32_t thread = 0;
    uint64_t begin = 0;
    uint64_t end = 0;
    bool is_only = false;  // no other thread can have held it, and this one did
  };

  // Both must outlive it.
  HoldSweep(const HoldFamily& family, const std::vector<LockThread>& threads);

  // Returns false if that would take too long.
  bool Run(const std::function<void(const Part&)>& give);

 private:
  static constexpr uint64_t kMostSteps = uint64_t{1} << 30;

  // In the order in which what happens at one time is looked at.
  enum What : uint8_t {
    kMayHold,
    kRelease,  // begins
    kHoldEnds,
    kWaitEnds,
    kHoldBegins,
    kMayWait,
    kWaitBegins,
    kWaits,  // for certain
    kMayNotHold,
  };
  struct Moment {
    uint64_t time = 0;
    What what{};
    uint32_t number = 0;
  };
  struct Only {
    uint32_t thread = 0;
    bool certain = false;
  };
  // A holder and its lock's address; 0: unknown.
  struct Key {
    uint32_t thread = 0;
    uint64_t address = 0;
    auto operator<=>(const Key&) const = default;
  };
  static Key KeyOf(const Hold& hold) { return {hold.thread, hold.address}; }
  // The numbers of holds with one Key.
  struct Possible {
    unsigned may = 0;
    unsigned doubtful = 0;
    unsigned releasing = 0;
  };

  void Add(const Hold& hold, uint32_t number);
  void Pass(const Moment& moment);
  void PassHold(const Moment& moment, const Hold& hold);
  void PassWait(const Moment& moment);
  void MayHold(const Hold& hold);
  void MayNotHold(const Hold& hold);
  void FindOnly(uint32_t wait);
  bool CanHold(const Key& holder, uint32_t wait) const;
  uint32_t OnlyByAddress(uint32_t wait) const;
  void GiveTo(uint32_t wait, uint64_t begin, uint64_t end,
              const std::function<void(const Part&)>& give) const;

  const HoldFamily& family_;
  const std::vector<LockThread>& threads_;
  std::vector<Moment> moments_;
  std::map<Key, uint32_t> holders_;  // how often each is held
  std::map<Key, Possible> possible_;
  std::set<uint32_t> waits_;                          // that go on
  std::map<uint32_t, std::set<uint32_t>> beginning_;  // by wait: who may hold what it is for
  std::map<uint32_t, Only> only_;                     // by wait
};

}  // namespace flowback
