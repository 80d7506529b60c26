// SPDX-License-Identifier: MIT
#include "cli/info/info_counters.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <span>
#include <vector>

#include "capture/formats/perf_records/named_regions.h"
#include "cli/info/info_report.h"
#include "cli/text/counters.h"
#include "replay/writers/text/printable.h"

namespace flowback::cli {
namespace {

// The counts of one thread, one event behind the other.
using ThreadRow = std::vector<const ThreadCount*>;

std::vector<ThreadRow> RowsOf(const CountedEvents& counters) {
  std::vector<ThreadRow> rows;
  for (const ThreadCount& count : counters.threads) {
    if (rows.empty() || rows.back()[0]->tid != count.tid || rows.back()[0]->pid != count.pid)
      rows.emplace_back();
    rows.back().push_back(&count);
  }
  return rows;
}

size_t WidthOf(const EventCounter& event) {
  constexpr size_t kLeast = 12;
  return std::max(kLeast, event.name.size());
}

void AppendRow(const CountedEvents& counters, const ThreadRow& row, const std::string& name,
               std::string& out) {
  out += fmt::format("{:>10} {:>8}", NumberOrDash(row[0]->tid), NumberOrDash(row[0]->pid));
  size_t next = 0;
  for (size_t event = 0; event < counters.events.size(); ++event) {
    const bool told = next < row.size() && row[next]->event == event;
    out += fmt::format(" {:>{}}", told ? std::to_string(row[next++]->value.scaled()) : "-",
                       WidthOf(counters.events[event]));
  }
  out += "  " + Printable(name) + '\n';
}

}  // namespace

void AppendCounters(const CountedEvents& counters, const Threads& threads, std::string& out) {
  if (counters.empty()) return;
  out += fmt::format("\ncounters, all threads{}\n{}",
                     counters.readings == 0 ? " that ended: of the others none was read" : "",
                     CounterLines(counters));
  const std::vector<ThreadRow> rows = RowsOf(counters);
  if (rows.empty()) return;
  out += fmt::format("\n{:<10} {:>8}", "counters", "pid");
  for (const EventCounter& event : counters.events)
    out += fmt::format(" {:>{}}", Printable(event.name), WidthOf(event));
  out += "  name\n";
  const size_t shown = ShownOf(rows.size());
  for (size_t i = 0; i < shown; ++i)
    AppendRow(counters, rows[i], std::string(threads.CommAt(rows[i][0]->tid, 0).comm), out);
  if (shown < rows.size()) out += fmt::format("{:>10} more\n", rows.size() - shown);
}

void AppendRegions(const Recording& recording, std::string& out) {
  std::vector<NamedRegion> regions = NamedRegions(recording);
  if (regions.empty()) return;
  std::ranges::stable_sort(regions, std::greater(), &NamedRegion::total_ns);
  out += fmt::format("\n{:>12} {:>12} {:>16} {:>16}  {}\n", "regions", "not ended", "total ns",
                     "longest ns", "name");
  const size_t shown = ShownOf(regions.size());
  for (const NamedRegion& region : std::span(regions).first(shown))
    out += fmt::format("{:>12} {:>12} {:>16} {:>16}  {}\n", region.begun,
                       region.begun - std::min(region.begun, region.ended), region.total_ns,
                       region.longest_ns, Printable(region.name));
  if (shown < regions.size()) out += fmt::format("{:>12} more\n", regions.size() - shown);
}

}  // namespace flowback::cli
