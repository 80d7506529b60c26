// SPDX-License-Identifier: MIT
// Waits of threads for each other and how they are to be shown, as text, JSON or a picture.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "flowback/replay/threads.h"
#include "replay/locks/locks.h"
#include "replay/writers/text/code_words.h"

namespace flowback {

struct LockChanges;  // lock_changes.h

// The view refers to these objects, which must outlive it.
struct LocksView {
  const LockReport* report = nullptr;
  const Threads* threads = nullptr;
  NameSources names;
  std::string input;
  const LockChanges* changes = nullptr;  // since a baseline; null: no baseline
  bool all = false;                      // also prints loops that do not count as waits
  bool paths = false;                    // also prints the sums of each call path
  size_t rows = 20;                      // of each list of the text
  size_t width = 120;                    // of a line
};

// The sums of all waits.
struct LockTotals {
  uint64_t threads = 0;  // that waited
  uint64_t life = 0;     // of these threads
  LockSums sums;         // without quantiles and acquisitions
  // Sums of waits for locks alone, without waits for another thread's work, as at a condition, a
  // barrier or a thread's end.
  uint64_t lock_threads = 0;
  uint64_t lock_life = 0;
  uint64_t lock_waiting = 0;
};
// Returns whether a thread waits there until another one has done something, and holds nothing
// then: at a condition, a barrier, a thread's end. Else it waits for a lock.
bool IsForWork(const LockReport& report, const LockSite& site);
LockTotals TotalsOf(const LockReport& report);
// Returns a part of `life` between 0 and 1.
double WaitShare(uint64_t waiting, uint64_t life);

// A function on the way to a lock, and where it stands in it.
struct LockCaller {
  std::string function;  // as the symbol or DWARF has it; empty: not known
  CodeWords place;       // of the call
  bool is_inlined = false;
};

// What a site is called.
struct SiteWords {
  std::string function;     // short
  std::string inlined;      // the function of the lock's own code; empty: it is `function`'s
  std::string caller;       // short; empty: not known
  std::string source;       // "/src/srv.cc:14" of the call; empty: not known
  std::string loop_source;  // the same for LockSite::address
  CodeWords call;           // the place of the call
  CodeWords loop;           // of LockSite::address
  bool is_library = false;  // as LockSite's: the place of its own loop is useless
  // "spin_lock() called at srv.cc:14".
  std::string Short() const;
};
SiteWords WordsOf(const LocksView& view, const LockSite& site);

// Returns what a lock is called: "queue+0x40", "libc.so.6+0x1d2a80", or its address.
std::string InstanceName(const LocksView& view, uint32_t instance);
// Returns the instruction that used it first: the call of the lock's function, if it was in one.
inline uint64_t PlaceOfFirstUse(const LockInstance& lock) {
  return lock.call == 0 ? lock.ip : lock.call;
}
// "first used at init.c:12 (lock_queue <- init <- main)".
std::string FirstUseWords(const LocksView& view, uint32_t instance);
// Returns a sentence on locks of LockReport::shared_lines.
std::string LineSentence(const LocksView& view, const std::vector<uint32_t>& line);

// Returns the callers of the site's function on a path of LockReport::paths, the innermost first.
std::vector<LockCaller> CallersOf(const LocksView& view, const LockSite& site, uint32_t path);
// Returns the innermost functions of a path, at most 64, the innermost first.
std::vector<std::string> FunctionsOf(const LocksView& view, uint32_t path);
// Returns what a holder did while others waited: " in malloc, which was preempted for 60 % of that
// time".
std::string DoingWords(const LocksView& view, const LockHolder& holder);
// Returns the name, cut where it is longer than 1,000 bytes; empty: not known.
std::string FunctionName(const LockReport& report, uint32_t function);
// Returns "worker <- std::thread::_Invoker <- start_thread", with at most `most` callers.
std::string CallerWords(const std::vector<LockCaller>& callers, size_t most);
// "srv 24261".
std::string ThreadWords(const LocksView& view, uint32_t thread);
std::string_view ThreadName(const LocksView& view, uint32_t thread);
// "12.3 ms"; trips without times.
std::string PercentWords(double share);  // "41 %", "3.4 %", "<0.1 %"
// Why a loop does not count as a wait: "it writes to memory".
std::string_view ReasonWords(const OtherLoop& loop);
const char* Name(WaitState state);
const char* Name(LoopKind kind);
bool MayWait(const OtherLoop& loop);  // it is doubtful, and not alone

// Returns the sentences that begin the text.
std::vector<std::string> LockSentences(const LocksView& view);
// Returns the object that --json prints, without a newline.
std::string LocksJson(const LocksView& view);

}  // namespace flowback
