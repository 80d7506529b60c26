// SPDX-License-Identifier: MIT
// `coverage --format cobertura`: XML by the DTD of Cobertura 4, for CI servers. A folder is a
// package, a file a class. Lines are left out if it is unknown whether they were executed.
#include <fmt/format.h>

#include <map>
#include <string>
#include <vector>

#include "base/path_text.h"
#include "flowback/writers.h"
#include "replay/coverage/report/by_source.h"
#include "replay/writers/coverage/coverage_words.h"
#include "replay/writers/coverage/source_names.h"
#include "replay/writers/text/xml.h"
#include "replay/writers/writers.h"

namespace flowback {
namespace {

std::string Rate(uint64_t part, uint64_t all) {
  return fmt::format("{:.4f}",
                     all == 0 ? 1.0 : static_cast<double>(part) / static_cast<double>(all));
}

// Rates of the known code.
struct Rates {
  uint64_t lines = 0;
  uint64_t lines_covered = 0;
  uint64_t branches = 0;
  uint64_t branches_covered = 0;

  void Add(const CoverageShares& shares) {
    lines += shares.lines.total - shares.lines.unknown;
    lines_covered += shares.lines.executed;
    branches += shares.branches.total - shares.branches.unknown;
    branches_covered += shares.branches.executed;
  }
  std::string Attributes() const {
    return fmt::format("line-rate=\"{}\" branch-rate=\"{}\"", Rate(lines_covered, lines),
                       Rate(branches_covered, branches));
  }
};

class CoberturaWriter {
 public:
  CoberturaWriter(const CoverageView& view, TextSink& sink)
      : view_(view), sink_(sink), names_(view.names_under), files_(BySource(view.report)) {
    std::erase_if(files_, [&](const CoveredFile& file) {
      return !SourceNames::NamesFile(view.report.files[file.file]);
    });
  }

  void Write() {
    Rates all;
    std::map<std::string, std::vector<const CoveredFile*>> packages;
    for (const CoveredFile& file : files_) {
      all.Add(file.shares);
      const std::string path = NameOf(file);
      const size_t slash = path.rfind('/');
      packages[slash == std::string::npos ? "." : path.substr(0, slash)].push_back(&file);
    }
    out() += fmt::format(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<!DOCTYPE coverage SYSTEM \"http://cobertura.sourceforge.net/xml/coverage-04.dtd\">\n"
        "<coverage {} lines-covered=\"{}\" lines-valid=\"{}\" branches-covered=\"{}\" "
        "branches-valid=\"{}\" complexity=\"0\" version=\"flowback\" timestamp=\"{}\">\n"
        "<sources><source>{}</source></sources>\n<packages>\n",
        all.Attributes(), all.lines_covered, all.lines, all.branches_covered, all.branches,
        view_.date, Xml(view_.names_under.empty() ? "/" : view_.names_under));
    for (const auto& [folder, files] : packages) WritePackage(folder, files);
    out() += "</packages>\n</coverage>\n";
    sink_.Commit();
  }

 private:
  std::string& out() { return sink_.buffer(); }
  std::string NameOf(const CoveredFile& file) const {
    return names_.NameOf(view_.report.files[file.file]);
  }

  void WritePackage(const std::string& folder, const std::vector<const CoveredFile*>& files) {
    Rates rates;
    for (const CoveredFile* file : files) rates.Add(file->shares);
    out() += fmt::format("<package name=\"{}\" {} complexity=\"0\">\n<classes>\n", Xml(folder),
                         rates.Attributes());
    for (const CoveredFile* file : files) WriteClass(*file);
    out() += "</classes>\n</package>\n";
  }

  void WriteClass(const CoveredFile& file) {
    Rates rates;
    rates.Add(file.shares);
    const std::string path = NameOf(file);
    out() += fmt::format("<class name=\"{}\" filename=\"{}\" {} complexity=\"0\">\n<methods>\n",
                         Xml(LastPart(path)), Xml(path), rates.Attributes());
    for (const CoveredFunction& function : file.functions)
      if (function.state != Executed::kUnknown) WriteMethod(function);
    out() += "</methods>\n<lines>\n";
    for (const CoveredLine& line : file.lines)
      if (line.state != Executed::kUnknown) WriteLine(line);
    out() += "</lines>\n</class>\n";
    sink_.Commit();
  }

  void WriteMethod(const CoveredFunction& function) {
    const bool ran = function.state == Executed::kYes;
    out() += fmt::format(
        "<method name=\"{}\" signature=\"\" line-rate=\"{}\" branch-rate=\"{}\" complexity=\"0\">"
        "<lines><line number=\"{}\" hits=\"{}\"/></lines></method>\n",
        Xml(function.name), ran ? "1.0" : "0.0", ran ? "1.0" : "0.0", function.line,
        function.entries);
  }

  void WriteLine(const CoveredLine& line) {
    out() += fmt::format("<line number=\"{}\" hits=\"{}\"", line.line, line.times);
    if (line.branches.empty()) {
      out() += " branch=\"false\"/>\n";
      return;
    }
    uint64_t covered = 0;
    std::string conditions;
    for (size_t i = 0; i < line.branches.size(); ++i) {
      const uint64_t both = (line.branches[i].taken != 0) + (line.branches[i].not_taken != 0);
      covered += both;
      conditions +=
          fmt::format("<condition number=\"{}\" type=\"jump\" coverage=\"{}%\"/>", i, both * 50);
    }
    const uint64_t all = 2 * line.branches.size();
    out() += fmt::format(
        " branch=\"true\" condition-coverage=\"{}% ({}/{})\"><conditions>{}</conditions></line>\n",
        100 * covered / all, covered, all, conditions);
  }

  const CoverageView& view_;
  TextSink& sink_;
  SourceNames names_;
  std::vector<CoveredFile> files_;
};

}  // namespace

void WriteCoverageCobertura(const CoverageView& view, TextSink& sink) {
  CoberturaWriter(view, sink).Write();
}

}  // namespace flowback
