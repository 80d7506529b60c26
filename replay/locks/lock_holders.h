// SPDX-License-Identifier: MIT
// Who may have held what other threads waited for: the threads that were between acquiring and
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
#include <string_view>
#include <utility>
#include <vector>

#include "replay/locks/locks.h"

namespace flowback {

class LockHolders {
 public:
  // Something of the family was acquired at `site`. `likely`: the function may have failed.
  // `address`: of the lock; 0: not known.
  void OnAcquired(uint32_t thread, std::string_view family, uint32_t site, uint64_t time,
                  bool likely, uint64_t address = 0);
  void OnReleased(uint32_t thread, std::string_view family, uint64_t time, uint64_t address = 0);
  void OnWait(const LockWait& wait, std::string_view family);
  // The thread's flow has ended.
  void OnThreadEnd(uint32_t thread, uint64_t time);

  // Fills in holders, cycles and the holder of each of the worst and open waits. `proves`: all
  // threads of each process were played, without losses.
  void Tell(bool proves, LockReport& report);

 private:
  static constexpr size_t kMost = size_t{1} << 21;  // holds and waits that are kept
  static constexpr size_t kMostHeld = 64;           // by one thread, of one family
  static constexpr uint64_t kMostSteps = uint64_t{1} << 30;

  struct Hold {
    uint32_t thread = 0;
    uint32_t site = 0;
    uint64_t begin = 0;
    uint64_t end = 0;
    uint64_t address = 0;
    bool likely = false;
    bool open = false;  // it was not released
  };
  struct Waiting {
    uint32_t thread = 0;
    uint32_t site = 0;
    uint64_t begin = 0;
    uint64_t end = 0;
    uint64_t position = 0;
    uint64_t address = 0;
    bool open = false;  // it did not end
  };
  struct Family {
    std::vector<Hold> holds;
    std::vector<Waiting> waits;
    bool is_released = true;  // else threads acquire without releasing: who holds is not known
  };
  struct Share {
    uint64_t time = 0;
    uint64_t certain = 0;
  };
  struct Sums {
    Share share;
    uint64_t waits = 0;
  };
  class Sweep;

  // Whether what is held may be what another thread waits for, by their addresses.
  static bool MayBeSame(uint64_t held, uint64_t wanted) {
    return held == 0 || wanted == 0 || held == wanted;
  }
  using Held = std::vector<Hold>;
  static Held::iterator FindHeld(Held& held, std::string_view family, uint64_t address);
  void Release(const Hold& hold, std::string_view family, uint64_t time, bool open);
  static void TellOpen(bool proves, const Family& family, LockReport& report);
  void TellFamily(bool proves, Family& family, LockReport& report);
  static void FindCycles(LockReport& report);

  std::map<std::pair<uint32_t, std::string_view>, std::vector<Hold>> held_;  // by thread, family
  std::map<std::string_view, Family> families_;
  std::map<std::pair<uint32_t, uint32_t>, Sums> sums_;  // by site and thread
  size_t kept_ = 0;
};

}  // namespace flowback
