// SPDX-License-Identifier: MIT
// Spikes for a person at a terminal: sentences, the histogram, the slowest instances.
#include <fmt/format.h>

#include "replay/writers/spikes/spikes_view.h"
#include "replay/writers/text/counted.h"
#include "replay/writers/text/wrapped.h"
#include "replay/writers/timeline/timeline_view.h"
#include "replay/writers/writers.h"

namespace flowback {
namespace {

void AppendParts(const SpikesView& view, const Outlier& outlier, std::string& out) {
  constexpr double kNamed = 0.95;
  double named = 0;
  for (const Cause& part : outlier.causes.parts) {
    if (named >= kNamed) break;
    named += part.share;
    const std::string head =
        fmt::format("  {:>6.1f} % {:>12}  ", 100 * part.share, MeasureWords(view, part.extra));
    const size_t indent = head.size();
    out += head + Wrapped("it " + PartWords(view, part), indent, view.width - indent) + '\n';
  }
}

void AppendOutlier(const SpikesView& view, size_t rank, std::string& out) {
  const Outlier& outlier = view.report->outliers[rank];
  const Instance& instance = view.report->instances[outlier.number];
  const bool has_times = view.report->has_times;
  out += fmt::format("\n{}. instance {} of thread {}", rank + 1, outlier.number,
                     ThreadWords(view, instance));
  if (has_times)
    out += fmt::format(", from {}: {}", MomentWords(instance.begin.time, view.report->nanoseconds),
                       DurationWords(instance.time(), view.report->nanoseconds));
  if (instance.cycles != 0) out += fmt::format(", {} cycles", instance.cycles);
  out +=
      fmt::format(", {} instructions; {} more than the median\n",
                  GroupedDigits(instance.instructions), MeasureWords(view, outlier.causes.extra));
  for (const std::string& sentence :
       {OutlierSentence(view, outlier), PartingSentence(view, outlier)})
    out += "  " + Wrapped(sentence, 4, view.width - 2) + '\n';
  if (outlier.causes.parts.size() > 1) AppendParts(view, outlier, out);
}

}  // namespace

void WriteSpikesText(const SpikesView& view, TextSink& sink) {
  std::string& out = sink.buffer();
  bool is_first = true;
  for (const std::string& sentence : SpikeSentences(view)) {
    const std::string text = is_first ? fmt::format("{}: {}", view.input, sentence) : sentence;
    out += Wrapped(text, 2, view.width) + '\n';
    is_first = false;
  }
  AppendHistogram(view, out);
  for (size_t i = 0; i < view.report->outliers.size(); ++i) AppendOutlier(view, i, out);
  const size_t explained = view.report->outliers.size();
  if (explained != 0 && explained < view.report->slow)
    out += fmt::format("\n{} of the {} slow {} {} explained: --top {} explains all.\n", explained,
                       view.report->slow, view.is_function ? "calls" : "instances",
                       ByCount(explained, "is", "are"), view.report->slow);
  if (explained != 0)
    out += fmt::format(
        "\n`flowback timeline {0} --at spike:1` shows the instructions of the first of these,\n"
        "`flowback stack {0} --at spike:1` its callers.\n",
        view.input);
  sink.Commit();
}

}  // namespace flowback
