// SPDX-License-Identifier: MIT
// `timeline --by line --json`: all lines, one object.
#include "replay/writers/lines/lines_view.h"
#include "replay/writers/text/json.h"
#include "replay/writers/text/json_parts.h"
#include "replay/writers/writers.h"

namespace flowback {
namespace {

std::string LineJson(const LinesView& view, const HotLine& at) {
  return JsonObject([&](JsonLine& line) {
    if (at.line == 0)
      line.Null("file").Null("line");
    else
      line.Text("file", at.file).Number("line", at.line);
    line.Text("function", at.function).Text("object", at.object);
    line.Number("instructions", at.instructions);
    const std::string_view text =
        at.line == 0 ? std::string_view() : view.source.Text(at.file, at.line);
    if (!text.empty()) line.Text("text", text);
  });
}

}  // namespace

void WriteLinesJson(const LinesView& view, TextSink& sink) {
  JsonLine line(sink.buffer());
  line.Text("schema", "flowback.timeline.lines/1").Text("input", view.input);
  line.Bool("emulated", view.emulated).Bool("samples", view.samples);
  line.Number("instructions", view.lines.instructions);
  line.Number("without_line", view.lines.without_line);
  line.Raw("lines",
           JsonArray(view.lines.lines, [&](const HotLine& each) { return LineJson(view, each); }));
  line.End();
  sink.Commit();
}

}  // namespace flowback
