// SPDX-License-Identifier: MIT
// `decode --as events`: what happened between instructions, `NAME key=value ...`.
#include <fmt/format.h>

#include <iterator>

#include "cli/listing/flow_printer.h"
#include "replay/writers/text/json.h"

namespace flowback::cli {
namespace {

class EventPrinter final : public FlowPrinter {
 public:
  explicit EventPrinter(const PrintSettings& settings) : FlowPrinter(settings, "event") {}

 private:
  bool TakesBatches() const override { return true; }
  void PrintBlocks(const BlockBatch&) override {}
  void PrintEvent(const TraceEvent& event) override {
    BeginLine({event.tsc, event.bounds});
    const bool has_ip = event.has_ip || event.ip != 0;
    if (settings().layout.json) {
      JsonLine line = JsonLine::Continue(out());
      line.Text("event", Name(event.kind)).Number("offset", event.offset);
      if (has_ip) line.Hex("ip", event.ip);
      if (event.target != 0) line.Hex("target", event.target);
      line.Hex("value", event.value).Hex("extra", event.extra).End();
      return;
    }
    auto to = std::back_inserter(out());
    fmt::format_to(to, "{} offset={:#x}", Name(event.kind), event.offset);
    if (has_ip) fmt::format_to(to, " ip={:x}", event.ip);
    if (event.target != 0) fmt::format_to(to, " target={:x}", event.target);
    if (event.value != 0) fmt::format_to(to, " value={:#x}", event.value);
    if (event.extra != 0) fmt::format_to(to, " extra={:#x}", event.extra);
    out() += '\n';
  }
};

}  // namespace

std::unique_ptr<FlowPrinter> MakeEventPrinter(const PrintSettings& settings) {
  return std::make_unique<EventPrinter>(settings);
}

}  // namespace flowback::cli
