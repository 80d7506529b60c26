// SPDX-License-Identifier: MIT
// Call paths as one picture to zoom and search in: an SVG file with its own script, which loads
// nothing. Each bar is as wide as what the call path cost with what it called: time, or
// instructions where the recording's times are an emulator's or it has none.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <ranges>
#include <string>
#include <string_view>
#include <vector>

#include "replay/writers/calls/exported_paths.h"
#include "replay/writers/page/hue.h"
#include "replay/writers/page/page_parts.h"
#include "replay/writers/text/xml.h"
#include "replay/writers/writers.h"

namespace flowback {
namespace {

constexpr double kWidth = 1200;
constexpr double kEdge = 10;
constexpr double kTop = 44;
constexpr double kRow = 17;
constexpr double kLetter = 6.7;
constexpr size_t kMostDepth = 500;
// A bar of less than this part of the whole is left out: zooming shows a pixel of it at best.
constexpr uint64_t kParts = 20000;

// A call path with what lies below it.
struct Bar {
  uint64_t begin = 0;  // in weight, from the left
  uint64_t calls = 0;
  uint64_t instructions = 0;
  uint64_t time = 0;
  uint64_t filled = 0;  // of its weight, by bars below it
  uint32_t depth = 0;
};

class FlamegraphPicture {
 public:
  FlamegraphPicture(const ExportedPaths& paths, const std::vector<ExportedFunction>& functions,
                    bool by_time, std::string_view unit, TextSink& sink)
      : paths_(paths.paths()),
        threads_(paths.threads()),
        functions_(functions),
        by_time_(by_time),
        unit_(unit),
        sink_(sink) {
    AddUp();
    Place();
  }

  void Write(const std::string& title) {
    const double height = kTop + kRow * (static_cast<double>(deepest_) + 1) + kEdge;
    out() += fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1:.0f}\" "
        "viewBox=\"0 0 {0} {1:.0f}\">\n<title>{2}</title>\n<style>\n{3}</style>\n",
        kWidth, height, Xml(title), kFlamegraphStyle);
    WriteHead(title);
    WriteBar(all_, "all threads", "", "");
    for (size_t i = 0; i < paths_.size() && !sink_.closed(); ++i)
      if (WeightOf(bars_[i]) != 0 && WeightOf(bars_[i]) >= WeightOf(all_) / kParts) WriteBar(i);
    out() += "<script><![CDATA[\n";
    out() += kFlamegraphScript;
    out() += "]]></script>\n</svg>\n";
    sink_.Commit();
  }

 private:
  std::string& out() { return sink_.buffer(); }
  uint64_t WeightOf(const Bar& bar) const { return by_time_ ? bar.time : bar.instructions; }

  // Parents come before their children.
  void AddUp() {
    bars_.resize(paths_.size());
    for (size_t i = paths_.size(); i-- > 0;) {
      Bar& bar = bars_[i];
      bar.calls += paths_[i].calls;
      bar.instructions += paths_[i].instructions;
      bar.time += paths_[i].time;
      Bar& above = paths_[i].IsRoot() ? all_ : bars_[paths_[i].parent];
      above.calls += bar.calls;
      above.instructions += bar.instructions;
      above.time += bar.time;
    }
  }
  void Place() {
    for (size_t i = 0; i < paths_.size(); ++i) {
      Bar& above = paths_[i].IsRoot() ? all_ : bars_[paths_[i].parent];
      bars_[i].begin = above.begin + above.filled;
      bars_[i].depth = above.depth + 1;
      above.filled += WeightOf(bars_[i]);
      if (WeightOf(bars_[i]) != 0 && WeightOf(bars_[i]) >= WeightOf(all_) / kParts &&
          bars_[i].depth <= kMostDepth)
        deepest_ = std::max(deepest_, bars_[i].depth);
    }
  }

  void WriteHead(const std::string& title) {
    out() += fmt::format(
        "<text x=\"{0}\" y=\"16\">{1}</text>\n"
        "<text x=\"{0}\" y=\"34\" class=\"faint\">width: {2} of a call path with what it "
        "called</text>\n"
        "<text x=\"{3}\" y=\"16\" text-anchor=\"end\" class=\"button\" id=\"ask\">search "
        "(/)</text>\n"
        "<text x=\"{4}\" y=\"16\" text-anchor=\"end\" class=\"button\" id=\"back\" "
        "style=\"display:none\">whole (Esc)</text>\n"
        "<text x=\"{3}\" y=\"34\" text-anchor=\"end\" id=\"found\"></text>\n",
        kEdge, Xml(title), by_time_ ? "time" : "instructions", kWidth - kEdge, kWidth - kEdge - 70);
  }

  void WriteBar(size_t i) {
    const ExportedPath& path = paths_[i];
    if (path.IsRoot()) {
      const ExportedThread& thread = threads_[path.thread];
      return WriteBar(
          bars_[i], fmt::format("{} {}", thread.name.empty() ? "thread" : thread.name, thread.tid),
          "",
          fmt::format(
              " data-tid=\"{}\" data-calls=\"{}\" data-instructions=\"{}\" data-time=\"{}\"",
              thread.tid, bars_[i].calls, bars_[i].instructions, bars_[i].time));
    }
    if (bars_[i].depth > kMostDepth) return;
    if (path.function == ExportedPath::kCut) return WriteBar(bars_[i], "[calls left out]", "", "");
    const ExportedFunction& function = functions_[path.function];
    WriteBar(bars_[i], function.name, function.object, "");
  }

  void WriteBar(const Bar& bar, std::string_view name, std::string_view object,
                std::string_view more) {
    const double scale =
        WeightOf(all_) == 0 ? 0 : (kWidth - 2 * kEdge) / static_cast<double>(WeightOf(all_));
    const double x = kEdge + static_cast<double>(bar.begin) * scale;
    const double wide = static_cast<double>(WeightOf(bar)) * scale;
    const double y = kTop + kRow * bar.depth;
    const double share = WeightOf(all_) == 0 ? 0
                                             : 100 * static_cast<double>(WeightOf(bar)) /
                                                   static_cast<double>(WeightOf(all_));
    fmt::format_to(
        std::back_inserter(out()),
        "<g class=\"c\" data-b=\"{}\" data-w=\"{}\" data-d=\"{}\"{}><title>{}\n{}{}{:.2f} %: {} "
        "calls, {} instructions, {} {}</title><rect x=\"{:.2f}\" y=\"{:.0f}\" width=\"{:.2f}\" "
        "height=\"{:.0f}\" fill=\"hsl({} 60% 78%)\"/><text x=\"{:.2f}\" "
        "y=\"{:.0f}\">{}</text></g>\n",
        bar.begin, WeightOf(bar), bar.depth, more, InMarkup(name), InMarkup(object),
        object.empty() ? "" : "\n", share, bar.calls, bar.instructions, bar.time, unit_, x, y, wide,
        kRow - 1, HueOf(name), x + 3, y + 12, Fitting(name, wide));
    sink_.Commit();
  }
  // As much of the name as a bar has room for: without the script nothing is moved.
  static std::string Fitting(std::string_view name, double wide) {
    const double letters = (wide - 6) / kLetter;
    if (letters < 3) return {};
    if (static_cast<double>(name.size()) <= letters) return InMarkup(name);
    auto kept = static_cast<size_t>(letters) - 1;
    while (kept > 0 && (static_cast<uint8_t>(name[kept]) & 0xc0) == 0x80) --kept;
    return InMarkup(name.substr(0, kept)) + "…";
  }

  const std::vector<ExportedPath>& paths_;
  const std::vector<ExportedThread>& threads_;
  const std::vector<ExportedFunction>& functions_;
  const bool by_time_;
  const std::string_view unit_;
  TextSink& sink_;
  std::vector<Bar> bars_;  // of the paths
  Bar all_;
  uint32_t deepest_ = 0;  // of the drawn frames
};

}  // namespace

Status WriteFlamegraph(const CallsExport& input, TextSink& sink) {
  ExportedPaths paths(false, sink);
  ExportedCalls calls(input, paths);
  const Status status = calls.Tell();
  const Session& session = input.session;
  const bool by_time = session.Span() && !session.recording().machine.emulated;
  FlamegraphPicture picture(paths, calls.functions(), by_time,
                            session.clock().has_nanoseconds() ? "ns" : "ticks", sink);
  picture.Write("flowback: calls of " + session.options().InputName());
  return status;
}

}  // namespace flowback
