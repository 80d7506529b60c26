// SPDX-License-Identifier: MIT
// A report of waits made by hand, to be written: threads "srv" 101, 102, ...
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "replay/locks/locks.h"
#include "replay/writers/locks/locks_view.h"

namespace flowback::test {

class MadeReport {
 public:
  explicit MadeReport(uint32_t threads);

  // Returns the number of the function.
  uint32_t Function(const std::string& name);
  // A site whose function is called by `caller`, which `outer` calls. Returns its number.
  uint32_t Site(const std::string& function, const std::string& caller, const std::string& outer);
  // A whole wait of a thread, held by another one.
  void Wait(uint32_t site, uint32_t thread, uint64_t time, uint64_t trips,
            WaitState state = WaitState::kWhole);
  // A thread held a site while others waited, and was in `function` then.
  void Holder(uint32_t site, uint32_t thread, uint64_t time, uint64_t certain,
              const std::string& function);
  // As if the trace had no times.
  void TakeTimes();

  LocksView View() const;
  // Returns the first sentence.
  std::string FirstSentence() const { return LockSentences(View()).front(); }
  std::string Text() const;

  LockReport report;

 private:
  LockSums& SumsOf(uint32_t site, uint32_t thread);

  Recording recording_;
  Threads threads_;
  std::vector<uint32_t> paths_;  // of the calls of each site's function
};

// Three threads wait at two sites for 0.38 of their time and 0.09 of one's; the first one holds the
// lock mostly.
MadeReport BusyReport();

}  // namespace flowback::test
