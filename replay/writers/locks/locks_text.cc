// SPDX-License-Identifier: MIT
// Waits for a person at a terminal: sentences; sites with their threads and holders; threads; the
// longest waits; and with --all the loops that do not count as waits.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "replay/writers/locks/lock_index.h"
#include "replay/writers/locks/locks_view.h"
#include "replay/writers/text/counted.h"
#include "replay/writers/text/wrapped.h"
#include "replay/writers/timeline/timeline_view.h"
#include "replay/writers/writers.h"

namespace flowback {
namespace {

class TextPrinter {
 public:
  TextPrinter(const LocksView& view, std::string& out)
      : view_(view), report_(*view.report), totals_(TotalsOf(report_)), out_(out) {}

  void Print() {
    PrintSentences();
    PrintSites();
    PrintThreads();
    PrintWorst();
    if (view_.all) PrintLoops();
    PrintHints();
  }

 private:
  std::string Duration(uint64_t time) const { return DurationWords(time, report_.nanoseconds); }
  void Line(std::string_view text, size_t indent) {
    const std::string blanks(indent, ' ');
    out_ += blanks + Wrapped(text, indent + 2, view_.width - indent) + '\n';
  }
  void More(size_t count) {
    if (count > view_.rows) out_ += fmt::format("  ({} more: --top N)\n", count - view_.rows);
  }

  void PrintSentences();
  void PrintSites();
  void PrintHeading();
  void PrintSite(size_t rank, uint32_t number);
  void PrintQuiet(size_t first);
  void PrintSums(const LockSums& sums, uint64_t life, std::string_view name);
  std::string WhoWaited(uint32_t site) const;
  void PrintThreadSums(uint32_t site);
  void PrintInstances(uint32_t site);
  void PrintHolders(uint32_t site);
  void PrintPath(const LockSite& site, const LockSums& sums);
  void PrintCallers(const std::vector<LockCaller>& callers);
  void PrintThreads();
  void PrintWorst();
  void PrintLoops();
  void PrintHints();
  std::string StateNote(const LockWait& wait) const;
  std::string MomentOf(const LockWait& wait) const;

  const LocksView& view_;
  const LockReport& report_;
  const LockTotals totals_;
  std::string& out_;
  const LockIndex index_{report_};
  const std::vector<uint32_t>& sites_ = index_.by_waiting;
};

void TextPrinter::PrintSentences() {
  bool is_first = true;
  for (const std::string& sentence : LockSentences(view_)) {
    const std::string text = is_first ? fmt::format("{}: {}", view_.input, sentence) : sentence;
    out_ += Wrapped(text, 2, view_.width) + '\n';
    is_first = false;
  }
}

// A row: the sums, and whose they are.
void TextPrinter::PrintSums(const LockSums& sums, uint64_t life, std::string_view name) {
  const std::string acquired = sums.acquisitions ? GroupedDigits(*sums.acquisitions) : "-";
  if (!report_.has_times) {
    out_ += fmt::format("  {:>12} {:>12} {:>12} {:>14}  {}\n", GroupedDigits(sums.waits), acquired,
                        GroupedDigits(sums.sleeps), GroupedDigits(sums.trips), name);
    return;
  }
  const uint64_t whole = sums.states[static_cast<size_t>(WaitState::kWhole)];
  const auto quantile = [&](uint64_t time) { return whole == 0 ? "-" : Duration(time); };
  const std::string mean =
      sums.waits == 0 ? "-" : Duration(sums.waiting.time / std::max<uint64_t>(sums.waits, 1));
  out_ += fmt::format(
      "  {:>8} {:>6} {:>9} {:>10} {:>12} {:>8} {:>8} {:>8} {:>8} {:>8} {:>6}  {}\n",
      Duration(sums.waiting.time), PercentWords(WaitShare(sums.waiting.time, life)),
      GroupedDigits(sums.waits), acquired, GroupedDigits(sums.trips), mean, quantile(sums.median),
      quantile(sums.p90), quantile(sums.p99), quantile(sums.max),
      sums.waiting.time == 0
          ? "-"
          : PercentWords(WaitShare(sums.waiting.time - std::min(sums.sleeping, sums.waiting.time),
                                   sums.waiting.time)),
      name);
}

void TextPrinter::PrintSites() {
  const auto waited = static_cast<size_t>(std::ranges::count_if(
      sites_, [&](uint32_t site) { return report_.site_sums[site].waits != 0; }));
  const size_t listed = view_.all ? sites_.size() : waited;
  if (listed != 0) PrintHeading();
  for (size_t i = 0; i < std::min(listed, view_.rows); ++i) PrintSite(i + 1, sites_[i]);
  More(listed);
  if (!view_.all) PrintQuiet(waited);
}

void TextPrinter::PrintHeading() {
  out_ += "\nwaits by site\n";
  if (report_.has_times)
    out_ +=
        fmt::format("  {:>8} {:>6} {:>9} {:>10} {:>12} {:>8} {:>8} {:>8} {:>8} {:>8} {:>6}  {}\n",
                    "waiting", "share", "waits", "acquired", "trips", "mean", "p50", "p90", "p99",
                    "max", "spun", "thread");
  else
    out_ += fmt::format("  {:>12} {:>12} {:>12} {:>14}  {}\n", "waits", "acquired", "sleeps",
                        "trips", "thread");
}

// The sites from `first` on, at which no thread waited.
void TextPrinter::PrintQuiet(size_t first) {
  uint64_t acquisitions = 0;
  for (size_t i = first; i < sites_.size(); ++i)
    acquisitions += report_.site_sums[sites_[i]].acquisitions.value_or(0);
  const size_t count = sites_.size() - first;
  if (count == 0) return;
  if (first == 0)
    out_ += fmt::format("No thread waited at {} with {} (--all lists them).\n",
                        Counted(count, "site"), Counted(acquisitions, "acquisition"));
  else
    out_ += fmt::format("  (no thread waited at {} with {}: --all)\n", Counted(count, "more site"),
                        Counted(acquisitions, "acquisition"));
}

void TextPrinter::PrintSite(size_t rank, uint32_t number) {
  constexpr size_t kMostCallers = 4;
  const LockSite& site = report_.sites[number];
  const LockSums& sums = report_.site_sums[number];
  const LockWait* const longest = index_.sites[number].longest;
  const SiteWords words = WordsOf(view_, site);
  const std::vector<LockCaller> callers =
      CallersOf(view_, site, longest == nullptr ? PathTree::kRoot : longest->path);
  const std::string names = CallerWords(callers, kMostCallers);
  Line(fmt::format("{}. {}{}", rank, words.Short(), names.empty() ? "" : " (" + names + ")"), 0);
  PrintSums(sums, totals_.life, WhoWaited(number));
  PrintThreadSums(number);
  PrintInstances(number);
  PrintHolders(number);
  if (sums.cycles != 0)
    out_ += fmt::format("  {} cycles of spinning\n", GroupedDigits(sums.cycles));
  if (!view_.paths) return;
  for (const LockSums* each : index_.sites[number].paths) PrintPath(site, *each);
}

// The thread where only one waited or acquired.
std::string TextPrinter::WhoWaited(uint32_t site) const {
  const std::vector<const LockSums*>& threads = index_.sites[site].threads;
  return threads.size() == 1 ? ThreadWords(view_, threads.front()->thread) : "all threads";
}

// A row for each thread that waited, where there are several threads.
void TextPrinter::PrintThreadSums(uint32_t site) {
  const std::vector<const LockSums*>& threads = index_.sites[site].threads;
  if (threads.size() < 2) return;
  size_t waited = 0;
  for (const LockSums* each : threads) {
    if (each->waits == 0) continue;
    if (++waited <= view_.rows)
      PrintSums(*each, report_.threads[each->thread].life(), ThreadWords(view_, each->thread));
  }
  More(waited);
  if (waited != 0 && waited != threads.size())
    out_ += fmt::format("  ({} did not wait)\n", Counted(threads.size() - waited, "more thread"));
}

// A row for each lock that threads waited for at the site, and where a lock without a name was used
// first. For a single lock the row would repeat the site's.
void TextPrinter::PrintInstances(uint32_t site) {
  std::vector<const LockSums*> waited;
  for (const LockSums* each : index_.sites[site].instances)
    if (each->waits != 0) waited.push_back(each);
  for (size_t i = 0; i < std::min(waited.size(), view_.rows); ++i) {
    const uint32_t lock = waited[i]->instance;
    const std::string name = "lock " + InstanceName(view_, lock);
    const bool is_named = !report_.instances[lock].symbol.empty();
    const std::string use = is_named ? std::string() : FirstUseWords(view_, lock);
    if (waited.size() > 1) PrintSums(*waited[i], totals_.life, name);
    if (waited.size() == 1)
      Line(is_named ? name : name + ", " + use, 2);
    else if (!is_named)
      Line(use, 4);
  }
  More(waited.size());
}

// "held by T1 for 83 %; one of T2, T3 for at most 17 %".
void TextPrinter::PrintHolders(uint32_t site) {
  constexpr size_t kMost = 5;
  const uint64_t waiting = report_.site_sums[site].waiting.time;
  if (waiting == 0) return;
  std::string certain;
  std::string maybe;
  uint64_t known = 0;
  uint64_t unsure = 0;
  size_t candidates = 0;
  for (const LockHolder* each : index_.sites[site].holders) {
    known += each->certain;
    if (each->certain != 0)
      certain += fmt::format(
          "{}{} for {}{}", certain.empty() ? "" : ", ", ThreadWords(view_, each->thread),
          PercentWords(WaitShare(each->certain, waiting)), DoingWords(view_, *each));
    if (each->time <= each->certain) continue;
    unsure += each->time - each->certain;
    if (++candidates <= kMost)
      maybe += (maybe.empty() ? "" : ", ") + ThreadWords(view_, each->thread);
  }
  if (candidates > kMost) maybe += fmt::format(" and {} more", candidates - kMost);
  const uint64_t rest = std::min(unsure, waiting - std::min(known, waiting));
  std::string text = certain.empty() ? "" : "held by " + certain;
  if (!maybe.empty())
    text += fmt::format("{}{}{} for {}", text.empty() ? "held by " : "; ",
                        candidates > 1 ? "one of " : "perhaps ", maybe,
                        PercentWords(WaitShare(rest, waiting)));
  if (!text.empty()) Line(text, 2);
}

void TextPrinter::PrintCallers(const std::vector<LockCaller>& callers) {
  for (const LockCaller& caller : callers)
    out_ += fmt::format("      {} ({}){}\n",
                        caller.function.empty() ? "??" : ShortName(caller.function),
                        caller.place.LineOrPlace(), caller.is_inlined ? " inlined" : "");
}

void TextPrinter::PrintPath(const LockSite& site, const LockSums& sums) {
  const uint64_t all = report_.site_sums[sums.site].waiting.time;
  if (report_.has_times)
    out_ +=
        fmt::format("  path with {} ({} of the site's), {}\n", Duration(sums.waiting.time),
                    PercentWords(WaitShare(sums.waiting.time, all)), Counted(sums.waits, "wait"));
  else
    out_ += fmt::format("  path with {}, {}\n", Counted(sums.waits, "wait"),
                        Counted(sums.trips, "trip"));
  PrintCallers(CallersOf(view_, site, sums.path));
}

void TextPrinter::PrintThreads() {
  if (!report_.has_times || totals_.threads == 0) return;
  std::vector<uint32_t> threads;
  for (uint32_t i = 0; i < report_.threads.size(); ++i)
    if (report_.threads[i].spinning + report_.threads[i].sleeping != 0) threads.push_back(i);
  std::ranges::stable_sort(threads, std::ranges::greater(), [&](uint32_t i) {
    return report_.threads[i].spinning + report_.threads[i].sleeping;
  });
  out_ += "\nthreads that waited\n";
  out_ += fmt::format("  {:>8} {:>8} {:>8} {:>8} {:>16}  {}\n", "life", "waiting", "spinning",
                      "sleeping", "instructions", "thread");
  for (size_t i = 0; i < std::min(threads.size(), view_.rows); ++i) {
    const LockThread& thread = report_.threads[threads[i]];
    const auto share = [&](uint64_t time) { return PercentWords(WaitShare(time, thread.life())); };
    out_ += fmt::format("  {:>8} {:>8} {:>8} {:>8} {:>16}  {}\n", Duration(thread.life()),
                        share(thread.spinning + thread.sleeping), share(thread.spinning),
                        share(thread.sleeping), GroupedDigits(thread.instructions),
                        ThreadWords(view_, threads[i]));
  }
  More(threads.size());
}

// Returns a note about the unknown part of a wait's time.
std::string TextPrinter::StateNote(const LockWait& wait) const {
  const auto bounds = [&] {
    const uint64_t least = wait.end.lo - std::min(wait.end.lo, wait.begin.hi);
    if (least == 0) return std::string();
    const bool has_most = wait.begin.lo != 0 && wait.end.hi != kOpenTime;
    const std::string most =
        has_most ? fmt::format(", at most {}", Duration(wait.end.hi - wait.begin.lo)) : "";
    return fmt::format(", at least {}{}", Duration(least), most);
  };
  switch (wait.state) {
    case WaitState::kWhole:
      return {};
    case WaitState::kBegunBefore:
      return ", begun before" + bounds();
    case WaitState::kCutByEnd:
      return ", not ended" + bounds();
    case WaitState::kLost:
      return ", cut by a loss" + bounds();
  }
  return {};
}

// Where a wait began: a time, as `timeline --at` takes it, or the number of an instruction.
std::string TextPrinter::MomentOf(const LockWait& wait) const {
  return report_.has_times ? MomentWords(wait.begin.time, report_.nanoseconds)
                           : std::to_string(wait.position);
}

void TextPrinter::PrintWorst() {
  constexpr size_t kMost = 10;
  if (report_.worst.empty()) return;
  out_ += report_.has_times ? "\nlongest waits\n" : "\nwaits with most trips\n";
  out_ += fmt::format("  {:>18} {:>8} {:>12} {:>7}  {:<24} {}\n",
                      report_.has_times ? "begin" : "instruction", "time", "trips", "sleeps",
                      "thread", "site");
  for (size_t i = 0; i < std::min({report_.worst.size(), kMost, view_.rows}); ++i) {
    const LockWait& wait = report_.worst[i];
    std::string line =
        fmt::format("  {:>18} {:>8} {:>12} {:>7}  {:<24} {}", MomentOf(wait),
                    report_.has_times ? Duration(wait.time()) : "-", GroupedDigits(wait.trips),
                    wait.sleeps, ThreadWords(view_, wait.thread), index_.sites[wait.site].rank + 1);
    if (wait.holder != LockWait::kNoThread)
      line += fmt::format(", {} {}", wait.is_certain ? "held by" : "perhaps held by",
                          ThreadWords(view_, wait.holder));
    out_ += line + StateNote(wait) + '\n';
  }
}

void TextPrinter::PrintLoops() {
  if (report_.loops.empty()) {
    out_ += "\nNo other loop looks like a wait.\n";
    return;
  }
  out_ += "\nloops that look like a wait and are not counted as one\n";
  for (size_t i = 0; i < std::min(report_.loops.size(), view_.rows); ++i) {
    const OtherLoop& loop = report_.loops[i];
    const LockSite site{.function = loop.function, .space = loop.space, .address = loop.address};
    const SiteWords words = WordsOf(view_, site);
    Line(fmt::format("{:>12} {}  {} ({}): {}{}", GroupedDigits(loop.trips),
                     loop.trips == 1 ? "trip " : "trips", words.function, words.loop.LineOrPlace(),
                     MayWait(loop) ? "it may be a wait: " : "", ReasonWords(loop)),
         2);
  }
  More(report_.loops.size());
}

void TextPrinter::PrintHints() {
  if (report_.worst.empty()) return;
  const LockWait& wait = report_.worst.front();
  const int32_t tid = report_.threads[wait.thread].tid;
  if (tid < 0) return;
  const std::string at = report_.has_times ? MomentOf(wait) : fmt::format("'#{}'", wait.position);
  out_ += fmt::format(
      "\n`flowback timeline {} --at {} --tid {}` shows the instructions of the first of these.\n",
      view_.input, at, tid);
}

}  // namespace

void WriteLocksText(const LocksView& view, TextSink& sink) {
  TextPrinter(view, sink.buffer()).Print();
  sink.Commit();
}

}  // namespace flowback
