// SPDX-License-Identifier: MIT
// The threads of `info` as text: what they executed, and what their time was.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/saturated.h"
#include "cli/info/info_report.h"
#include "cli/reading/stream_report.h"
#include "replay/writers/text/printable.h"

namespace flowback::cli {
namespace {

std::string NameOf(const TimeAccount& account, const Threads& threads) {
  if (account.tid >= 0) return Printable(threads.CommAt(account.tid, 0).comm);
  const std::string stream = account.stream->cpu >= 0
                                 ? fmt::format("cpu{}", account.stream->cpu)
                                 : fmt::format("stream {}", account.stream->index);
  return fmt::format("({}: whose is not known)", stream);
}

// The longest-lived ones first.
std::vector<const TimeAccount*> ByLifetime(const TimeAccounts& times) {
  std::vector<const TimeAccount*> sorted;
  for (const TimeAccount& account : times.threads) sorted.push_back(&account);
  std::ranges::stable_sort(sorted, [](const TimeAccount* a, const TimeAccount* b) {
    return a->lifetime() > b->lifetime();
  });
  return sorted;
}

// Its lifetime is the sum of theirs.
TimeAccount SumOf(const std::vector<const TimeAccount*>& accounts, size_t from) {
  TimeAccount sum;
  for (size_t i = from; i < accounts.size(); ++i) {
    AddSaturated(sum.end, accounts[i]->lifetime());
    sum.instructions += accounts[i]->instructions;
    sum.bytes += accounts[i]->bytes;
    sum.losses += accounts[i]->losses;
    for (const TimeClass kind : kAllTimeClasses)
      AddSaturated(sum.Of(kind).time, accounts[i]->Of(kind).time);
  }
  return sum;
}

// A table of the shown ones, one line for the rest, one for all.
template <class Line>
void AppendTable(const std::vector<const TimeAccount*>& accounts, Line line) {
  const size_t shown = ShownOf(accounts.size());
  for (size_t i = 0; i < shown; ++i)
    line(NumberOrDash(accounts[i]->tid), *accounts[i], accounts[i]);
  if (shown < accounts.size())
    line(fmt::format("{} more", accounts.size() - shown), SumOf(accounts, shown), nullptr);
  if (accounts.size() > 1) line("all", SumOf(accounts, 0), nullptr);
}

void AppendFlow(const std::vector<const TimeAccount*>& accounts, const Threads& threads,
                const TraceUnit& unit, std::string& out) {
  out += fmt::format("\n{:<10} {:>8} {:>14} {:>12} {:>8}  {}\n", "threads", "pid", "instructions",
                     unit.plural, "losses", "name");
  AppendTable(
      accounts, [&](const std::string& who, const TimeAccount& account, const TimeAccount* one) {
        out += fmt::format("{:>10} {:>8} {:>14} {:>12} {:>8}  {}", who, NumberOrDash(account.pid),
                           account.instructions, account.bytes / unit.bytes, account.losses,
                           one == nullptr ? "" : NameOf(*one, threads));
        out.erase(out.find_last_not_of(' ') + 1);
        out += '\n';
      });
}

// Law 2, thread by thread. Classes that nobody's time is of have no column.
void AppendTimes(const InfoReport& report, const std::vector<const TimeAccount*>& accounts,
                 std::string& out) {
  const TimeAccount all = SumOf(accounts, 0);
  if (all.lifetime() == 0) return;
  std::vector<TimeClass> kinds;
  std::string sum;
  std::string none;
  for (const TimeClass kind : kAllTimeClasses) {
    const bool any = all.Of(kind).time != 0;
    if (any) kinds.push_back(kind);
    std::string& words = any ? sum : none;
    words += fmt::format("{}{}", words.empty() ? "" : any ? " + " : ", ", Name(kind));
  }
  out += fmt::format("\ntimes, in {}: {} = lifetime{}\n{:>10} {:>14}",
                     report.times.nanoseconds ? "ns" : "TSC ticks", sum,
                     none.empty() ? "" : fmt::format(" (no time {})", none), "tid", "lifetime");
  for (const TimeClass kind : kinds) out += fmt::format(" {:>22}", Name(kind));
  out += '\n';
  AppendTable(accounts,
              [&](const std::string& who, const TimeAccount& account, const TimeAccount* one) {
                // Nobody's trace may have no time: it is lost time of the threads it is one's of.
                if (one != nullptr && one->tid < 0 && one->lifetime() == 0) {
                  out += fmt::format("{:>10} {:>14}\n", who, "-");
                  return;
                }
                out += fmt::format("{:>10} {:>14}", who, account.lifetime());
                for (const TimeClass kind : kinds) {
                  const uint64_t time = account.Of(kind).time;
                  out += fmt::format(" {:>14} {:>7}", time, PercentOf(time, account.lifetime()));
                }
                out += '\n';
              });
  const auto untold = [](const TimeAccount* one) { return one->tid >= 0 && !one->off_cpu_told; };
  if (std::ranges::none_of(accounts, untold)) return;
  // What executed between samples is not known, in the kernel or not.
  const TraceSource* const source = report.opened->source_or_null();
  const bool samples = source != nullptr && source->samples();
  out += fmt::format("  the recording has no context-switch records for some threads{}\n",
                     samples ? "" : ", so waits are counted as kernel time");
  const std::string_view remedy = SwitchRemedy(report.opened->recording());
  if (!remedy.empty()) out += fmt::format("  try: perf: {}\n", remedy);
}

}  // namespace

std::string NumberOrDash(int32_t number) { return number < 0 ? "-" : std::to_string(number); }

std::string PercentOf(uint64_t part, uint64_t whole) {
  if (part == 0 || whole == 0) return "0 %";
  const double percent = 100 * static_cast<double>(part) / static_cast<double>(whole);
  return percent < 0.1 ? "<0.1 %" : fmt::format("{:.1f} %", percent);
}

void AppendThreads(const InfoReport& report, std::string& out) {
  if (report.times.threads.empty()) return;
  const std::vector<const TimeAccount*> accounts = ByLifetime(report.times);
  AppendFlow(accounts, report.opened->threads(), report.opened->source().Unit(), out);
  AppendTimes(report, accounts, out);
}

}  // namespace flowback::cli
