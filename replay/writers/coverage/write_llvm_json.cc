// SPDX-License-Identifier: MIT
// `coverage --format llvm-json`: the format of `llvm-cov export`, version 2.0.1. A line is a region
// of its own: columns are missing. Lines have no count if it is unknown whether they were executed.
#include <fmt/format.h>

#include <string>

#include "flowback/writers.h"
#include "replay/coverage/report/by_source.h"
#include "replay/writers/coverage/coverage_words.h"
#include "replay/writers/text/json.h"
#include "replay/writers/writers.h"

namespace flowback {
namespace {

std::string Summary(std::string_view name, uint64_t count, uint64_t covered, bool with_rest) {
  const double percent =
      count == 0 ? 0 : 100 * static_cast<double>(covered) / static_cast<double>(count);
  std::string text = fmt::format("\"{}\":{{\"count\":{},\"covered\":{},", name, count, covered);
  if (with_rest) text += fmt::format("\"notcovered\":{},", count - covered);
  return text + fmt::format("\"percent\":{}}}", percent);
}

std::string Summaries(const CoverageShares& shares) {
  const auto known = [](const CoverageShare& share) { return share.total - share.unknown; };
  const uint64_t lines = known(shares.lines);
  const uint64_t functions = known(shares.functions);
  return "{" + Summary("branches", known(shares.branches), shares.branches.executed, true) + "," +
         Summary("functions", functions, shares.functions.executed, false) + "," +
         Summary("instantiations", functions, shares.functions.executed, false) + "," +
         Summary("lines", lines, shares.lines.executed, false) + "," +
         Summary("regions", lines, shares.lines.executed, true) + "}";
}

std::string Quoted(std::string_view text) {
  std::string out;
  AppendJsonString(out, text);
  return out;
}

class LlvmJsonWriter {
 public:
  LlvmJsonWriter(const CoverageView& view, TextSink& sink)
      : view_(view), sink_(sink), files_(BySource(view.report)) {}

  void Write() {
    out() += "{\"data\":[{\"files\":[";
    CoverageShares all;
    for (size_t i = 0; i < files_.size(); ++i) {
      if (i != 0) out() += ',';
      WriteFile(files_[i]);
      all.Add(files_[i].shares);
      sink_.Commit();
    }
    out() += "],\"functions\":[";
    bool first = true;
    for (const CoveredFile& file : files_)
      for (const CoveredFunction& function : file.functions) {
        if (function.state == Executed::kUnknown) continue;
        if (!std::exchange(first, false)) out() += ',';
        WriteFunction(file, function);
        sink_.Commit();
      }
    out() += "],\"totals\":" + Summaries(all) +
             "}],\"type\":\"llvm.coverage.json.export\",\"version\":\"2.0.1\"}\n";
    sink_.Commit();
  }

 private:
  std::string& out() { return sink_.buffer(); }

  void WriteFile(const CoveredFile& file) {
    out() += "{\"branches\":[";
    bool first = true;
    for (const CoveredLine& line : file.lines)
      for (const CoveredBranch& branch : line.branches) {
        if (!std::exchange(first, false)) out() += ',';
        out() +=
            fmt::format("[{0},1,{0},1,{1},{2},0,0,4]", line.line, branch.taken, branch.not_taken);
      }
    out() += "],\"expansions\":[],\"filename\":" + Quoted(view_.report.files[file.file]) +
             ",\"segments\":[";
    for (size_t i = 0; i < file.lines.size(); ++i) {
      if (i != 0) out() += ',';
      WriteSegments(file, i);
    }
    out() += "],\"summary\":" + Summaries(file.shares) + "}";
  }

  // A line's region begins where the line does, and ends there where no other line follows.
  void WriteSegments(const CoveredFile& file, size_t i) {
    const CoveredLine& line = file.lines[i];
    const bool known = line.state != Executed::kUnknown;
    out() += fmt::format("[{},1,{},{},{},false]", line.line, line.times, known, known);
    const bool goes_on = i + 1 < file.lines.size() && file.lines[i + 1].line == line.line + 1;
    if (!goes_on) out() += fmt::format(",[{},1,0,false,false,false]", line.line + 1);
  }

  void WriteFunction(const CoveredFile& file, const CoveredFunction& function) {
    out() += fmt::format(
        "{{\"branches\":[],\"count\":{0},\"filenames\":[{1}],\"name\":{2},"
        "\"regions\":[[{3},1,{4},1,{0},0,0,0]]}}",
        function.entries, Quoted(view_.report.files[file.file]), Quoted(function.name),
        function.line, std::max(function.last_line, function.line));
  }

  const CoverageView& view_;
  TextSink& sink_;
  std::vector<CoveredFile> files_;
};

}  // namespace

void WriteCoverageLlvmJson(const CoverageView& view, TextSink& sink) {
  LlvmJsonWriter(view, sink).Write();
}

}  // namespace flowback
