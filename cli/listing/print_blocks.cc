// SPDX-License-Identifier: MIT
// `decode --as blocks`: one line per run of instructions, `IP COUNT NEXT EXIT CLASS`.
#include <fmt/format.h>

#include <iterator>

#include "cli/listing/flow_printer.h"
#include "cli/listing/source_columns.h"
#include "replay/writers/text/json.h"

namespace flowback::cli {
namespace {

std::string_view ExitWord(BlockExit exit) {
  switch (exit) {
    case BlockExit::kFallThrough:
      return "cut";
    case BlockExit::kTaken:
      return "taken";
    case BlockExit::kNotTaken:
      return "not-taken";
    case BlockExit::kStopped:
      return "trace-end";
  }
  return "-";
}

class BlockPrinter final : public FlowPrinter {
 public:
  explicit BlockPrinter(const PrintSettings& settings) : FlowPrinter(settings, "block") {}

 private:
  void PrintBlock(const BlockRun& run) override {
    BeginLine({run.tsc, run.bounds});
    const bool srcline = settings().layout.fields.Has(Field::kSrcline);
    if (!settings().layout.json) {
      fmt::format_to(std::back_inserter(out()), "{:x} {} {:x} {} {}", run.address,
                     run.lengths.size(), run.next, ExitWord(run.exit), BranchWord(run.last));
      if (srcline) {
        out() += ' ';
        SourceColumns::AppendShort(out(), source_.At(run.space, run.address));
      }
      out() += '\n';
      return;
    }
    JsonLine line = JsonLine::Continue(out());
    line.Hex("ip", run.address).Number("instructions", run.lengths.size());
    line.Hex("last_ip", run.LastAddress()).Hex("next", run.next);
    line.Text("exit", ExitWord(run.exit)).Text("class", BranchWord(run.last));
    line.Bool("transaction", run.in_transaction);
    if (srcline) SourceColumns::AppendLine(line, source_.At(run.space, run.address));
    line.End();
  }

  SourceColumns source_{settings()};
};

}  // namespace

std::unique_ptr<FlowPrinter> MakeBlockPrinter(const PrintSettings& settings) {
  return std::make_unique<BlockPrinter>(settings);
}

}  // namespace flowback::cli
