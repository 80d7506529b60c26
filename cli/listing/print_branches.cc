// SPDX-License-Identifier: MIT
// `decode --as branches`: every transfer of control, `FROM TO KIND`. Where tracing begins FROM is
// 0, where it ends TO is 0 or the address at which it continues.
#include <fmt/format.h>

#include <iterator>

#include "cli/listing/flow_printer.h"
#include "replay/writers/text/json.h"

namespace flowback::cli {
namespace {

class BranchPrinter final : public FlowPrinter {
 public:
  explicit BranchPrinter(const PrintSettings& settings) : FlowPrinter(settings, "branch") {}

 private:
  void PrintBlock(const BlockRun& run) override {
    const Instant last{run.tsc, run.BoundsOf(run.lengths.size() - 1)};
    switch (run.exit) {
      case BlockExit::kFallThrough:
        return;
      case BlockExit::kTaken:
        return Line(last, run.LastAddress(), run.next, BranchWord(run.last));
      case BlockExit::kNotTaken:
        if (settings().layout.not_taken) Line(last, run.LastAddress(), run.next, "jcc-not-taken");
        return;
      case BlockExit::kStopped:
        return Line(last, run.LastAddress(), run.next,
                    fmt::format("trace-end,{}", BranchWord(run.last)));
    }
  }

  void PrintEvent(const TraceEvent& event) override {
    switch (event.kind) {
      case EventKind::kStarted:
        return Line({event.tsc, event.bounds}, 0, event.ip, "trace-begin");
      case EventKind::kOverflow:
        if (event.ip != 0) Line({event.tsc, event.bounds}, 0, event.ip, "trace-begin,overflow");
        return;
      case EventKind::kStoppedAsync:
        return Line({event.tsc, event.bounds}, event.ip, event.target, "trace-end,async");
      case EventKind::kInterrupted:
        return Line({event.tsc, event.bounds}, event.ip, event.target, "async");
      case EventKind::kTransactionAbort:
        if (event.target != 0) Line({event.tsc, event.bounds}, event.ip, event.target, "tx-abort");
        return;
      default:
        return;
    }
  }

  void Line(const Instant& instant, uint64_t from, uint64_t to, std::string_view kind) {
    BeginLine(instant);
    if (settings().layout.json)
      JsonLine::Continue(out()).Hex("from", from).Hex("to", to).Text("kind", kind).End();
    else
      fmt::format_to(std::back_inserter(out()), "{:x} {:x} {}\n", from, to, kind);
  }
};

}  // namespace

std::unique_ptr<FlowPrinter> MakeBranchPrinter(const PrintSettings& settings) {
  return std::make_unique<BranchPrinter>(settings);
}

}  // namespace flowback::cli
