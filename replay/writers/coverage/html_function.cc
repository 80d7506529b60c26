// SPDX-License-Identifier: MIT
#include "replay/writers/coverage/html_function.h"

#include <fmt/format.h>

#include <unordered_map>
#include <vector>

#include "base/path_text.h"
#include "replay/coverage/report/instruction_lines.h"
#include "replay/coverage/report/report_lists.h"
#include "replay/writers/coverage/branch_arrows.h"
#include "replay/writers/coverage/coverage_words.h"
#include "replay/writers/text/xml.h"

namespace flowback {
namespace {

class HtmlFunction {
 public:
  HtmlFunction(const CoverageReport& report, const ObjectCoverage& object,
               const FunctionCoverage& function, SourceReader& sources)
      : report_(report), object_(object), sources_(sources) {
    ForEachInstruction(object, function, [this](const InstructionLine& line) { Add(line); });
  }

  void Append(std::string& out) {
    const ArrowPicture arrows = DrawArrows(Arrows(), rows_);
    out += fmt::format("<pre class=code style=\"padding-left:{}px\">{}{}</pre>", arrows.width,
                       arrows.svg, text_);
  }

 private:
  struct Branch {
    size_t row = 0;
    uint64_t target = 0;
    uint64_t times = 0;
    bool is_known = true;  // whether nothing but `times` can have executed
  };

  void Add(const InstructionLine& line) {
    if (line.at.line != 0 && (line.at != last_ || line.scope != last_scope_)) AddSource(line);
    last_ = line.at;
    last_scope_ = line.scope;
    const bool branches = line.branch != nullptr;
    const bool one_way = branches && WentOneWay(line.branch->taken, line.branch->not_taken);
    const std::string words =
        branches ? BranchWords(line.branch->taken, line.branch->not_taken) : std::string();
    text_ +=
        fmt::format("<span class={}>{:>12}  {:x}  {}{}{}</span>", HtmlClassOf(line.state, one_way),
                    CountWords(line.times, line.state), line.address, Xml(TextWords(line)),
                    words.empty() ? "" : "   \u2192 ", words);
    row_of_.emplace(line.address, rows_);
    if (line.target != 0)
      branches_.push_back(
          {rows_, line.target, branches ? line.branch->taken : line.times, !line.may_be_unseen});
    ++rows_;
  }

  void AddSource(const InstructionLine& line) {
    const std::string& path = report_.files[line.at.file];
    const std::vector<std::string>& text = sources_.Lines(path);
    text_ += fmt::format("<span class=s>{:>12}  {}:{}{}  {}</span>", "", Xml(LastPart(path)),
                         line.at.line, line.is_inlined ? " (inlined)" : "",
                         line.at.line <= text.size() ? XmlSource(text[line.at.line - 1]) : "");
    ++rows_;
  }

  // Returns the arrows that stay in the function.
  std::vector<BranchArrow> Arrows() const {
    std::vector<BranchArrow> arrows;
    for (const Branch& branch : branches_)
      if (const auto to = row_of_.find(branch.target); to != row_of_.end())
        arrows.push_back({.from = branch.row,
                          .to = to->second,
                          .times = branch.times,
                          .is_known = branch.is_known});
    return arrows;
  }

  const CoverageReport& report_;
  const ObjectCoverage& object_;
  SourceReader& sources_;
  std::string text_;
  size_t rows_ = 0;
  SourceLine last_;
  uint64_t last_scope_ = 0;
  std::unordered_map<uint64_t, size_t> row_of_;  // by address
  std::vector<Branch> branches_;
};

}  // namespace

void AppendHtmlFunction(const CoverageReport& report, const ObjectCoverage& object,
                        const FunctionCoverage& function, SourceReader& sources, std::string& out) {
  HtmlFunction(report, object, function, sources).Append(out);
}

const char* HtmlClassOf(Executed state, bool one_way) {
  if (state == Executed::kUnknown) return "u";
  if (state == Executed::kNo) return "n";
  return one_way ? "h" : "r";
}

}  // namespace flowback
