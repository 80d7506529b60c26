// SPDX-License-Identifier: MIT
// `coverage --format annotate`: functions with the count of each instruction, the source between.
//
//   main (/tmp/a)  entered 1 time, 12 of 15 instructions executed
//                     a.c:3    for (int i = 0; i < n; i++)
//            10   401136   cmp eax, edi
//            10   401138   jge 0x401150                      taken 1, not 9
//         #####   40113a   call 0x401020
#include <fmt/format.h>

#include <string>

#include "base/path_text.h"
#include "flowback/writers.h"
#include "replay/coverage/report/instruction_lines.h"
#include "replay/coverage/report/source_reader.h"
#include "replay/writers/coverage/coverage_words.h"
#include "replay/writers/text/printable.h"
#include "replay/writers/writers.h"

namespace flowback {
namespace {

class Annotator {
 public:
  Annotator(const CoverageView& view, TextSink& sink)
      : view_(view), sink_(sink), sources_(view.source_root) {}

  void Write() {
    for (const ObjectCoverage& object : view_.report.objects)
      for (const FunctionCoverage& function : object.functions) {
        WriteFunction(object, function);
        if (sink_.closed()) return;
      }
  }

 private:
  void WriteFunction(const ObjectCoverage& object, const FunctionCoverage& function) {
    std::string& out = sink_.buffer();
    const CoverageShare& share = function.shares.instructions;
    out += fmt::format("\n{} ({})  entered {}, {} of {} instructions executed\n",
                       FunctionWords(object.Code(function)), ObjectWords(object),
                       function.entries == 1 ? "once" : fmt::format("{} times", function.entries),
                       share.executed, share.total);
    SourceLine last;
    ForEachInstruction(object, function, [&](const InstructionLine& line) {
      if (line.at != last && line.at.line != 0) WriteSource(line.at);
      last = line.at;
      std::string text = fmt::format("{:>14}   {:x}   {}", CountWords(line.times, line.state),
                                     line.address, TextWords(line));
      const std::string branch =
          line.branch == nullptr ? "" : BranchWords(line.branch->taken, line.branch->not_taken);
      if (!branch.empty()) text = fmt::format("{:<64}  {}", text, branch);
      out += text + '\n';
      sink_.Commit();
    });
  }

  void WriteSource(const SourceLine& at) {
    const std::string& path = view_.report.files[at.file];
    const std::vector<std::string>& lines = sources_.Lines(path);
    const std::string text = at.line <= lines.size() ? lines[at.line - 1] : std::string();
    sink_.buffer() += fmt::format("{:>17}{}:{}  {}\n", "", Printable(LastPart(path)), at.line,
                                  PrintableSource(text));
  }

  const CoverageView& view_;
  TextSink& sink_;
  SourceReader sources_;
};

}  // namespace

void WriteCoverageAnnotated(const CoverageView& view, TextSink& sink) {
  Annotator(view, sink).Write();
}

}  // namespace flowback
