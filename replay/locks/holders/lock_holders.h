// SPDX-License-Identifier: MIT
// Threads that may have held a lock that others waited for: those that were between acquiring and
// releasing something of the same family (lock_functions.def) in the same process.
//
//   A   acquires ........................ releases
//   B        waits for A alone, as no other thread holds anything of the family when it begins to
//   C                acquires ................ releases
//   B                waits for A yet       waits for C, or it has not been woken yet
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "replay/locks/holders/hold.h"
#include "replay/locks/holders/hold_activity.h"
#include "replay/locks/holders/time_away.h"
#include "replay/locks/locks.h"

namespace flowback {

class LockHolders {
 public:
  // `paths` must outlive this.
  explicit LockHolders(const PathTree& paths) : paths_(paths), activity_(paths) {}

  void OnAcquired(uint32_t thread, const Acquired& acquired);
  // The thread begins to release something then; `address`: of the lock; 0: not known.
  void OnReleasing(uint32_t thread, std::string_view family, const TimePoint& time,
                   uint64_t address = 0);
  // The last release that it began is complete by then. Without it, it may be held to the end.
  void OnReleased(uint32_t thread, std::string_view family, uint64_t latest);
  void OnWait(const LockWait& wait, std::string_view family);
  // What a thread does while it holds something: as HoldActivity::Move has it. The first call comes
  // when it has acquired it.
  void OnDoing(uint32_t thread, uint32_t node, size_t depth, uint64_t time);
  // Returns how many of the outermost calls OnDoing needs; 0: none.
  size_t followed() const { return activity_.followed(); }
  // The thread's flow has ended.
  void OnThreadEnd(uint32_t thread, uint64_t time);

  // Fills in holders, cycles and the holder of each of the worst and open waits. `proves`: all
  // threads of each process were played, without losses.
  void Tell(bool proves, TimeAway& away, LockReport& report);

 private:
  static constexpr size_t kMost = size_t{1} << 21;  // holds and waits that are kept
  static constexpr size_t kMostHeld = 64;           // by one thread, of one family

  using Key = std::pair<uint32_t, std::string_view>;  // a thread, and a family
  struct Held {
    std::vector<Hold> holds;  // that are not released, in the order in which they were acquired
    size_t last = SIZE_MAX;   // in HoldFamily::holds: the one that it released last
  };
  struct Share {
    uint64_t time = 0;
    uint64_t certain = 0;
  };
  // Sums of one holder at one site.
  struct Sums {
    LockHolder holder;
    std::map<uint32_t, uint64_t> doing;    // time by call
    std::map<uint32_t, uint64_t> waiting;  // time by site
  };
  // Threads that waited for a holder while it waited itself or was off the CPU, with their sites.
  struct Convoy {
    uint64_t begin = 0;
    std::set<uint32_t> threads;
    std::set<LockHolder*> holders;

    void Add(uint32_t thread, uint64_t from, LockHolder& holder);
  };
  struct OwnWait {
    uint64_t begin = 0;
    uint64_t end = 0;
    uint32_t site = 0;
  };

  using Holds = std::vector<Hold>;
  static Holds::iterator FindHeld(Holds& holds, std::string_view family, uint64_t address);
  static bool HasTriedAgain(const Acquired& acquired, Holds& holds);
  void MakeRoom(std::string_view family, std::vector<Hold>& holds);
  void TellFamily(bool proves, const HoldFamily& family, TimeAway& away, LockReport& report);
  uint64_t AddDoing(uint32_t thread, uint64_t begin, uint64_t end, TimeAway& away,
                    Sums& sums) const;
  uint32_t MainCall(const Sums& sums) const;
  static void TellOpen(bool proves, const HoldFamily& family, LockReport& report);
  static void FindCycles(LockReport& report);

  const PathTree& paths_;
  std::map<Key, Held> held_;
  size_t held_now_ = 0;  // by the thread that is played
  std::map<std::string_view, HoldFamily> families_;
  std::map<uint32_t, std::vector<OwnWait>> own_waits_;  // by thread
  std::map<std::pair<uint32_t, uint32_t>, Sums> sums_;  // by site and thread
  HoldActivity activity_;
  size_t kept_ = 0;
};

}  // namespace flowback
