// SPDX-License-Identifier: MIT
// `branches --mem` as text: the answer in a sentence each, then the tables.
//
//   lines that several threads touch
//      samples    loads   stores modified   remote  threads  line
//          300      200      100      120        0        2  7f52d8000040 of process 42
//                                 +0  100 stores by thread 43      inc+0x4 (a.out) at a.c:5
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <ranges>
#include <vector>

#include "cli/branches/memory_view.h"
#include "cli/branches/place_text.h"
#include "replay/writers/text/counted.h"

namespace flowback::cli {
namespace {

constexpr size_t kMostUses = 8;     // of a line: further instructions are only counted
constexpr size_t kMostThreads = 4;  // of an instruction: further threads are only counted

// Lines found changed in another cache come first, because this makes sharing slow.
std::vector<const LineSum*> SharedLines(const AccessReport& report) {
  std::vector<const LineSum*> lines;
  for (const LineSum& line : report.lines)
    if (line.shared()) lines.push_back(&line);
  std::ranges::stable_sort(lines, std::ranges::greater(),
                           [](const LineSum* line) { return line->counts.modified; });
  return lines;
}

std::string NameOfLine(const LineSum& line) {
  return line.pid < 0 ? fmt::format("{:x}", line.address)
                      : fmt::format("{:x} of process {}", line.address, line.pid);
}

// "3 loads and 1 store", "4 accesses".
std::string KindText(uint64_t samples, uint64_t loads, uint64_t stores) {
  if (loads != 0 && stores != 0) return Counted(loads, "load") + " and " + Counted(stores, "store");
  if (loads != 0) return Counted(loads, "load");
  if (stores != 0) return Counted(stores, "store");
  return Counted(samples, "access");
}

// "+0", "+8...": where in the line the first access began, and whether others began elsewhere.
std::string OffsetText(uint64_t places) {
  return fmt::format("+{}{}", std::countr_zero(places), std::has_single_bit(places) ? "" : "...");
}

std::string ThreadsText(const LineUse& use) {
  std::string text = use.tids.size() == 1 ? "thread" : "threads";
  size_t shown = 0;
  for (const int32_t tid : use.tids) {
    if (shown++ == kMostThreads)
      return text + fmt::format(" and {} more", use.tids.size() - kMostThreads);
    text += tid < 0 ? " (not told)" : fmt::format(" {}", tid);
  }
  return text;
}

// "RAM 12, L2 3": where data was found most often.
std::string LevelsText(const AccessingCode& code) {
  constexpr size_t kMostLevels = 3;
  std::vector<std::pair<uint64_t, size_t>> levels;
  for (size_t i = 1; i < code.levels.size(); ++i)
    if (code.levels[i] != 0) levels.emplace_back(code.levels[i], i);
  std::ranges::stable_sort(levels, std::ranges::greater(), &std::pair<uint64_t, size_t>::first);
  std::string text;
  for (size_t i = 0; i < std::min(levels.size(), kMostLevels); ++i)
    text += fmt::format("{}{} {}", i == 0 ? "" : ", ",
                        Name(static_cast<MemoryLevel>(levels[i].second)), levels[i].first);
  return text.empty() ? "-" : text;
}

class MemoryText {
 public:
  MemoryText(const MemoryView& view, std::string& out)
      : view_(view), report_(view.report), out_(out), shared_(SharedLines(view.report)) {}

  void Write() {
    WriteSharing();
    WriteHottest();
    WriteWaiting();
    WriteWhatIsNotTold();
    WriteSharedLines();
    WriteInstructions();
    WriteLines();
  }

 private:
  std::string NameOf(const AccessingCode& code) const {
    return PlaceText(view_.names, code.space, code.address, view_.ObjectOf(code.place));
  }

  void WriteSharing() {
    if (shared_.empty()) {
      out_ += "No cache line was sampled with more than one thread at it.\n";
      return;
    }
    const LineSum& line = *shared_.front();
    const AccessCounts& counts = line.counts;
    out_ += fmt::format(
        "The hottest cache line that several threads touch is {}: {} by {} threads "
        "in the samples",
        NameOfLine(line), KindText(counts.samples, counts.loads, counts.stores),
        line.threads.size());
    if (counts.modified != 0)
      out_ += fmt::format(", {} of which found it changed in another cache", counts.modified);
    out_ += ".\n";
    if (counts.stores != 0 && line.apart())
      out_ +=
          "No two threads were sampled at one place of it: they share the line, it seems, and "
          "no data.\n";
  }
  void WriteHottest() {
    if (report_.code.empty()) return;
    const AccessingCode& code = report_.code.front();
    out_ += fmt::format("Most sampled accesses are made by {}: {} of {}.\n", NameOf(code),
                        code.counts.samples, report_.accesses);
  }
  void WriteWaiting() {
    const auto waited = std::ranges::max_element(
        report_.code, {}, [](const AccessingCode& code) { return code.counts.latency.sum(); });
    if (waited == report_.code.end() || waited->counts.latency.sum() == 0) {
      out_ += "How long data took is not recorded.\n";
      return;
    }
    uint64_t all = 0;
    for (const AccessingCode& code : report_.code) all += code.counts.latency.sum();
    out_ += fmt::format(
        "Longest in all was waited for data at {}: {} of the known cycles, {} each time "
        "(median).\n",
        NameOf(*waited), Share(waited->counts.latency.sum(), all),
        waited->counts.latency.Quantile(0.5));
  }
  void WriteWhatIsNotTold() {
    if (report_.inexact != 0)
      out_ += fmt::format(
          "Among {} {} {} instruction exactly (skid): "
          "it is the one shown or, as a rule, one shortly before it.\n",
          Counted(report_.accesses, "sampled access"), report_.inexact,
          ByCount(report_.inexact, "does not name its", "do not name their"));
    if (report_.nowhere != 0)
      out_ += fmt::format("Among {} {} {} no instruction.\n",
                          Counted(report_.accesses, "sampled access"), report_.nowhere,
                          ByCount(report_.nowhere, "names", "name"));
    if (report_.impossible != 0)
      out_ += fmt::format("{} {} an address that no process can have: left out.\n",
                          Counted(report_.impossible, "sample"),
                          ByCount(report_.impossible, "names", "name"));
    if (report_.fetches != 0)
      out_ +=
          fmt::format("{} {} of fetches of code: left out.\n", Counted(report_.fetches, "sample"),
                      ByCount(report_.fetches, "is", "are"));
    if (report_.cut != 0)
      out_ += fmt::format("{} {} cut by a loss: counted as far as known.\n",
                          Counted(report_.cut, "sample"), ByCount(report_.cut, "was", "were"));
    if (report_.unread != 0)
      out_ += fmt::format("{} of the samples {} a meaning that is not known: passed over.\n",
                          Counted(report_.unread, "item"), ByCount(report_.unread, "has", "have"));
    const uint64_t silent =
        report_.samples - report_.accesses - report_.fetches - report_.impossible;
    if (silent != 0)
      out_ += fmt::format("{} {} no memory access.\n", Counted(silent, "sample"),
                          ByCount(silent, "contains", "contain"));
    out_ += "These are samples: of accesses between them nothing is known.\n";
  }

  void WriteLineHeader(std::string_view title) {
    out_ += fmt::format("\n{}\n{:>10} {:>8} {:>8} {:>8} {:>8} {:>8}  {}\n", title, "samples",
                        "loads", "stores", "modified", "remote", "threads", "line");
  }
  void WriteLine(const LineSum& line) {
    const AccessCounts& counts = line.counts;
    out_ += fmt::format("{:>10} {:>8} {:>8} {:>8} {:>8} {:>8}  {}\n", counts.samples, counts.loads,
                        counts.stores, counts.modified, counts.remote, line.threads.size(),
                        NameOfLine(line));
  }
  void WriteSharedLines() {
    if (shared_.empty()) return;
    WriteLineHeader("lines that several threads touch");
    for (const LineSum* line : shared_ | std::views::take(view_.top)) {
      WriteLine(*line);
      for (const LineUse& use : line->uses | std::views::take(kMostUses))
        out_ += fmt::format("{:>34}  {} by {}: {}\n", OffsetText(use.places),
                            KindText(use.samples, use.loads, use.stores), ThreadsText(use),
                            NameOf(report_.code[use.code]));
      if (line->uses.size() > kMostUses)
        out_ += fmt::format("{:>34}  {} more instructions\n", "", line->uses.size() - kMostUses);
    }
  }
  void WriteInstructions() {
    if (report_.code.empty()) return;
    out_ += fmt::format(
        "\ninstructions\n{:>10} {:>8} {:>8} {:>8} {:>8} {:>6} {:>6} {:>6}  {:<24} "
        "{}\n",
        "samples", "loads", "stores", "inexact", "remote", "p50", "p90", "max", "data found",
        "instruction");
    for (const AccessingCode& code : report_.code | std::views::take(view_.top)) {
      const AccessCounts& counts = code.counts;
      const auto cycles = [&counts](double share) {
        return counts.latency.exact.empty() ? "-" : std::to_string(counts.latency.Quantile(share));
      };
      out_ += fmt::format("{:>10} {:>8} {:>8} {:>8} {:>8} {:>6} {:>6} {:>6}  {:<24} {}\n",
                          counts.samples, counts.loads, counts.stores, code.inexact, counts.remote,
                          cycles(0.5), cycles(0.9), cycles(1.0), LevelsText(code), NameOf(code));
    }
  }
  void WriteLines() {
    WriteLineHeader("lines");
    for (const LineSum& line : report_.lines | std::views::take(view_.top)) WriteLine(line);
  }

  const MemoryView& view_;
  const AccessReport& report_;
  std::string& out_;
  std::vector<const LineSum*> shared_;
};

}  // namespace

void PrintMemoryText(const MemoryView& view, Output& output) {
  MemoryText(view, output.buffer()).Write();
  output.Commit();
}

}  // namespace flowback::cli
