// SPDX-License-Identifier: MIT
// `decode --as lines`: a line each time the flow comes to another line of the source.
//
// A block costs a look-up (line_text.h) and, for each line that begins in it, a comparison and two
// copies.
#include <optional>

#include "cli/listing/flow_printer.h"
#include "cli/listing/line_text.h"

namespace flowback::cli {
namespace {

class LinePrinter final : public FlowPrinter {
 public:
  explicit LinePrinter(const PrintSettings& settings) : FlowPrinter(settings, "line") {}

 private:
  void PrintBlock(const BlockRun& run) override {
    const LineText::Block& block = tools().lines().Of(run);
    for (const LineText::Step& step : block.steps) {
      if (step.index >= run.lengths.size()) break;
      if (step.line == current_) continue;
      current_ = step.line;
      BeginLine({run.TscOf(step.index), run.BoundsOf(step.index)});
      out().append(block.text, step.offset, step.size);
    }
    // The same line in another call of its function is another one.
    if (run.exit == BlockExit::kTaken && LeavesFunction(run.last)) current_.reset();
  }

  static bool LeavesFunction(InstructionClass kind) {
    return kind == InstructionClass::kCall || kind == InstructionClass::kIndirectCall ||
           kind == InstructionClass::kReturn;
  }

  void BeforeLoss(const DataLoss&) override { current_.reset(); }
  void BeforeUnknown(const UnknownFlow&) override { current_.reset(); }
  void PrintEnd() override { current_.reset(); }

  std::optional<LineText::Line> current_;  // that the flow is in; empty: the next one is a change
};

}  // namespace

std::unique_ptr<FlowPrinter> MakeLinePrinter(const PrintSettings& settings) {
  return std::make_unique<LinePrinter>(settings);
}

}  // namespace flowback::cli
