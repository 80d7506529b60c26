// SPDX-License-Identifier: MIT
// One picture: for each thread a strip of its time, below it its longest waits, and arrows from
// these to the threads that held the lock.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "replay/writers/locks/lock_lanes.h"
#include "replay/writers/locks/locks_view.h"
#include "replay/writers/text/wrapped.h"
#include "replay/writers/text/xml.h"
#include "replay/writers/timeline/timeline_view.h"
#include "replay/writers/writers.h"

namespace flowback {
namespace {

constexpr double kWide = 1200;
constexpr double kLeft = 150;  // for names
constexpr double kStripHigh = 14;
constexpr double kBarHigh = 10;
constexpr double kHeldHigh = 4;
constexpr double kLaneHigh = kStripHigh + 2 + kBarHigh + 1 + kHeldHigh + 10;
constexpr size_t kMostLanes = 64;
constexpr size_t kMostArrows = 40;

constexpr std::string_view kLocksPictureStyle =
    "<style>\n"
    "svg{background:#fff;color:#1b1f24;font:11px system-ui,sans-serif}\n"
    "text{fill:currentColor}.faint{fill:#6b7280}\n"
    ".k0{fill:#7cb518}.k1{fill:#e8590c}.k2{fill:#9db4d6}.held{fill:#9c36b5}.arrow{stroke:#9c36b5;"
    "fill:none}\n"
    ".head{fill:#9c36b5}.maybe{stroke-dasharray:4 3}\n"
    "@media(prefers-color-scheme:dark){svg{background:#14171c;color:#e6e8eb}\n"
    ".k0{fill:#5c940d}.k1{fill:#d9480f}.k2{fill:#3f5878}.held{fill:#be4bdb}.arrow{stroke:#be4bdb}."
    "head{fill:#be4bdb}}"
    "\n"
    "</style>\n";

class PictureWriter {
 public:
  PictureWriter(const LocksView& view, TextSink& sink)
      : view_(view), report_(*view.report), sink_(sink) {
    constexpr size_t kColumns = 1000;
    constexpr size_t kLineColumns = 190;
    lanes_ = LanesOf(report_, kColumns, kMostLanes);
    bool is_first = true;
    for (const std::string& sentence : LockSentences(view)) {
      const std::string lines = Wrapped(sentence, 2, kLineColumns);
      for (size_t at = 0; at < lines.size();) {
        const size_t end = std::min(lines.find('\n', at), lines.size());
        said_.push_back({lines.substr(at, end - at), is_first});
        at = end + 1;
      }
      is_first = false;
    }
  }

  void Write() {
    const double top = 30 + 15 * static_cast<double>(said_.size());
    const double bottom = top + 20 + kLaneHigh * static_cast<double>(lanes_.size());
    out() += fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1:.0f}\" "
        "viewBox=\"0 0 {0} {1:.0f}\">\n<title>{2}</title>\n",
        kWide, bottom + 24, InMarkup("flowback locks of " + NameWords(view_.input, 200)));
    out() += kLocksPictureStyle;
    WriteSaid();
    if (!lanes_.empty()) {
      WriteAxis(top, bottom);
      for (size_t i = 0; i < lanes_.size(); ++i) WriteLane(lanes_[i], YOf(top, i));
      WriteWaits(top);
      WriteLegend(bottom + 14);
    }
    out() += "</svg>\n";
  }

 private:
  struct Line {
    std::string text;
    bool is_first = false;  // of the first sentence
  };

  std::string& out() { return sink_.buffer(); }
  static double YOf(double top, size_t lane) {
    return top + 20 + kLaneHigh * static_cast<double>(lane);
  }
  double X(uint64_t time) const {
    const uint64_t at = std::clamp(time, report_.begin, report_.end) - report_.begin;
    return kLeft + (kWide - kLeft - 10) * static_cast<double>(at) /
                       static_cast<double>(report_.end - report_.begin);
  }

  void WriteSaid() {
    double y = 18;
    for (const Line& line : said_) {
      out() += fmt::format("<text x=\"10\" y=\"{:.0f}\"{} xml:space=\"preserve\">{}</text>\n", y,
                           line.is_first ? "" : " class=\"faint\"", InMarkup(line.text));
      y += 15;
    }
  }

  void WriteAxis(double y, double bottom) {
    constexpr uint64_t kTicks = 6;
    const uint64_t whole = report_.end - report_.begin;
    for (uint64_t i = 0; i <= kTicks; ++i) {
      const uint64_t time = report_.begin + whole / kTicks * i;
      const bool is_last = i == kTicks;
      out() += fmt::format(
          "<path d=\"M{0:.1f} {1:.0f}V{2:.0f}\" stroke=\"#8883\"/>"
          "<text x=\"{3:.1f}\" y=\"{4:.0f}\" class=\"faint\"{5}>+{6}</text>\n",
          X(time), y + 14, bottom, X(time) + (is_last ? -3 : 3), y + 10,
          is_last ? " text-anchor=\"end\"" : "",
          DurationWords(time - report_.begin, report_.nanoseconds));
    }
  }

  // In each column the kinds lie one above the other, as much of it as was theirs.
  void WriteLane(const LockLane& lane, double y) {
    out() += fmt::format("<text x=\"6\" y=\"{:.1f}\">{}</text>\n", y + 11,
                         InMarkup(CutWords(ThreadWords(view_, lane.thread), 24)));
    const double wide = (kWide - kLeft - 10) / static_cast<double>(lane.columns.size());
    std::string paths[kLaneKinds];
    for (size_t i = 0; i < lane.columns.size(); ++i) {
      const auto& column = lane.columns[i];
      const uint64_t all = column[0] + column[1] + column[2];
      double at = y;
      for (size_t kind = 0; kind < kLaneKinds && all != 0; ++kind) {
        const double high = kStripHigh * WaitShare(column[kind], all);
        if (column[kind] != 0)
          paths[kind] += fmt::format("M{0:.1f} {1:.2f}h{2:.2f}v{3:.2f}h-{2:.2f}z",
                                     kLeft + static_cast<double>(i) * wide, at, wide, high);
        at += high;
      }
    }
    for (size_t kind = 0; kind < kLaneKinds; ++kind)
      if (!paths[kind].empty())
        out() += fmt::format("<path class=\"k{}\" d=\"{}\"/>\n", kind, paths[kind]);
    sink_.Commit();
  }

  void WriteWaits(double top) {
    constexpr double kLeast = 0.4;  // wide; narrower waits are left out
    std::map<uint32_t, double> y_of;
    for (size_t i = 0; i < lanes_.size(); ++i) y_of[lanes_[i].thread] = YOf(top, i);
    size_t arrows = 0;
    for (const LockWait& wait : report_.worst) {
      const auto lane = y_of.find(wait.thread);
      const double wide = X(wait.end.time) - X(wait.begin.time);
      if (lane == y_of.end() || wide < kLeast) continue;
      out() += fmt::format(
          "<rect class=\"k{}\" x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{}\">"
          "<title>{}, {}</title></rect>\n",
          wait.sleeping > wait.time() / 2 ? 2 : 1, X(wait.begin.time),
          lane->second + kStripHigh + 2, wide, kBarHigh,
          InMarkup(WordsOf(view_, report_.sites[wait.site]).Short()),
          DurationWords(wait.time(), report_.nanoseconds));
      const auto holder = y_of.find(wait.holder);
      if (holder == y_of.end()) continue;
      out() += fmt::format(
          "<rect class=\"held\" x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{}\"/>\n",
          X(wait.begin.time), holder->second + kStripHigh + 3 + kBarHigh, wide, kHeldHigh);
      if (arrows == kMostArrows) continue;
      ++arrows;
      WriteArrow(X(wait.begin.time), lane->second, holder->second, wait.is_certain);
    }
  }

  void WriteArrow(double x, double from, double to, bool is_certain) {
    const bool is_down = to > from;
    const double begin = from + kStripHigh + 2 + (is_down ? kBarHigh : 0);
    const double end = to + (is_down ? 0 : kStripHigh + 3 + kBarHigh + kHeldHigh);
    const double back = is_down ? -5 : 5;
    out() += fmt::format(
        "<path class=\"arrow{0}\" d=\"M{1:.1f} {2:.1f}V{3:.1f}\"/>"
        "<path class=\"head\" d=\"M{1:.1f} {3:.1f}l-3 {4}h6z\"/>\n",
        is_certain ? "" : " maybe", x, begin, end, back);
  }

  void WriteLegend(double y) {
    double x = kLeft;
    for (size_t kind = 0; kind < kLaneKinds; ++kind) {
      out() += fmt::format(
          "<rect x=\"{0:.0f}\" y=\"{1:.0f}\" width=\"10\" height=\"10\" class=\"k{2}\"/>"
          "<text x=\"{3:.0f}\" y=\"{4:.0f}\" class=\"faint\">{5}</text>\n",
          x, y - 9, kind, x + 14, y, kLaneWords[kind]);
      x += 90;
    }
    out() += fmt::format(
        "<rect x=\"{0:.0f}\" y=\"{1:.0f}\" width=\"10\" height=\"10\" class=\"held\"/>"
        "<text x=\"{2:.0f}\" y=\"{3:.0f}\" class=\"faint\">holding a lock that others wait for; "
        "arrow: from the one that waits to the one "
        "that holds the lock (dashed: perhaps)</text>\n",
        x, y - 9, x + 14, y);
  }

  const LocksView& view_;
  const LockReport& report_;
  TextSink& sink_;
  std::vector<LockLane> lanes_;
  std::vector<Line> said_;
};

}  // namespace

void WriteLocksSvg(const LocksView& view, TextSink& sink) { PictureWriter(view, sink).Write(); }

}  // namespace flowback
