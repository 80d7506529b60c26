// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "replay/writers/locks/lock_changes.h"
#include "replay/writers/locks/lock_index.h"
#include "replay/writers/locks/locks_view.h"
#include "replay/writers/text/counted.h"
#include "replay/writers/timeline/timeline_view.h"

namespace flowback {
namespace {

// "a, b and c".
std::string ListWords(const std::vector<std::string>& items) {
  std::string text;
  for (size_t i = 0; i < items.size(); ++i)
    text += (i == 0 ? "" : i + 1 == items.size() ? " and " : ", ") + items[i];
  return text;
}

// ", held mostly by srv 24261 in malloc"; empty: no holder is known, or for a small part of the
// time alone.
std::string HeldBy(const LocksView& view, const LockIndex& index, uint32_t site) {
  const std::vector<const LockHolder*>& holders = index.sites[site].holders;
  if (holders.empty()) return {};
  const LockHolder& first = *holders.front();
  const uint64_t waiting = view.report->site_sums[site].waiting.time;
  uint64_t known = 0;
  for (const LockHolder* holder : holders) known += holder->time;
  if (known < waiting / 10) return {};
  const std::string doing = DoingWords(view, first);
  const bool has_most = first.time > waiting / 2;
  if (!has_most && holders.size() > 1)
    return fmt::format(", held by {} threads, longest by {}{}", holders.size(),
                       ThreadWords(view, first.thread), doing);
  // Others can have held it for as long: only one of them did.
  if (first.certain <= first.time / 2 && holders.size() > 1 && 2 * holders[1]->time > first.time)
    return fmt::format(", held by one of {} threads, as {}{}", holders.size(),
                       ThreadWords(view, first.thread), doing);
  return fmt::format(", held {}by {}{}", has_most ? "mostly " : "", ThreadWords(view, first.thread),
                     doing);
}

// "spin_lock() called at srv.cc:14 (worker <- std::thread), held mostly by srv 24261 in malloc".
std::string SiteSentence(const LocksView& view, const LockIndex& index, uint32_t number) {
  constexpr size_t kMostCallers = 2;
  const LockSite& site = view.report->sites[number];
  const LockWait* const longest = index.sites[number].longest;
  const std::string callers = CallerWords(
      CallersOf(view, site, longest == nullptr ? PathTree::kRoot : longest->path), kMostCallers);
  return fmt::format("{}{}{}", WordsOf(view, site).Short(),
                     callers.empty() ? "" : fmt::format(" ({})", callers),
                     HeldBy(view, index, number));
}

// The threads that have waits, as where no times are known.
size_t CountWaiters(const LockReport& report) {
  std::set<uint32_t> threads;
  for (const LockSums& sums : report.sums)
    if (sums.waits != 0) threads.insert(sums.thread);
  return threads.size();
}

std::string NobodyWaited(const LocksView& view) {
  uint64_t instructions = 0;
  for (const LockThread& thread : view.report->threads) instructions += thread.instructions;
  uint64_t losses = 0;
  for (const LossSum& sum : view.report->losses) losses += sum.count;
  return fmt::format("No thread waited for another one{}: {}, {} looked at.",
                     losses == 0 ? "" : " as far as is known, with " + Counted(losses, "loss"),
                     Counted(view.report->threads.size(), "thread"),
                     Counted(instructions, "instruction"));
}

std::string TripsSentence(const LocksView& view, const LockTotals& totals, const LockIndex& index) {
  const LockReport& report = *view.report;
  const size_t waiters = CountWaiters(report);
  const uint64_t own = report.site_sums[index.by_waiting.front()].trips;
  const std::string sleeps =
      totals.sums.sleeps == 0 ? "" : " and " + Counted(totals.sums.sleeps, "sleep");
  const std::string share =
      own == totals.sums.trips ? "" : fmt::format(", {} of the trips", GroupedDigits(own));
  return fmt::format("{} waited: {} round loops{}{} for {}.", Counted(waiters, "thread"),
                     Counted(totals.sums.trips, "trip"), sleeps, share,
                     SiteSentence(view, index, index.by_waiting.front()));
}

std::string WaitSentence(const LocksView& view) {
  const LockReport& report = *view.report;
  const LockTotals totals = TotalsOf(report);
  const LockIndex index(report);
  if (index.by_waiting.empty() || totals.sums.waits == 0) return NobodyWaited(view);
  if (!report.has_times) return TripsSentence(view, totals, index);
  const uint64_t all = totals.sums.waiting.time;
  const uint64_t own = report.site_sums[index.by_waiting.front()].waiting.time;
  const std::string share =
      own == all ? " for " : fmt::format(": {} for ", PercentWords(WaitShare(own, totals.life)));
  return fmt::format("{} spent {} of {} time waiting{}{}.", Counted(totals.threads, "thread"),
                     PercentWords(WaitShare(all, totals.life)),
                     totals.threads == 1 ? "its" : "their", share,
                     SiteSentence(view, index, index.by_waiting.front()));
}

// Where most of the waiting is for other threads' work, as of idle threads in a pool.
std::string LocksAlone(const LocksView& view) {
  const LockReport& report = *view.report;
  const LockTotals totals = TotalsOf(report);
  const LockIndex index(report);
  if (!report.has_times || totals.lock_waiting == 0 ||
      !IsForWork(report, report.sites[index.by_waiting.front()]))
    return {};
  const uint32_t first = *std::ranges::find_if(
      index.by_waiting, [&](uint32_t site) { return !IsForWork(report, report.sites[site]); });
  const auto share = [&](uint64_t time) { return PercentWords(WaitShare(time, totals.lock_life)); };
  return fmt::format("For locks alone {} waited {} of {} time: {} for {}.",
                     Counted(totals.lock_threads, "thread"), share(totals.lock_waiting),
                     totals.lock_threads == 1 ? "its" : "their",
                     share(report.site_sums[first].waiting.time), SiteSentence(view, index, first));
}

std::string DeadlockSentence(const LocksView& view, const LockCycle& cycle) {
  const LockReport& report = *view.report;
  std::vector<std::string> threads;
  std::vector<std::string> waits;
  for (size_t i = 0; i < cycle.waits.size(); ++i) {
    const LockWait& wait = report.open[cycle.waits[i]];
    const LockWait& next = report.open[cycle.waits[(i + 1) % cycle.waits.size()]];
    threads.push_back(ThreadWords(view, wait.thread));
    std::string since;
    if (report.has_times) since = " since " + MomentWords(wait.begin.time, report.nanoseconds);
    waits.push_back(fmt::format("{} waits for {} in {}{}", threads.back(),
                                ThreadWords(view, next.thread),
                                WordsOf(view, report.sites[wait.site]).Short(), since));
  }
  if (threads.size() == 1)
    return fmt::format("Deadlock: {} waits for itself in {}.", threads.front(),
                       WordsOf(view, report.sites[report.open[cycle.waits.front()].site]).Short());
  return fmt::format("Deadlock: {} wait for each other until the end: {}.", ListWords(threads),
                     ListWords(waits));
}

// "pool 4806 for LOCK (held by pool 4807)", "3 for LOCK".
std::string OpenAt(const LocksView& view, const std::vector<const LockWait*>& waits) {
  const LockWait& first = *waits.front();
  const std::string site = WordsOf(view, view.report->sites[first.site]).Short();
  if (waits.size() > 1) return fmt::format("{} for {}", waits.size(), site);
  if (first.holder == LockWait::kNoThread)
    return fmt::format("{} for {}", ThreadWords(view, first.thread), site);
  return fmt::format("{} for {} ({} {})", ThreadWords(view, first.thread), site,
                     first.is_certain ? "held by" : "perhaps held by",
                     ThreadWords(view, first.holder));
}

// Threads that still waited at their end, and are in no deadlock.
std::string OpenSentence(const LocksView& view) {
  constexpr size_t kMost = 3;
  const LockReport& report = *view.report;
  std::set<uint32_t> in_cycle;
  for (const LockCycle& cycle : report.cycles)
    in_cycle.insert(cycle.waits.begin(), cycle.waits.end());
  std::map<uint32_t, std::vector<const LockWait*>> by_site;
  size_t count = 0;
  for (uint32_t i = 0; i < report.open.size(); ++i) {
    if (in_cycle.contains(i)) continue;
    by_site[report.open[i].site].push_back(&report.open[i]);
    ++count;
  }
  if (count == 0) return {};
  std::vector<const std::vector<const LockWait*>*> sites;
  for (const auto& [site, waits] : by_site) sites.push_back(&waits);
  std::ranges::stable_sort(sites, std::ranges::greater(),
                           [](const auto* waits) { return waits->size(); });
  std::string text;
  size_t left = count;
  for (size_t i = 0; i < std::min(kMost, sites.size()); ++i) {
    text += (i == 0 ? "" : ", ") + OpenAt(view, *sites[i]);
    left -= sites[i]->size();
  }
  return fmt::format("{} still waited when the trace ended: {}{}.", Counted(count, "thread"), text,
                     left != 0 ? fmt::format(" and {} more", left) : "");
}

std::vector<std::string> SharedLineSentences(const LocksView& view) {
  constexpr size_t kMost = 5;
  const auto& lines = view.report->shared_lines;
  std::vector<std::string> sentences;
  for (size_t i = 0; i < std::min(kMost, lines.size()); ++i)
    sentences.push_back(LineSentence(view, lines[i]));
  if (lines.size() > kMost)
    sentences.push_back(
        fmt::format("So do the locks in {}.", Counted(lines.size() - kMost, "more cache line")));
  return sentences;
}

std::string NotWhole(const LockReport& report) {
  const LockSums sums = TotalsOf(report).sums;
  const auto count = [&](WaitState state) { return sums.states[static_cast<size_t>(state)]; };
  std::vector<std::string> parts;
  const auto add = [&](WaitState state, std::string_view how) {
    if (count(state) != 0) parts.push_back(fmt::format("{} {}", GroupedDigits(count(state)), how));
  };
  add(WaitState::kBegunBefore, "begun before the trace");
  add(WaitState::kCutByEnd, "cut by its end");
  add(WaitState::kLost, "cut by a loss");
  if (parts.empty()) return {};
  return fmt::format("Waits that were not seen whole: {}. Quantiles leave them out.",
                     ListWords(parts));
}

std::string DoubtfulSentence(const LocksView& view) {
  const auto count = static_cast<uint64_t>(std::ranges::count_if(view.report->loops, MayWait));
  if (count == 0) return {};
  const bool is_one = count == 1;
  if (view.all)
    return fmt::format("{} may be {}: the list of loops has the reasons.", Counted(count, "loop"),
                       is_one ? "a wait" : "waits");
  return fmt::format("{} may be {}: --all lists {}.", Counted(count, "loop"),
                     is_one ? "a wait" : "waits", is_one ? "it" : "them");
}

}  // namespace

std::vector<std::string> LockSentences(const LocksView& view) {
  const LockReport& report = *view.report;
  std::vector<std::string> sentences;
  const auto add = [&](std::string sentence) {
    if (!sentence.empty()) sentences.push_back(std::move(sentence));
  };
  if (view.changes != nullptr)
    for (std::string& each : ChangeSentences(*view.changes, report.nanoseconds))
      add(std::move(each));
  for (const LockCycle& cycle : report.cycles) add(DeadlockSentence(view, cycle));
  add(WaitSentence(view));
  add(LocksAlone(view));
  add(OpenSentence(view));
  for (std::string& each : SharedLineSentences(view)) add(std::move(each));
  add(DoubtfulSentence(view));
  if (report.emulated && report.has_times) add(kEmulatedTimes);
  if (!report.has_times) add("The trace has no times: waits are counted by the trips of loops.");
  add(NotWhole(report));
  return sentences;
}

}  // namespace flowback
