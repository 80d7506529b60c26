// SPDX-License-Identifier: MIT
// `coverage --format lcov`: a tracefile as geninfo(1) describes it, for genhtml and IDEs.
//
// Unknown lines, whose trace was lost, are neither 0 nor left out silently: they stand in comments,
// which readers ignore.
//
// lcov 2 refuses a tracefile that contradicts itself: a line was executed exactly if one of its
// branches went one way or the other. In real code the two differ: a line may have the code of two
// functions, and in optimised code a branch may be counted where its line does not begin. So a line
// counts as executed once where its branch was, and if a line executed but none of its branches was
// reached, they are left out, which a comment says.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "flowback/writers.h"
#include "replay/coverage/report/by_source.h"
#include "replay/writers/coverage/source_names.h"
#include "replay/writers/text/printable.h"
#include "replay/writers/writers.h"

namespace flowback {
namespace {

class LcovWriter {
 public:
  LcovWriter(const CoverageView& view, TextSink& sink)
      : view_(view), sink_(sink), names_(view.names_under) {}

  void Write() {
    for (const CoveredFile& file : BySource(view_.report)) {
      const std::string& path = view_.report.files[file.file];
      if (!SourceNames::NamesFile(path)) continue;
      out() += fmt::format("TN:\nSF:{}\n", Printable(names_.NameOf(path)));
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

  static bool WasReached(const CoveredBranch& branch) {
    return branch.taken + branch.not_taken != 0;
  }
  static bool HasReachedBranch(const CoveredLine& line) {
    return std::ranges::any_of(line.branches, WasReached);
  }
  static uint64_t TimesOf(const CoveredLine& line) {
    return HasReachedBranch(line) ? std::max<uint64_t>(line.times, 1) : line.times;
  }

  void WriteBranches(const CoveredFile& file) {
    size_t found = 0;
    size_t hit = 0;
    for (const CoveredLine& line : file.lines) {
      if (line.branches.empty()) continue;
      if (line.times != 0 && !HasReachedBranch(line)) {
        out() += fmt::format("# never reached: {} branches of line {}\n", line.branches.size(),
                             line.line);
        continue;
      }
      for (size_t i = 0; i < line.branches.size(); ++i) {
        const CoveredBranch& branch = line.branches[i];
        if (!WasReached(branch) && line.state == Executed::kUnknown) continue;
        const auto times = [&](uint64_t direction) {
          return WasReached(branch) ? std::to_string(direction) : "-";
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
      const uint64_t times = TimesOf(line);
      hit += times != 0;
      out() += fmt::format("DA:{},{}\n", line.line, times);
    }
    out() += fmt::format("LF:{}\nLH:{}\n", found, hit);
  }

  const CoverageView& view_;
  TextSink& sink_;
  SourceNames names_;
};

}  // namespace

void WriteCoverageLcov(const CoverageView& view, TextSink& sink) { LcovWriter(view, sink).Write(); }

}  // namespace flowback
