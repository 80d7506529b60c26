// SPDX-License-Identifier: MIT
// `coverage --format html`: one page without scripts or anything from elsewhere: what ran of each
// object, source with counts, and each function's disassembly, unfolded by a click. It can be
// printed, and follows the reader's choice of dark or light.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/path_text.h"
#include "flowback/writers.h"
#include "replay/coverage/report/by_source.h"
#include "replay/coverage/report/instruction_lines.h"
#include "replay/coverage/report/report_lists.h"
#include "replay/coverage/report/source_reader.h"
#include "replay/writers/coverage/coverage_words.h"
#include "replay/writers/coverage/html_function.h"
#include "replay/writers/page/page_parts.h"
#include "replay/writers/text/xml.h"
#include "replay/writers/writers.h"

namespace flowback {

extern const std::string_view kCoverageStyle;  // page.css

namespace {

class HtmlWriter {
 public:
  HtmlWriter(const CoverageView& view, TextSink& sink)
      : report_(view.report), sink_(sink), sources_(view.source_root) {}

  void Write() {
    const ObjectCoverage* main = MainObject(report_);
    const std::string title = main == nullptr
                                  ? "Coverage"
                                  : fmt::format("Coverage of {}", LastPart(main->counts->id.path));
    WritePage({.title = title,
               .styles = {kCommonStyle, kListingStyle, kCoverageStyle},
               .scripts = {},
               .write_body = [&] { WriteBody(title, main); },
               .write_data = {}},
              sink_);
  }

 private:
  std::string& out() { return sink_.buffer(); }

  void WriteBody(const std::string& title, const ObjectCoverage* main) {
    out() += "<h1>" + Xml(title) + "</h1>\n";
    if (main != nullptr) WriteSentence(*main);
    WriteObjects();
    WriteFiles();
    WriteFunctions();
  }

  void WriteSentence(const ObjectCoverage& main) {
    out() += fmt::format("<p>Executed: {} of its functions ({}), {} of its branch directions",
                         PercentOf(main.shares.functions), FractionOf(main.shares.functions),
                         PercentOf(main.shares.branches));
    if (main.shares.lines.total != 0)
      out() += fmt::format(", {} of its lines", PercentOf(main.shares.lines));
    out() += fmt::format(
        ". <span class=r>executed</span> <span class=h>one way only</span> "
        "<span class=n>never</span> <span class=u>not known: trace was lost</span></p>\n");
  }

  void WriteObjects() {
    out() +=
        "<h2>Objects</h2>\n<table><tr><th>functions<th>blocks<th>branches<th>instructions"
        "<th>lines<th>object</tr>\n";
    for (const ObjectCoverage& object : report_.objects) WriteRow(object.shares, object);
    out() += "</table>\n";
  }

  void WriteRow(const CoverageShares& shares, const ObjectCoverage& object) {
    out() += fmt::format("<tr><td>{} {}<td>{}<td>{}<td>{}<td>{} {}<td>{}</tr>\n",
                         PercentOf(shares.functions), FractionOf(shares.functions),
                         PercentOf(shares.blocks), PercentOf(shares.branches),
                         PercentOf(shares.instructions), PercentOf(shares.lines),
                         FractionOf(shares.lines), Xml(object.counts->id.path));
  }

  void WriteFiles() {
    const std::vector<CoveredFile> files = BySource(report_);
    if (files.empty()) return;
    WriteDirectories(files);
    out() += "<h2>Source</h2>\n";
    for (const CoveredFile& file : files) {
      out() += fmt::format("<details><summary>{} ({} lines) {}</summary>\n",
                           PercentOf(file.shares.lines), FractionOf(file.shares.lines),
                           Xml(report_.files[file.file]));
      WriteSource(file);
      out() += "</details>\n";
      sink_.Commit();
    }
  }

  void WriteDirectories(const std::vector<CoveredFile>& files) {
    const std::vector<CoveredDirectory> directories = ByDirectory(report_, files);
    if (directories.size() < 2) return;
    out() +=
        "<h2>Directories</h2>\n<table><tr><th>lines<th>functions<th>branches<th>files"
        "<th>directory</tr>\n";
    for (const CoveredDirectory& each : directories)
      out() +=
          fmt::format("<tr><td>{} {}<td>{}<td>{}<td>{}<td>{}</tr>\n", PercentOf(each.shares.lines),
                      FractionOf(each.shares.lines), PercentOf(each.shares.functions),
                      PercentOf(each.shares.branches), each.files, Xml(each.name));
    out() += "</table>\n";
    sink_.Commit();
  }

  void WriteSource(const CoveredFile& file) {
    const std::vector<std::string>& text = sources_.Lines(report_.files[file.file]);
    out() += "<pre>";
    size_t next = 0;
    const size_t last =
        std::max<size_t>(text.size(), file.lines.empty() ? 0 : file.lines.back().line);
    for (size_t number = 1; number <= last; ++number) {
      const CoveredLine* line = nullptr;
      if (next < file.lines.size() && file.lines[next].line == number) line = &file.lines[next++];
      if (line == nullptr && number > text.size()) continue;  // of a file that is not there
      WriteLine(number, line, number <= text.size() ? text[number - 1] : std::string());
    }
    out() += "</pre>\n";
  }

  void WriteLine(size_t number, const CoveredLine* line, const std::string& text) {
    if (line == nullptr) {
      out() += fmt::format("<span>{:>12} {:>6}  {}</span>", "", number, XmlSource(text));
      return;
    }
    std::string branches;
    bool one_way = false;
    for (const CoveredBranch& branch : line->branches) {
      one_way |= WentOneWay(branch.taken, branch.not_taken);
      const std::string words = BranchWords(branch.taken, branch.not_taken);
      if (!words.empty()) branches += (branches.empty() ? "   \u2192 " : "; ") + words;
    }
    out() +=
        fmt::format("<span class={}>{:>12} {:>6}  {}{}</span>", HtmlClassOf(line->state, one_way),
                    CountWords(line->times, line->state), number, XmlSource(text), branches);
    WriteCopies(*line);
  }

  // Where the line was inlined, or a template's: each copy by itself.
  void WriteCopies(const CoveredLine& line) {
    constexpr size_t kMostCopies = 8;
    for (size_t i = 0; i < std::min(kMostCopies, line.copies.size()); ++i) {
      const CoveredCopy& copy = line.copies[i];
      out() +=
          fmt::format("<span class=\"c {}\">{:>12}         in {}</span>",
                      HtmlClassOf(copy.state, false), CountWords(copy.times, copy.state),
                      copy.function.empty() ? "a function without a name" : Xml(copy.function));
    }
    if (line.copies.size() > kMostCopies)
      out() += fmt::format("<span class=c>{:>12}         and {} more copies</span>", "",
                           line.copies.size() - kMostCopies);
  }

  void WriteFunctions() {
    out() += "<h2>Functions</h2>\n";
    for (const ObjectCoverage& object : report_.objects) {
      // All of a library's code would make the page large, and tell nothing of one that never ran.
      if (object.functions.empty() || object.shares.instructions.executed == 0) continue;
      out() += fmt::format("<details><summary>{} {}</summary>\n",
                           FractionOf(object.shares.functions), Xml(object.counts->id.path));
      for (const FunctionCoverage& function : object.functions) WriteFunction(object, function);
      out() += "</details>\n";
    }
  }

  void WriteFunction(const ObjectCoverage& object, const FunctionCoverage& function) {
    const StaticFunction& code = object.Code(function);
    const std::string name = code.name.empty() ? FunctionWords(code) : Xml(code.name);
    const char* const color = HtmlClassOf(function.state, false);
    if (function.state != Executed::kYes) {
      out() += fmt::format("<div class={}>{} ({} bytes)</div>\n", color, name,
                           object.Code(function).code_bytes);
      sink_.Commit();
      return;
    }
    out() += fmt::format(
        "<details><summary>{} \u00d7{}: {} of its instructions, {} of its branch directions"
        "</summary>",
        name, function.entries, PercentOf(function.shares.instructions),
        PercentOf(function.shares.branches));
    AppendHtmlFunction(report_, object, function, sources_, out());
    out() += "</details>\n";
    sink_.Commit();
  }

  const CoverageReport& report_;
  TextSink& sink_;
  SourceReader sources_;
};

}  // namespace

void WriteCoverageHtml(const CoverageView& view, TextSink& sink) { HtmlWriter(view, sink).Write(); }

}  // namespace flowback
