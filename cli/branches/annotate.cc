// SPDX-License-Identifier: MIT
// `branches --annotate FUNCTION`: its code, block by block.
//
//   cmp (/tmp/a)  called 30887 times, 370644 instructions
//
//          times    p50    p90    max    ipc
//          30887      4      6     12   1.40   block 12b0
//                                                 a.c:5  int x = *(int*)a;
//                                              12b0   mov edx, dword ptr [rsi]
//                                              12bc   jl 0x12c3      taken 12000, not 18887; wrong
//                                              700 (2.3%)
#include <fmt/format.h>

#include <string>

#include "base/path_text.h"
#include "cli/branches/branches_view.h"
#include "decode/instruction/disassemble.h"
#include "replay/branches/hot_functions.h"
#include "replay/coverage/report/instruction_lines.h"
#include "replay/writers/coverage/coverage_words.h"
#include "replay/writers/text/counted.h"
#include "replay/writers/text/json.h"
#include "replay/writers/text/printable.h"

namespace flowback::cli {
namespace {

std::string Ipc(const CycleSums& cycles) {
  const uint64_t sum = cycles.sum();
  if (sum == 0) return "-";
  return fmt::format("{:.2f}", static_cast<double>(cycles.instructions) / static_cast<double>(sum));
}

// "taken 3, not 9; wrong 2 (16.7%)", "to 3 places"; empty of what was not executed.
std::string BranchText(const BranchSum& sum) {
  std::string text = sum.kind == InstructionClass::kConditional
                         ? BranchWords(sum.taken.times, sum.not_taken)
                         : fmt::format("taken {}", sum.taken.times);
  if (sum.edges.size() > 1) text += fmt::format(", to {} places", sum.edges.size());
  const uint64_t predicted = sum.taken.right + sum.taken.wrong;
  if (predicted != 0)
    text +=
        fmt::format("; wrong {} ({:.1f}%)", sum.taken.wrong,
                    100.0 * static_cast<double>(sum.taken.wrong) / static_cast<double>(predicted));
  return text;
}

class Annotation {
 public:
  Annotation(const BranchesView& view, Output& output) : view_(view), output_(output) {}

  void Write(const HotFunction& hot) {
    const StaticFunction& function = *hot.function;
    output_.buffer() += fmt::format(
        "{} ({})  called {}, {}{}\n\n", Printable(function.name), Printable(hot.object->path()),
        Counted(hot.object->CallsOf(function), "time"), Counted(hot.instructions, "instruction"),
        view_.samples() ? " in the samples" : "");
    output_.buffer() +=
        fmt::format("{:>10} {:>6} {:>6} {:>6} {:>6}\n", "times", "p50", "p90", "max", "ipc");
    last_ = {};
    for (const StaticCodeBlock& block :
         hot.object->code().blocks().subspan(function.first_block, function.block_count)) {
      WriteBlock(*hot.object, block);
      output_.Commit();
    }
    output_.buffer() += '\n';
  }

 private:
  void WriteBlock(const HotObject& object, const StaticCodeBlock& block) {
    const CycleSums* cycles = view_.emulated() ? nullptr : object.CyclesOf(block);
    const auto quantile = [&](double share) {
      return cycles == nullptr ? "-" : std::to_string(cycles->Quantile(share));
    };
    output_.buffer() += fmt::format(
        "{:>10} {:>6} {:>6} {:>6} {:>6}   block {:x}\n", object.TimesAt(block.begin), quantile(0.5),
        quantile(0.9), quantile(1.0), cycles == nullptr ? "-" : Ipc(*cycles), block.begin);
    for (uint32_t i = block.first; i < block.first + block.count; ++i)
      WriteInstruction(object, object.code().instructions()[i]);
  }
  void WriteInstruction(const HotObject& object, const StaticInstruction& at) {
    WriteSource(object, at.address);
    std::string line = fmt::format("{:>41}{:x}   {}", "", at.address,
                                   TextOfInstruction(disassembler_, object.image(), at));
    if (LeadsToFunction(object.code(), at)) line += TargetName(object, at.target);
    if (const BranchSum* branch = object.BranchAt(at.address))
      line = fmt::format("{:<88}  {}", line, BranchText(*branch));
    output_.buffer() += line + '\n';
  }
  // " <malloc@plt>"; empty where no name is known.
  std::string TargetName(const HotObject& object, uint64_t target) {
    const auto symbol = view_.names.symbolizer.Find(object.image().space(), target);
    if (!symbol) return {};
    const std::string offset = symbol->offset == 0 ? "" : fmt::format("+0x{:x}", symbol->offset);
    return fmt::format(" <{}{}>", Printable(symbol->name), offset);
  }
  void WriteSource(const HotObject& object, uint64_t address) {
    const SourcePlace place = view_.names.lines.Find(object.image().space(), address);
    if (!place.known() || place.frames.front().line == 0 || place.SameLineAs(last_)) return;
    last_ = place;
    const SourceFrame& frame = place.frames.front();
    output_.buffer() +=
        fmt::format("{:>44}{}:{}  {}\n", "", Printable(LastPart(frame.file)), frame.line,
                    PrintableSource(std::string(view_.names.lines.Text(frame.file, frame.line))));
  }

  const BranchesView& view_;
  Output& output_;
  Disassembler disassembler_;
  SourcePlace last_;
};

void PrintBlockJson(const BranchesView& view, const HotFunction& hot, const StaticCodeBlock& block,
                    std::string& out) {
  JsonLine line(out);
  line.Text("type", "block").Text("sym", hot.function->name);
  line.Text("object", hot.object->path()).Hex("address", block.begin);
  line.Hex("offset", hot.object->image().OffsetOf(block.begin).value_or(0));
  line.Number("calls", hot.object->CallsOf(*hot.function));
  line.Number("instructions", block.count).Number("times", hot.object->TimesAt(block.begin));
  const CycleSums* cycles = hot.object->CyclesOf(block);
  line.Raw("cycles", CyclesJson(view, cycles == nullptr ? CycleSums() : *cycles)).End();
}

Error NoneFits(const HotFunctions& found, const NamePattern& pattern) {
  return Error(ErrorCode::kUsage,
               fmt::format("branches: {} in the files that ran is called '{}'",
                           found.any_fits ? "nothing that was executed" : "no function",
                           pattern.text()))
      .Remedy(
          "flowback branches lists the functions that branch most; a pattern with * "
          "or /a regular expression/ fits more");
}

}  // namespace

Status PrintAnnotated(const BranchesView& view, const NamePattern& pattern, bool json,
                      Output& output) {
  const HotFunctions found =
      FindHotFunctions(view.report, view.opened.code(), view.opened.options().search, pattern);
  if (found.functions.empty()) return Fail(NoneFits(found, pattern));
  Annotation text(view, output);
  size_t left = view.top;
  for (const HotFunction& hot : found.functions) {
    if (output.closed() || (!json && left-- == 0)) break;
    if (!json) {
      text.Write(hot);
      continue;
    }
    for (const StaticCodeBlock& block : hot.object->code().blocks().subspan(
             hot.function->first_block, hot.function->block_count)) {
      PrintBlockJson(view, hot, block, output.buffer());
      output.Commit();
    }
  }
  output.Commit();
  return {};
}

}  // namespace flowback::cli
