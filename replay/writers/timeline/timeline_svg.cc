// SPDX-License-Identifier: MIT
// One picture: for each thread a strip of what its time was, and its calls beneath it.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "replay/writers/page/hue.h"
#include "replay/writers/text/xml.h"
#include "replay/writers/timeline/timeline_view.h"
#include "replay/writers/timeline/timeline_waits.h"
#include "replay/writers/writers.h"

namespace flowback {
namespace {

constexpr double kWidth = 1200;
constexpr double kNames = 150;
constexpr double kStrip = 14;
constexpr double kRow = 15;
constexpr double kGap = 10;
constexpr double kLeast = 0.4;  // wide; what is narrower is left out
constexpr size_t kMostRows = 24;
constexpr size_t kMostDrawnThreads = 64;

constexpr std::string_view kPictureStyle =
    "<style>\n"
    "svg{background:#fff;color:#1b1f24;font:11px system-ui,sans-serif}\n"
    "text{fill:currentColor}.faint{fill:#6b7280}\n"
    ".executing{fill:#7cb518}.off{fill:#dfe3e8}.kernel{fill:#9db4d6}.lost{fill:#e03131}\n"
    ".filtered{fill:#c8c2b4}.undecodable{fill:#9c36b5}.c{stroke:#fff;stroke-width:.3}\n"
    "@media(prefers-color-scheme:dark){svg{background:#14171c;color:#e6e8eb}.off{fill:#262b33}\n"
    ".kernel{fill:#3f5878}.executing{fill:#5c940d}.filtered{fill:#4a463c}\n"
    ".c{stroke:#14171c;filter:brightness(.62)}}\n"
    "</style>\n";
constexpr std::string_view kWaitStyle =
    "<style>\n"
    ".spinning{fill:#e8590c}.sleeping{fill:#748ffc}.w{fill-opacity:0}\n"
    "@media(prefers-color-scheme:dark){.spinning{fill:#d9480f}.sleeping{fill:#4c6ef5}}\n"
    "</style>\n";
constexpr const char* kPartNames[] = {"executing", "off",         "kernel",   "lost",
                                      "filtered",  "undecodable", "spinning", "sleeping"};
static_assert(std::size(kPartNames) == kTimeParts);

class SvgWriter {
 public:
  SvgWriter(const TimelineView& view, TextSink& sink)
      : view_(view), timeline_(*view.timeline), sink_(sink) {
    for (const ThreadTimeline* thread : ByLife(timeline_))
      if (!thread->strip.empty() && threads_.size() < kMostDrawnThreads) threads_.push_back(thread);
    said_ = Sentences(view);
  }

  void Write() {
    double height = 30 + 15 * static_cast<double>(said_.size());
    const double top = height;
    height += 20 + static_cast<double>(view_.cpus.size()) * (kStrip + 3) + kGap;
    for (const ThreadTimeline* thread : threads_) height += HeightOf(*thread);
    height += 24;
    out() += fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1:.0f}\" "
        "viewBox=\"0 0 {0} {1:.0f}\">\n<title>{2}</title>\n",
        kWidth, height, InMarkup("flowback timeline of " + NameWords(view_.input, 200)));
    out() += kPictureStyle;
    if (view_.waits != nullptr) out() += kWaitStyle;
    WriteSaid();
    double y = top;
    WriteAxis(y, height - 24);
    y += 20;
    for (const CpuStrip& cpu : view_.cpus) {
      WriteCpu(cpu, y);
      y += kStrip + 3;
    }
    y += kGap;
    for (const ThreadTimeline* thread : threads_) {
      WriteThread(*thread, y);
      y += HeightOf(*thread);
      sink_.Commit();
    }
    WriteLegend(height - 10);
    out() += "</svg>\n";
  }

 private:
  std::string& out() { return sink_.buffer(); }

  size_t RowsOf(const ThreadTimeline& thread) const {
    size_t rows = 0;
    for (const TimelineCall& call : thread.calls)
      if (WidthOf(call.begin, call.end) >= kLeast) rows = std::max<size_t>(rows, call.depth + 1);
    return std::min(rows, std::min<size_t>(kMostRows, view_.max_depth));
  }
  double HeightOf(const ThreadTimeline& thread) const {
    return kStrip + 2 + static_cast<double>(RowsOf(thread)) * kRow + kGap;
  }
  double X(uint64_t time) const {
    const uint64_t at = std::clamp(time, timeline_.begin, timeline_.end) - timeline_.begin;
    const uint64_t whole = std::max<uint64_t>(timeline_.end - timeline_.begin, 1);
    return kNames + (kWidth - kNames - 10) * static_cast<double>(at) / static_cast<double>(whole);
  }
  double WidthOf(uint64_t begin, uint64_t end) const { return X(end) - X(begin); }

  void WriteSaid() {
    double y = 18;
    for (const std::string& sentence : said_) {
      out() += fmt::format("<text x=\"10\" y=\"{:.0f}\"{}>{}</text>\n", y,
                           y > 20 ? " class=\"faint\"" : "", InMarkup(CutWords(sentence, 220)));
      y += 15;
    }
  }

  void WriteAxis(double y, double bottom) {
    constexpr int kTicks = 6;
    const uint64_t whole = timeline_.end - timeline_.begin;
    for (int i = 0; i <= kTicks && whole != 0; ++i) {
      const uint64_t time = timeline_.begin + whole / kTicks * static_cast<uint64_t>(i);
      out() += fmt::format(
          "<path d=\"M{0:.1f} {1:.0f}V{2:.0f}\" stroke=\"#8883\"/>"
          "<text x=\"{3:.1f}\" y=\"{4:.0f}\" class=\"faint\"{5}>+{6}</text>\n",
          X(time), y + 14, bottom, X(time) + (i == kTicks ? -3 : 3), y + 10,
          i == kTicks ? " text-anchor=\"end\"" : "",
          DurationWords(time - timeline_.begin, timeline_.nanoseconds));
    }
  }

  void WriteName(const std::string& name, double y) {
    out() += fmt::format("<text x=\"6\" y=\"{:.1f}\">{}</text>\n", y, InMarkup(CutWords(name, 24)));
  }

  void WriteCpu(const CpuStrip& cpu, double y) {
    WriteName(fmt::format("CPU {}", cpu.cpu), y + 11);
    const uint64_t whole = timeline_.end - timeline_.begin;
    const size_t columns = cpu.tids.size();
    const auto border = [&](size_t column) {
      return timeline_.begin +
             static_cast<uint64_t>(static_cast<double>(whole) * static_cast<double>(column) /
                                   static_cast<double>(columns));
    };
    for (size_t i = 0; i < columns;) {
      size_t end = i + 1;
      while (end < columns && cpu.tids[end] == cpu.tids[i]) ++end;
      if (cpu.tids[i] >= 0)
        out() += fmt::format(
            "<rect x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{}\" "
            "fill=\"hsl({},40%,65%)\"><title>thread {}</title></rect>\n",
            X(border(i)), y, WidthOf(border(i), border(end)), kStrip,
            static_cast<unsigned>(cpu.tids[i]) * 47U % 360, cpu.tids[i]);
      i = end;
    }
  }

  void WriteThread(const ThreadTimeline& thread, double y) {
    WriteName(NameOf(view_, thread), y + 11);
    WriteStrip(thread, y);
    WriteWaits(thread, y);
    const size_t rows = RowsOf(thread);
    for (const TimelineCall& call : thread.calls)
      if (call.depth < rows && WidthOf(call.begin, call.end) >= kLeast)
        WriteCall(call, y + kStrip + 2 + static_cast<double>(call.depth) * kRow);
  }

  // Heights are rounded to this many steps: columns that look the same become one.
  static constexpr int kSteps = 40;
  using Heights = std::array<int, kTimeParts>;
  Heights HeightsOf(const ThreadTimeline& thread, size_t column) const {
    const TimeParts times = PartsOf(view_, thread, column);
    Heights heights{};
    double all = 0;
    for (const uint64_t time : times) all += static_cast<double>(time);
    for (size_t i = 0; i < times.size() && all != 0; ++i)
      heights[i] = static_cast<int>(static_cast<double>(times[i]) / all * kSteps + 0.5);
    return heights;
  }

  // In each column the parts lie one above the other, as much of it as was theirs.
  void WriteStrip(const ThreadTimeline& thread, double y) {
    const auto columns = static_cast<double>(thread.strip.size());
    const double wide = (kWidth - kNames - 10) / columns;
    std::string paths[kTimeParts];
    for (size_t i = 0; i < thread.strip.size();) {
      const Heights heights = HeightsOf(thread, i);
      size_t end = i + 1;
      while (end < thread.strip.size() && HeightsOf(thread, end) == heights) ++end;
      const double x = kNames + static_cast<double>(i) * wide;
      double at = y;
      for (size_t kind = 0; kind < heights.size(); ++kind) {
        const double high = kStrip * heights[kind] / kSteps;
        if (heights[kind] != 0)
          paths[kind] += fmt::format("M{0:.1f} {1:.2f}h{2:.2f}v{3:.2f}h-{2:.2f}z", x, at,
                                     wide * static_cast<double>(end - i), high);
        at += high;
      }
      i = end;
    }
    for (size_t kind = 0; kind < std::size(paths); ++kind)
      if (!paths[kind].empty())
        out() += fmt::format("<path class=\"{}\" d=\"{}\"/>\n", kPartNames[kind], paths[kind]);
  }

  // The words of each wait, where the mouse is on it.
  void WriteWaits(const ThreadTimeline& thread, double y) {
    for (const LockWait* wait : LongestWaits(view_, thread)) {
      const double wide = WidthOf(wait->begin.time, wait->end.time);
      if (wide < kLeast) continue;
      out() += fmt::format(
          "<rect class=\"w\" x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{}\">"
          "<title>{}</title></rect>\n",
          X(wait->begin.time), y, wide, kStrip, InMarkup(CutWords(WaitWords(view_, *wait), 400)));
    }
  }

  std::string CyclesOf(const TimelineCall& call) const {
    if (!view_.has_cycles() || call.cycles == 0) return {};
    return fmt::format(", {} cycles, at least {}", call.cycles, call.cycles_lo);
  }

  void WriteCall(const TimelineCall& call, double y) {
    const std::string& name = timeline_.functions[call.function].name;
    const double x = X(call.begin);
    const double wide = WidthOf(call.begin, call.end);
    out() += fmt::format(
        "<rect class=\"c\" x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{}\" "
        "fill=\"hsl({},55%,72%)\"><title>{}, {}, {} instructions{}</title></rect>\n",
        x, y, wide, kRow - 1, HueOf(name), InMarkup(NameWords(name, 200)),
        DurationWords(call.duration(), timeline_.nanoseconds), call.instructions, CyclesOf(call));
    if (wide < 30) return;
    const auto fits = static_cast<size_t>((wide - 6) / 6.4);
    if (fits > 4)
      out() += fmt::format("<text x=\"{:.2f}\" y=\"{:.1f}\" pointer-events=\"none\">{}</text>\n",
                           x + 3, y + kRow - 5, InMarkup(NameWords(name, fits)));
  }

  void WriteLegend(double y) {
    double x = kNames;
    TimeParts all{};
    for (const ThreadTimeline& thread : timeline_.threads) {
      const TimeParts parts = PartsOf(view_, thread);
      for (size_t part = 0; part < kTimeParts; ++part) all[part] += parts[part];
    }
    for (size_t number = 0; number < kTimeParts; ++number) {
      if (all[number] == 0) continue;
      out() += fmt::format(
          "<rect x=\"{0:.0f}\" y=\"{1:.0f}\" width=\"10\" height=\"10\" class=\"{2}\"/>"
          "<text x=\"{3:.0f}\" y=\"{4:.0f}\" class=\"faint\">{5}</text>\n",
          x, y - 9, kPartNames[number], x + 14, y, PartName(number));
      x += 90;
    }
  }

  const TimelineView& view_;
  const Timeline& timeline_;
  TextSink& sink_;
  std::vector<const ThreadTimeline*> threads_;
  std::vector<std::string> said_;
};

}  // namespace

void WriteTimelineSvg(const TimelineView& view, TextSink& sink) { SvgWriter(view, sink).Write(); }

}  // namespace flowback
