// SPDX-License-Identifier: MIT
#include "replay/session/ended_thread.h"

#include <algorithm>
#include <variant>

namespace flowback {
namespace {

// Returns whether the record belongs to another thread than the first, or to lost records that may
// have named one.
bool MayBeOfOther(const SidebandRecord& record, int32_t pid) {
  if (std::holds_alternative<LostRecord>(record)) return true;
  return std::visit(
      [pid]<class Record>(const Record& one) {
        if constexpr (requires {
                        one.pid;
                        one.tid;
                      })
          return one.pid == pid && one.tid > 0 && one.tid != pid;
        return false;
      },
      record);
}

}  // namespace

int32_t EndedThread(const Recording& recording, const ProcessEnd& end) {
  if (end.tid >= 0) return end.tid;
  const bool has_others = std::ranges::any_of(
      recording.sideband,
      [&](const SidebandRecord& record) { return MayBeOfOther(record, end.pid); });
  return has_others ? -1 : end.pid;
}

ThreadExits::ThreadExits(const Recording& recording) {
  for (const SidebandRecord& record : recording.sideband) {
    const auto* exit = std::get_if<ExitRecord>(&record);
    if (exit == nullptr) continue;
    const auto [known, is_new] = first_.try_emplace(exit->tid, exit->time);
    if (!is_new) known->second = std::min(known->second, exit->time);
  }
}

bool ThreadExits::IsBefore(int32_t tid, uint64_t time) const {
  const auto exit = first_.find(tid);
  return exit != first_.end() && exit->second < time;
}

}  // namespace flowback
