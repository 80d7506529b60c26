// SPDX-License-Identifier: MIT
// `coverage --format lcov`: a tracefile as geninfo(1) describes it, for genhtml and IDEs.
//
// What is not known, as trace was lost there, is neither 0 nor left out silently: it stands in
// comments, which readers pass over.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "flowback/writers.h"
#include "replay/coverage/report/by_source.h"
#include "replay/writers/text/printable.h"
#include "replay/writers/writers.h"

namespace flowback {
namespace {

class LcovWriter {
 public:
  LcovWriter(const CoverageView& view, TextSink& sink) : view_(view), sink_(sink) {}

  void Write() {
    for (const CoveredFile& file : BySource(view_.report)) {
      out() += fmt::format("TN:\nSF:{}\n", Printable(view_.report.files[file.file]));
      WriteFunctions(file);
      WriteBranches(file);
      WriteLines(file);
      out() += "end_of_record\n";
      sink_.Commit();
    }
  }

 private:
  std::string& out() { return sink_.buffer(); }

  void WriteFunctions(const CoveredFile& file) {
    size_t found = 0;
    size_t hit = 0;
    std::string data;
    for (const CoveredFunction& function : file.functions) {
      if (function.state == Executed::kUnknown) {
        out() += fmt::format("# not known: function {}\n", Printable(function.name));
        continue;
      }
      const std::string name = Printable(function.name);
      ++found;
      hit += function.state == Executed::kYes;
      out() += fmt::format("FN:{},{}\n", function.line, name);
      // One whose first instruction is missing of the trace was executed all the same.
      const uint64_t times = function.state == Executed::kYes
                                 ? std::max<uint64_t>(function.entries, 1)
                                 : function.entries;
      data += fmt::format("FNDA:{},{}\n", times, name);
    }
    out() += data + fmt::format("FNF:{}\nFNH:{}\n", found, hit);
  }

  void WriteBranches(const CoveredFile& file) {
    size_t found = 0;
    size_t hit = 0;
    for (const CoveredLine& line : file.lines) {
      for (size_t i = 0; i < line.branches.size(); ++i) {
        const CoveredBranch& branch = line.branches[i];
        const bool reached = branch.taken + branch.not_taken != 0;
        if (!reached && line.state == Executed::kUnknown) continue;
        const auto times = [&](uint64_t direction) {
          return reached ? std::to_string(direction) : "-";
        };
        out() += fmt::format("BRDA:{0},{1},0,{2}\nBRDA:{0},{1},1,{3}\n", line.line, i,
                             times(branch.taken), times(branch.not_taken));
        found += 2;
        hit += (branch.taken != 0) + (branch.not_taken != 0);
      }
    }
    out() += fmt::format("BRF:{}\nBRH:{}\n", found, hit);
  }

  void WriteLines(const CoveredFile& file) {
    size_t found = 0;
    size_t hit = 0;
    for (const CoveredLine& line : file.lines) {
      if (line.state == Executed::kUnknown) {
        out() += fmt::format("# not known: line {}\n", line.line);
        continue;
      }
      ++found;
      hit += line.state == Executed::kYes;
      out() += fmt::format("DA:{},{}\n", line.line, line.times);
    }
    out() += fmt::format("LF:{}\nLH:{}\n", found, hit);
  }

  const CoverageView& view_;
  TextSink& sink_;
};

}  // namespace

void WriteCoverageLcov(const CoverageView& view, TextSink& sink) { LcovWriter(view, sink).Write(); }

}  // namespace flowback
