// SPDX-License-Identifier: MIT
// `timeline --by line` as text: the answer in a sentence, then the table.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "replay/writers/lines/lines_view.h"
#include "replay/writers/text/counted.h"
#include "replay/writers/text/printable.h"
#include "replay/writers/timeline/timeline_view.h"
#include "replay/writers/writers.h"

namespace flowback {
namespace {

std::string_view LastPart(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// Returns "deflate.c:1480", or "(no line)".
std::string PlaceOf(const HotLine& line) {
  if (line.file.empty()) return "(no line)";
  return fmt::format("{}:{}", Printable(LastPart(line.file)), line.line);
}

// Returns "longest_match in libz.so.1".
std::string OwnerOf(const HotLine& line) {
  return fmt::format("{} in {}", line.function.empty() ? "[unknown]" : Printable(line.function),
                     Printable(LastPart(line.object)));
}

class LinesTable {
 public:
  LinesTable(const LinesView& view, TextSink& sink)
      : view_(view), lines_(view.lines.lines), sink_(sink) {}

  void Write() {
    if (lines_.empty()) {
      sink_.Write("No instruction was executed in the part that was decoded.\n");
      return;
    }
    WriteSentences();
    WriteTable();
  }

 private:
  void WriteSentences() {
    const HotLine& first = lines_.front();
    const uint64_t all = view_.lines.instructions;
    const auto hottest =
        std::ranges::find_if(lines_, [](const HotLine& at) { return at.line != 0; });
    std::string& out = sink_.buffer();
    if (hottest != lines_.end())
      out += fmt::format("The hottest line is {} ({}): {} of {}.\n", PlaceOf(*hottest),
                         OwnerOf(*hottest), ShareWords(hottest->instructions, all), AllWords());
    if (first.line == 0)
      out += fmt::format("{} executed {} of {}, and has no line.\n", OwnerOf(first),
                         ShareWords(first.instructions, all), AllWords());
    if (const uint64_t without = view_.lines.without_line; without != 0)
      out += fmt::format(
          "{} of the instructions come from code without debug information: the table has them by "
          "function.\n",
          ShareWords(without, all));
    if (view_.samples) out += "The recording holds samples: only the code in them counts.\n";
  }

  std::string AllWords() const {
    return Counted(view_.lines.instructions, "instruction") +
           (view_.function.empty() ? "" : " of " + Printable(view_.function));
  }

  void WriteTable() {
    const size_t shown = std::min(view_.rows, lines_.size());
    std::vector<std::string> places;
    size_t widest = 4;
    for (size_t i = 0; i < shown; ++i) {
      places.push_back(CutWords(PlaceOf(lines_[i]), 40));
      widest = std::max(widest, ColumnsOf(places.back()));
    }
    sink_.buffer() += fmt::format("\n{:>7} {:>16}  {:<{}}  {}\n", "share", "instructions", "line",
                                  widest, "source, or function");
    for (size_t i = 0; i < shown; ++i) {
      WriteRow(lines_[i], places[i], widest);
      sink_.Commit();
    }
    AppendMore(lines_.size(), shown, sink_.buffer());
  }

  void WriteRow(const HotLine& line, const std::string& place, size_t widest) {
    const std::string_view text =
        line.line == 0 ? std::string_view() : view_.source.Text(line.file, line.line);
    std::string row =
        fmt::format("{:>7} {:>16}  {}{}  ", ShareWords(line.instructions, view_.lines.instructions),
                    GroupedDigits(line.instructions), place,
                    std::string(widest - std::min(widest, ColumnsOf(place)), ' '));
    const size_t left = std::max(view_.width, ColumnsOf(row) + kLeastName) - ColumnsOf(row);
    row += CutWords(text.empty() ? OwnerOf(line) : Printable(text), left);
    sink_.buffer() += row + '\n';
  }

  const LinesView& view_;
  const std::vector<HotLine>& lines_;
  TextSink& sink_;
};

}  // namespace

void WriteLinesText(const LinesView& view, TextSink& sink) { LinesTable(view, sink).Write(); }

}  // namespace flowback
