// SPDX-License-Identifier: MIT
// What locks are called whose addresses the recording has.
#include <fmt/format.h>

#include <algorithm>

#include "replay/writers/locks/locks_view.h"
#include "replay/writers/text/printable.h"
#include "replay/writers/timeline/timeline_view.h"

namespace flowback {

std::string InstanceName(const LocksView& view, uint32_t number) {
  const LockInstance& lock = view.report->instances[number];
  if (lock.file.empty()) return fmt::format("{:#x}", lock.address);
  if (lock.symbol.empty()) {
    const std::string file = lock.file.substr(lock.file.rfind('/') + 1);
    return fmt::format("{}+{:#x}", Printable(file), lock.place);
  }
  const std::string symbol = ShortName(lock.symbol);
  return lock.symbol_offset == 0 ? symbol : fmt::format("{}+{:#x}", symbol, lock.symbol_offset);
}

std::string FirstUseWords(const LocksView& view, uint32_t number) {
  constexpr size_t kMostCallers = 3;
  const LockInstance& lock = view.report->instances[number];
  const LockSite use{.space = lock.space, .address = PlaceOfFirstUse(lock)};
  std::vector<std::string> functions = FunctionsOf(view, lock.path);
  if (functions.size() > kMostCallers) functions.resize(kMostCallers);
  std::string names;
  for (const std::string& each : functions)
    names += (names.empty() ? "" : " <- ") + ShortName(each);
  return fmt::format("first used at {}{}", WordsOf(view, use).loop.LineOrPlace(),
                     names.empty() ? "" : fmt::format(" ({})", names));
}

std::string LineSentence(const LocksView& view, const std::vector<uint32_t>& line) {
  constexpr size_t kMost = 4;
  std::string names;
  const size_t listed = std::min(line.size(), kMost);
  for (size_t i = 0; i < listed; ++i) {
    const bool is_last = i + 1 == listed && listed == line.size();
    names += (i == 0 ? "" : is_last ? " and " : ", ") + InstanceName(view, line[i]);
  }
  if (line.size() > listed) names += fmt::format(" and {} more", line.size() - listed);
  return fmt::format(
      "{} share a cache line (64 bytes), and several threads use them: each slows the others.",
      names);
}

}  // namespace flowback
