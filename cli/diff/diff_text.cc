// SPDX-License-Identifier: MIT
// The comparison for a person at a terminal: sentences, then where to look.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/path_text.h"
#include "cli/diff/diff_view.h"
#include "replay/writers/text/code_words.h"
#include "replay/writers/text/counted.h"
#include "replay/writers/text/printable.h"
#include "replay/writers/text/wrapped.h"
#include "replay/writers/timeline/timeline_view.h"

namespace flowback::cli {
namespace {

// "10", or "10 -> 12".
std::string OldAndNew(const MeasuredChange& change) {
  const std::string old = GroupedDigits(change.old.rounded());
  const std::string now = GroupedDigits(change.now.rounded());
  return old == now ? now : old + " -> " + now;
}

class DiffTextWriter {
 public:
  DiffTextWriter(const DiffView& view, std::string& out)
      : view_(view), diff_(view.diff), out_(out) {}

  void Write() {
    for (const std::string& sentence : DiffSentences(view_))
      out_ += Wrapped(sentence, 2, view_.width) + '\n';
    WriteFunctions();
    WriteTimes();
    WriteWaits();
    WriteFates("newly executed functions", true);
    WriteFates("functions that no longer execute", false);
    WriteDirections();
    WriteLines();
    WriteRanges("newly executed lines of functions that executed before", true);
    WriteRanges("lines that no longer execute, of functions that still do", false);
    WriteCoverage();
    WriteLimits();
  }

 private:
  // Prints the heading and at most view_.rows rows; `write(row)` prints one row.
  template <class Rows, class Writer>
  void Table(const std::string& heading, const Rows& rows, const Writer& write) {
    if (rows.empty()) return;
    out_ += '\n' + heading;
    for (size_t i = 0; i < std::min(rows.size(), view_.rows); ++i) write(rows[i]);
    if (rows.size() > view_.rows)
      out_ +=
          fmt::format("  ({} more: --top {}, or --json)\n", rows.size() - view_.rows, rows.size());
  }

  static std::string Named(const FunctionChange& each) {
    std::string text = FunctionText(each.name, each.object, each.address);
    if (const std::string place = PlaceText(each.place()); !place.empty())
      text += "  " + place;
    else if (!each.name.empty())
      text += fmt::format("  ({})", Printable(each.object));
    return text;
  }

  void WriteFunctions() {
    std::vector<const FunctionChange*> rows;
    for (const FunctionChange& each : diff_.functions)
      if (view_.IsLarge(each.self)) rows.push_back(&each);
    const std::string heading = fmt::format(
        "functions, by change of the instructions that they executed themselves\n"
        "{:>15} {:>15} {:>15} {:>15} {:>16}  {}\n",
        "change", "old", "new", diff_.has_calls ? "with callees" : "", "calls", "function");
    Table(heading, rows, [this](const FunctionChange* each) {
      out_ += fmt::format("{:>15} {:>15} {:>15} {:>15} {:>16}  {}\n",
                          SignedDigits(each->self.delta()), GroupedDigits(each->self.old.rounded()),
                          GroupedDigits(each->self.now.rounded()),
                          diff_.has_calls ? SignedDigits(each->total.delta()) : "",
                          OldAndNew(each->calls), Named(*each) + UnknownNote(*each));
    });
  }

  // A side that is not known to have executed the code shows 0.
  template <class Change>
  static std::string UnknownNote(const Change& each) {
    return each.fate == Fate::kNotKnown ? "  [not known for one side]" : "";
  }

  void WriteTimes() {
    if (!diff_.has_times) return;
    std::vector<const FunctionChange*> rows;
    const double least =
        std::max(diff_.duration.old.mean, diff_.duration.now.mean) * view_.min_change / 100;
    for (const FunctionChange& each : diff_.functions)
      if (std::abs(each.time.delta()) >= least && each.time.IsSignificant() &&
          each.time.delta() != 0)
        rows.push_back(&each);
    std::ranges::stable_sort(rows, std::greater{}, [](const FunctionChange* each) {
      return std::abs(each->time.delta());
    });
    const auto time = [](double value) {
      return DurationWords(static_cast<uint64_t>(std::abs(value)), true);
    };
    const std::string heading = fmt::format(
        "functions, by change of their own time\n{:>12} {:>12} {:>12} {:>12} {:>16}  {}\n",
        "change", "old", "new", "off the CPU", "calls", "function");
    const auto change = [&](const MeasuredChange& each) {
      const char* const sign = each.delta() < 0 ? "-" : each.delta() > 0 ? "+" : "";
      return sign + time(each.delta());
    };
    Table(heading, rows, [&](const FunctionChange* each) {
      out_ += fmt::format("{:>12} {:>12} {:>12} {:>12} {:>16}  {}\n", change(each->time),
                          time(each->time.old.mean), time(each->time.now.mean),
                          change(each->off_cpu), OldAndNew(each->calls), Named(*each));
    });
  }

  // Waits under emulation have no times of their own.
  void WriteWaits() {
    std::vector<const WaitChange*> rows;
    for (const WaitChange& each : diff_.waits)
      if (IsLarge(each)) rows.push_back(&each);
    const bool timed = diff_.has_times;
    const std::string heading = fmt::format(
        "waits of threads for each other, by change of {}\n{:>12} {:>12} {:>12} {:>16}  {}\n",
        timed ? "their time" : "their number", timed ? "change" : "", timed ? "old" : "",
        timed ? "new" : "", "waits", "function");
    Table(heading, rows, [&](const WaitChange* each) { WriteWait(*each); });
  }

  void WriteWait(const WaitChange& each) {
    const auto time = [&](double value) {
      return diff_.has_times ? DurationWords(static_cast<uint64_t>(std::abs(value)), true) : "";
    };
    const double delta = each.waiting.delta();
    const std::string sign = !diff_.has_times || delta == 0 ? "" : delta < 0 ? "-" : "+";
    out_ += fmt::format("{:>12} {:>12} {:>12} {:>16}  {}", sign + time(delta),
                        time(each.waiting.old.mean), time(each.waiting.now.mean),
                        OldAndNew(each.waits), ShortName(each.function));
    if (!each.caller.empty()) out_ += " called in " + ShortName(each.caller);
    if (IsNew(each.fate)) out_ += "  [new]";
    if (IsGone(each.fate)) out_ += "  [gone]";
    out_ += UnknownNote(each) + (each.in_all_runs ? "" : "  [in some of the recordings]") + '\n';
  }

  bool IsLarge(const WaitChange& each) const {
    const auto differs = [](const MeasuredChange& change) {
      return change.delta() != 0 && change.IsSignificant();
    };
    const double least =
        std::max(diff_.duration.old.mean, diff_.duration.now.mean) * view_.min_change / 100;
    if (differs(each.waits)) return true;
    return diff_.has_times && differs(each.waiting) && std::abs(each.waiting.delta()) >= least;
  }

  static std::string FateNote(const FunctionChange& each) {
    switch (each.fate) {
      case Fate::kAdded:
        return "new code";
      case Fate::kRemoved:
        return "not in the new code";
      case Fate::kInlined:
        return "inlined now";
      case Fate::kNoLongerInlined:
        return "was inlined";
      default:
        return "";
    }
  }

  void WriteFates(const std::string& title, bool is_new) {
    std::vector<const FunctionChange*> rows;
    for (const FunctionChange& each : diff_.functions)
      if (is_new ? IsNew(each.fate) : IsGone(each.fate)) rows.push_back(&each);
    const std::string heading =
        fmt::format("{}\n{:>15} {:>12}  {}\n", title, "instructions", "calls", "function");
    Table(heading, rows, [&](const FunctionChange* each) {
      const auto of = [&](const MeasuredChange& change) {
        return GroupedDigits((is_new ? change.now : change.old).rounded());
      };
      std::string line =
          fmt::format("{:>15} {:>12}  {}", of(each->self), of(each->calls), Named(*each));
      if (const std::string note = FateNote(*each); !note.empty()) line += "  [" + note + ']';
      if (!each->in_all_runs) line += "  [in some of the recordings]";
      out_ += line + '\n';
    });
  }

  // The first places where the two sides part: what follows from these is in JSON.
  void WriteDirections() {
    std::vector<const DirectionChange*> rows;
    for (const DirectionChange& each : diff_.directions)
      if (each.reached && each.in_all_runs) rows.push_back(&each);
    const std::string heading = fmt::format(
        "directions of branches that only one side takes, of branches that both reach\n"
        "{:>15}  {:<9} {:<9}  {}\n",
        "times", "only in", "way", "branch");
    Table(heading, rows, [&](const DirectionChange* each) {
      const bool is_new = IsNew(each->fate);
      const Measured& times = is_new ? each->times.now : each->times.old;
      const char* const way = each->address == 0 ? "" : each->taken ? "taken" : "not taken";
      std::string line = fmt::format("{:>15}  {:<9} {:<9}  {}", GroupedDigits(times.rounded()),
                                     is_new ? "new run" : "old run", way,
                                     FunctionText(each->function, each->object, each->address));
      if (each->at.line != 0) line += "  " + PlaceText(each->at);
      if (each->to.line != 0)
        line += fmt::format(" -> {}", each->to.file == each->at.file ? std::to_string(each->to.line)
                                                                     : PlaceText(each->to));
      if (each->at.line == 0 && !each->function.empty())
        line += fmt::format("  {:#x} ({})", each->address, Printable(each->object));
      out_ += line + '\n';
    });
  }

  void WriteLines() {
    std::vector<const LineChange*> rows;
    for (const LineChange& each : diff_.lines)
      if (view_.IsLarge(each.instructions)) rows.push_back(&each);
    const std::string heading = fmt::format(
        "lines, by change of their instructions\n"
        "{:>15} {:>25}  {}\n",
        "change", "times", "line");
    Table(heading, rows, [&](const LineChange* each) {
      std::string line = fmt::format("{:>15} {:>25}  {}", SignedDigits(each->instructions.delta()),
                                     OldAndNew(each->times), LinePlace(*each));
      if (!each->text.empty()) line += "  " + PrintableSource(each->text);
      line += UnknownNote(*each);
      out_ += line + '\n';
    });
  }

  static std::string LinePlace(const LineChange& each) {
    const std::string file = Printable(LastPart(each.file));
    if (!each.found) return fmt::format("{}:{} of the old source", file, each.old_line);
    if (each.line == 0) return fmt::format("{}:{}", file, each.old_line);
    if (each.old_line == 0 || each.old_line == each.line)
      return fmt::format("{}:{}", file, each.line);
    return fmt::format("{}:{} (was {})", file, each.line, each.old_line);
  }

  // Lines are one row if no other line between them has code.
  struct LineRange {
    std::string file;
    std::string function;
    uint32_t first = 0;
    uint32_t last = 0;
    uint32_t next = 0;   // the next line that has code; 0: none
    uint64_t times = 0;  // of the most frequent one
  };

  // The source has the line on both sides, and only one compiler made code of it.
  static bool IsOfCompiler(const LineChange& each) {
    return each.found && (each.fate == Fate::kAdded || each.fate == Fate::kRemoved);
  }

  std::vector<LineRange> RangesOf(bool is_new) const {
    std::vector<const LineChange*> lines;
    for (const LineChange& each : diff_.lines)
      if ((is_new ? IsNew(each.fate) : IsGone(each.fate)) && each.in_all_runs &&
          !each.in_new_function && !IsOfCompiler(each))
        lines.push_back(&each);
    const auto number = [&](const LineChange* each) {
      return is_new ? each->line : each->old_line;
    };
    std::ranges::sort(lines, {}, [&](const LineChange* each) {
      return std::pair(std::string_view(each->file), number(each));
    });
    std::vector<LineRange> ranges;
    for (const LineChange* const each : lines) {
      const uint64_t times = (is_new ? each->times.now : each->times.old).rounded();
      const uint32_t next = is_new ? each->next_line : each->next_old_line;
      if (!ranges.empty() && ranges.back().file == each->file &&
          ranges.back().function == each->function && number(each) == ranges.back().next) {
        ranges.back().last = number(each);
        ranges.back().next = next;
        ranges.back().times = std::max(ranges.back().times, times);
      } else {
        ranges.push_back({each->file, each->function, number(each), number(each), next, times});
      }
    }
    std::ranges::stable_sort(ranges, std::greater{}, &LineRange::times);
    return ranges;
  }

  void WriteRanges(const std::string& title, bool is_new) {
    const std::string heading = fmt::format("{}\n{:>15}  {}\n", title, "times", "lines");
    Table(heading, RangesOf(is_new), [&](const LineRange& each) {
      std::string line = fmt::format("{:>15}  {}:{}", GroupedDigits(each.times),
                                     Printable(LastPart(each.file)), each.first);
      if (each.last != each.first) line += fmt::format("-{}", each.last);
      if (!each.function.empty()) line += "  in " + ShortName(each.function);
      out_ += line + '\n';
    });
  }

  void WriteCoverage() {
    std::string rows;
    for (const CoverageMeasure& each : diff_.coverage) {
      if (each.executed.delta() == 0 && each.total.delta() == 0) continue;
      const auto side = [&](Measured MeasuredChange::* of) {
        const Measured& percent = each.percent.*of;
        if (percent.runs == 0) return std::string("-");
        return fmt::format("{:.1f} % ({}/{})", percent.mean, (each.executed.*of).rounded(),
                           (each.total.*of).rounded());
      };
      rows += fmt::format("{:>15} {:>26} {:>26}\n", each.name, side(&MeasuredChange::old),
                          side(&MeasuredChange::now));
    }
    if (rows.empty()) return;
    out_ += fmt::format("\nexecuted share of all code\n{:>15} {:>26} {:>26}\n", "", "old", "new") +
            rows;
  }

  void WriteLimits() {
    if (view_.limits.empty()) return;
    out_ += "\nlimits\n";
    for (size_t i = 0; i < view_.limits.size(); ++i)
      out_ += fmt::format("  {:<6}  {}: {}\n", view_.outcomes[i].passed() ? "passed" : "FAILED",
                          Printable(view_.limits[i].text),
                          OutcomeText(view_.limits[i], view_.outcomes[i]));
  }

  const DiffView& view_;
  const RunComparison& diff_;
  std::string& out_;
};

}  // namespace

void WriteDiffText(const DiffView& view, TextSink& sink) {
  DiffTextWriter(view, sink.buffer()).Write();
  sink.Commit();
}

}  // namespace flowback::cli
