// SPDX-License-Identifier: MIT
// `coverage --format html`: one page with nothing from elsewhere: what ran of each object and file,
// source with counts, and each function's disassembly, unfolded by a click. Its script sorts
// tables, searches, and goes from one uncovered place to the next; without it the page shows the
// same. It can be printed, and follows the reader's choice of dark or light.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>
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
#include "replay/writers/coverage/html_tables.h"
#include "replay/writers/page/page_parts.h"
#include "replay/writers/text/counted.h"
#include "replay/writers/text/xml.h"
#include "replay/writers/writers.h"

namespace flowback {

extern const std::string_view kCoverageStyle;  // the files in page/
extern const std::string_view kCoverageScript;

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
               .styles = {kCommonStyle, kListingStyle, kSharesStyle, kCoverageStyle},
               .scripts = {kThemeScript, kSearchScript, kCoverageScript},
               .write_body = [&] { WriteBody(title, main); },
               .write_data = {}},
              sink_);
  }

 private:
  std::string& out() { return sink_.buffer(); }

  void WriteBody(const std::string& title, const ObjectCoverage* main) {
    out() += fmt::format(
        "<header><h1>{}</h1>\n"
        "<input id=search type=search placeholder=\"search a file or function ( / )\" "
        "aria-label=\"search a file or function\">\n<span id=found role=status></span>\n"
        "<button id=previous>previous (p)</button><button id=next>next uncovered (n)</button>"
        "<button id=theme>dark / light</button></header>\n",
        Xml(title));
    if (main != nullptr) {
      WriteSentence(*main);
      AppendOverview(main->shares, out());
    }
    std::vector<CoveredFile> files = BySource(report_);
    const size_t own = OwnFirst(main, files);
    WriteFileTables(files, own);
    AppendDirectoryTable(report_, files, out());
    AppendObjectTable(report_, out());
    WriteFiles(files, own);
    WriteFunctions();
  }

  // Puts the files of the program's own source first. Returns how many there are: those of its
  // lines that were not installed with a compiler or library.
  size_t OwnFirst(const ObjectCoverage* main, std::vector<CoveredFile>& files) const {
    std::set<uint32_t> of_main;
    if (main != nullptr)
      for (const LineCoverage& line : main->lines) of_main.insert(line.at.file);
    const auto others = std::ranges::stable_partition(files, [&](const CoveredFile& file) {
      const std::string& name = report_.files[file.file];
      return of_main.contains(file.file) && !name.starts_with("/usr/include/") &&
             !name.starts_with("/usr/lib/");
    });
    return files.size() - others.size();
  }

  void WriteFileTables(std::span<const CoveredFile> files, size_t own) {
    if (files.empty()) return;
    if (own != 0) {
      out() += "<h2>Files</h2>\n";
      AppendFileTable(report_, files.first(own), out());
    }
    if (own == files.size()) return;
    out() += fmt::format("<details class=object{}><summary>{} of libraries</summary>\n",
                         own == 0 ? " open" : "", Counted(files.size() - own, "file"));
    AppendFileTable(report_, files.subspan(own), out());
    out() += "</details>\n";
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

  void WriteFiles(const std::vector<CoveredFile>& files, size_t own) {
    if (files.empty()) return;
    out() += "<h2>Source</h2>\n";
    for (const CoveredFile& file : files) {
      const std::string name = Xml(report_.files[file.file]);
      out() += fmt::format(
          "<details id={}{} data-name=\"{}{}\"><summary>{} ({} lines) {}</summary>\n",
          FileAnchor(file.file), &file < &files[0] + own ? " class=own" : "", name,
          FunctionNames(file), PercentOf(file.shares.lines), FractionOf(file.shares.lines), name);
      WriteFunctionLinks(file);
      WriteSource(file);
      out() += "</details>\n";
      sink_.Commit();
    }
  }

  // The names that a search finds the file by.
  static std::string FunctionNames(const CoveredFile& file) {
    std::string names;
    for (const CoveredFunction& function : file.functions) names += ' ' + Xml(function.name);
    return names;
  }

  // Each function leads to its line.
  void WriteFunctionLinks(const CoveredFile& file) {
    if (file.functions.empty()) return;
    out() += "<table class=sorts><tr><th>calls<th>line<th>function</tr>\n";
    for (const CoveredFunction& function : file.functions)
      out() += fmt::format("<tr class={}><td>{}<td>{}<td><a href=\"#{}\">{}</a></tr>\n",
                           HtmlClassOf(function.state, false),
                           CountWords(function.entries, function.state), function.line,
                           LineAnchor(file.file, function.line), Xml(function.name));
    out() += "</table>\n";
  }

  void WriteSource(const CoveredFile& file) {
    const std::vector<std::string>& text = sources_.Lines(report_.files[file.file]);
    std::set<uint32_t> begins;  // of functions: what leads to a line needs an id there
    for (const CoveredFunction& function : file.functions) begins.insert(function.line);
    out() += "<pre class=source>";
    size_t next = 0;
    const size_t last =
        std::max<size_t>(text.size(), file.lines.empty() ? 0 : file.lines.back().line);
    for (size_t number = 1; number <= last; ++number) {
      const CoveredLine* line = nullptr;
      if (next < file.lines.size() && file.lines[next].line == number) line = &file.lines[next++];
      if (line == nullptr && number > text.size()) continue;  // of a file that is not there
      const auto at = static_cast<uint32_t>(number);
      const std::string id =
          begins.contains(at) ? fmt::format(" id={}", LineAnchor(file.file, at)) : std::string();
      WriteLine({number, id, number <= text.size() ? text[number - 1] : std::string()}, line);
    }
    out() += "</pre>\n";
  }

  struct TextLine {
    size_t number = 0;
    std::string id;  // as an attribute; empty: nothing leads to the line
    std::string text;
  };

  void WriteLine(const TextLine& at, const CoveredLine* line) {
    if (line == nullptr) {
      out() +=
          fmt::format("<span{}>{:>12} {:>6}  {}</span>", at.id, "", at.number, XmlSource(at.text));
      return;
    }
    std::string branches;
    bool one_way = false;
    for (const CoveredBranch& branch : line->branches) {
      one_way |= WentOneWay(branch.taken, branch.not_taken);
      const std::string words = BranchWords(branch.taken, branch.not_taken);
      if (!words.empty()) branches += (branches.empty() ? "   \u2192 " : "; ") + words;
    }
    out() += fmt::format(
        "<span class={}{}>{:>12} {:>6}  {}{}</span>", HtmlClassOf(line->state, one_way), at.id,
        CountWords(line->times, line->state), at.number, XmlSource(at.text), branches);
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
      // All of a library's code would make the page large, and is useless if nothing of it ran.
      if (object.functions.empty() || object.shares.instructions.executed == 0) continue;
      out() += fmt::format("<details class=object><summary>{} {}</summary>\n",
                           FractionOf(object.shares.functions), Xml(object.counts->id.path));
      for (const FunctionCoverage& function : object.functions) WriteFunction(object, function);
      out() += "</details>\n";
    }
  }

  // A link to where the function begins in its source, if that is known.
  std::string SourceLink(const FunctionCoverage& function) const {
    if (function.at.line == 0) return {};
    return fmt::format(", <a href=\"#{}\">{}:{}</a>",
                       LineAnchor(function.at.file, function.at.line),
                       Xml(LastPart(report_.files[function.at.file])), function.at.line);
  }

  void WriteFunction(const ObjectCoverage& object, const FunctionCoverage& function) {
    const StaticFunction& code = object.Code(function);
    const std::string name = code.name.empty() ? FunctionWords(code) : Xml(code.name);
    const char* const color = HtmlClassOf(function.state, false);
    if (function.state != Executed::kYes) {
      out() += fmt::format("<div class={} data-name=\"{}\">{} ({} bytes){}</div>\n", color, name,
                           name, object.Code(function).code_bytes, SourceLink(function));
      sink_.Commit();
      return;
    }
    out() += fmt::format(
        "<details data-name=\"{}\"><summary>{} \u00d7{}: {} of its instructions, {} of its branch "
        "directions{}</summary>",
        name, name, function.entries, PercentOf(function.shares.instructions),
        PercentOf(function.shares.branches), SourceLink(function));
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
