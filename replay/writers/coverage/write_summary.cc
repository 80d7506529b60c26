// SPDX-License-Identifier: MIT
// `coverage --format summary`: the answer in a sentence, then where to look.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/path_text.h"
#include "flowback/writers.h"
#include "replay/coverage/report/by_source.h"
#include "replay/coverage/report/coverage_changes.h"
#include "replay/coverage/report/report_lists.h"
#include "replay/writers/coverage/coverage_words.h"
#include "replay/writers/text/code_words.h"
#include "replay/writers/text/counted.h"
#include "replay/writers/text/printable.h"
#include "replay/writers/writers.h"

namespace flowback {
namespace {

// "gzip.c:120", or nothing.
std::string PlaceWords(const CoverageReport& report, const SourceLine& at) {
  if (at.line == 0) return {};
  return fmt::format("{}:{}", Printable(LastPart(report.files[at.file])), at.line);
}

std::string ShortFunction(const StaticFunction& function) {
  return function.name.empty() ? FunctionWords(function) : ShortName(function.name);
}

// Returns what was executed of the program, and its largest function that never was.
std::string ProgramSentence(const CoverageReport& report, const ObjectCoverage& main) {
  const CoverageShares& shares = main.shares;
  std::string text =
      fmt::format("{} executed {} of its functions ({})", Printable(LastPart(main.counts->id.path)),
                  PercentOf(shares.functions), FractionOf(shares.functions));
  if (shares.lines.total != 0) text += fmt::format(", {} of its lines", PercentOf(shares.lines));
  text += fmt::format(" and {} of its branch directions", PercentOf(shares.branches));
  std::vector<ReportedFunction> never = UnexecutedFunctions(report, &main);
  SortFunctions(never, "size");
  if (never.empty()) return text + "; every function was executed.";
  return text + fmt::format("; the largest never {}: {} ({} bytes).",
                            shares.instructions.unknown == 0 ? "executed" : "seen to execute",
                            FunctionWords(never.front().code()), never.front().code().code_bytes);
}

class SummaryWriter {
 public:
  SummaryWriter(const CoverageView& view, std::string& out)
      : view_(view), report_(view.report), out_(out), main_(MainObject(report_)) {}

  void Write() {
    WriteSentences();
    WriteObjects();
    WriteFiles();
    WriteChanges();
    WriteNever();
    WriteOneWay();
    WriteNotes();
  }

 private:
  void WriteSentences() {
    for (const std::string& sentence : CoverageSentences(view_)) out_ += sentence + '\n';
  }

  void WriteObjects() {
    out_ += fmt::format("\nobjects\n{:>9} {:>17} {:>9} {:>9} {:>9}  {:>9} {:>17}  {}\n",
                        "functions", "", "blocks", "branches", "instr.", "lines", "", "object");
    std::vector<const ObjectCoverage*> objects;
    // With a choice by source or function, an object without chosen code would be a row of dashes.
    for (const ObjectCoverage& object : report_.objects)
      if (object.code == nullptr || object.shares.instructions.total != 0)
        objects.push_back(&object);
    std::ranges::stable_sort(objects, std::greater{}, [this](const ObjectCoverage* object) {
      return std::pair(object == main_, object->shares.instructions.executed);
    });
    for (const ObjectCoverage* object : objects) WriteObject(*object);
    if (objects.size() > 1) WriteShares(report_.shares, "all");
    if (const size_t others = report_.objects.size() - objects.size(); others != 0)
      out_ +=
          fmt::format("({} with none of the code that was chosen)\n", Counted(others, "object"));
  }

  void WriteObject(const ObjectCoverage& object) {
    std::string name = ObjectWords(object);
    if (object.counts->id.made_at_run_time)
      name += fmt::format("  (made at run time: {} instructions executed)",
                          object.counts->instructions.size());
    else if (object.counts->instructions.empty() && !object.problem.empty())
      name += "  (its file is missing: what ran in it is not known)";
    else if (object.counts->instructions.empty())
      name += "  (mapped, never executed)";
    else if (!object.problem.empty())
      name += "  (no file)";
    WriteShares(object.shares, name);
  }

  void WriteShares(const CoverageShares& shares, const std::string& name) {
    out_ += fmt::format(
        "{:>9} {:>17} {:>9} {:>9} {:>9}  {:>9} {:>17}  {}\n", PercentOf(shares.functions),
        FractionOf(shares.functions), PercentOf(shares.blocks), PercentOf(shares.branches),
        PercentOf(shares.instructions), PercentOf(shares.lines), FractionOf(shares.lines), name);
  }

  void WriteFiles() {
    std::vector<CoveredFile> files = BySource(report_);
    if (files.empty()) return;
    WriteDirectories(files);
    // A file that never ran is less interesting than the missing part of a used one.
    std::ranges::stable_sort(files, std::greater{}, [](const CoveredFile& file) {
      return std::pair(file.shares.lines.executed != 0,
                       file.shares.lines.total - file.shares.lines.executed);
    });
    out_ += fmt::format(
        "\nsource files, by lines that were not executed\n{:>9} {:>17} {:>9} {:>9}  {}\n", "lines",
        "", "functions", "branches", "file");
    for (size_t i = 0; i < std::min(files.size(), view_.rows); ++i)
      out_ +=
          fmt::format("{:>9} {:>17} {:>9} {:>9}  {}\n", PercentOf(files[i].shares.lines),
                      FractionOf(files[i].shares.lines), PercentOf(files[i].shares.functions),
                      PercentOf(files[i].shares.branches), Printable(report_.files[files[i].file]));
    MoreRows(files.size());
  }

  // With a single directory, the table would be useless.
  void WriteDirectories(const std::vector<CoveredFile>& files) {
    std::vector<CoveredDirectory> all = ByDirectory(report_, files);
    if (all.size() < 2) return;
    std::ranges::stable_sort(all, std::greater{}, [](const CoveredDirectory& each) {
      return std::pair(each.shares.lines.executed != 0, each.shares.lines.never());
    });
    out_ += fmt::format(
        "\ndirectories, by lines that were not executed\n{:>9} {:>17} {:>9} {:>9} {:>6}  {}\n",
        "lines", "", "functions", "branches", "files", "directory");
    for (size_t i = 0; i < std::min(all.size(), view_.rows); ++i) {
      const CoverageShares& shares = all[i].shares;
      out_ += fmt::format("{:>9} {:>17} {:>9} {:>9} {:>6}  {}\n", PercentOf(shares.lines),
                          FractionOf(shares.lines), PercentOf(shares.functions),
                          PercentOf(shares.branches), all[i].files, Printable(all[i].name));
    }
    MoreRows(all.size());
  }

  void WriteChanges() {
    if (view_.changes == nullptr) return;
    out_ +=
        fmt::format("\nsince the baseline: {} functions newly executed, {} no longer\n",
                    view_.changes->newly_executed.size(), view_.changes->no_longer_executed.size());
    WriteChanges("no longer executed", view_.changes->no_longer_executed);
    WriteChanges("newly executed", view_.changes->newly_executed);
  }

  void WriteChanges(std::string_view what, const std::vector<CoverageChange>& changes) {
    if (changes.empty()) return;
    out_ += fmt::format("{:>9}  {}\n", "bytes", what);
    for (size_t i = 0; i < std::min(changes.size(), view_.rows); ++i)
      out_ += fmt::format("{:>9}  {}  ({})\n", changes[i].bytes, ShortName(changes[i].function),
                          Printable(changes[i].object));
    MoreRows(changes.size());
  }

  void WriteNever() {
    std::vector<ReportedFunction> never = UnexecutedFunctions(report_);
    // The program's own functions first: a library's user need not cover all of the library.
    SortFunctions(never, view_.sort);
    std::ranges::stable_partition(
        never, [this](const ReportedFunction& at) { return at.object == main_; });
    if (never.empty()) return;
    out_ += fmt::format("\nnever executed, {}\n{:>9} {:>7}  {}\n",
                        view_.sort == "size" ? "largest first" : "by " + view_.sort, "bytes",
                        "lines", "function");
    for (size_t i = 0; i < std::min(never.size(), view_.rows); ++i) {
      const ReportedFunction& at = never[i];
      const uint64_t lines = at.function->shares.lines.total;
      std::string line =
          fmt::format("{:>9} {:>7}  {}", at.code().code_bytes,
                      lines == 0 ? "-" : std::to_string(lines), ShortFunction(at.code()));
      if (const std::string place = PlaceWords(report_, at.function->at); !place.empty())
        line += "  " + place;
      if (at.object != main_)
        line += fmt::format("  ({})", Printable(LastPart(at.object->counts->id.path)));
      if (at.function->state == Executed::kUnknown) line += "  [not known: trace was lost]";
      out_ += line + '\n';
    }
    MoreRows(never.size());
  }

  void WriteOneWay() {
    const std::vector<ReportedBranch> branches = OneWayBranches(report_, main_);
    if (branches.empty()) return;
    out_ += fmt::format(
        "\nbranches that went one way only, most often executed first\n{:>12}  {:<15}  {}\n",
        "times", "direction", "branch");
    for (size_t i = 0; i < std::min(branches.size(), view_.rows); ++i) WriteBranch(branches[i]);
    MoreRows(branches.size());
  }

  void WriteBranch(const ReportedBranch& each) {
    const BranchCoverage& branch = *each.branch;
    std::string line = fmt::format("{:>12}  {:<15}  ", GroupedDigits(each.times()),
                                   branch.taken == 0 ? "never taken" : "always taken");
    const StaticFunction* function = each.object->code->FunctionAt(branch.address);
    line += function == nullptr ? fmt::format("{:#x}", branch.address)
                                : fmt::format("{}+{:#x}", ShortFunction(*function),
                                              branch.address - function->begin);
    if (const std::string place = PlaceWords(report_, branch.at); !place.empty()) {
      line += "  " + place;
      if (view_.lines != nullptr)
        line += "  " +
                PrintableSource(view_.lines->Text(report_.files[branch.at.file], branch.at.line));
    }
    if (each.object != main_)
      line += fmt::format("  ({})", Printable(LastPart(each.object->counts->id.path)));
    out_ += line + '\n';
  }

  void WriteNotes() {
    std::string notes;
    for (const ObjectCoverage& object : report_.objects) {
      if (!object.problem.empty() && !object.counts->instructions.empty())
        notes += fmt::format("{}: {}\n", ObjectWords(object), PrintableProse(object.problem));
      if (object.code == nullptr) continue;
      uint64_t uncertain = 0;
      for (const FunctionCoverage& function : object.functions)
        uncertain += object.Code(function).uncertain_bytes;
      if (uncertain != 0 && &object == main_)
        notes += fmt::format(
            "{}: {} inside functions {} left out: no flow was seen to lead there, so {} may be "
            "data, "
            "or code after an indirect jump.\n",
            ObjectWords(object), Counted(uncertain, "byte"), ByCount(uncertain, "is", "are"),
            ByCount(uncertain, "it", "they"));
      if (object.outside_instructions != 0)
        notes += fmt::format("{}: {} {} in no known function (executed {}).\n", ObjectWords(object),
                             Counted(object.outside_instructions, "executed instruction"),
                             ByCount(object.outside_instructions, "lies", "lie"),
                             Counted(object.outside_times, "time"));
    }
    if (!notes.empty()) out_ += "\nnotes\n" + notes;
  }

  void MoreRows(size_t all) {
    if (all > view_.rows)
      out_ += fmt::format("  ({} more: --top {}, or --format json)\n", all - view_.rows, all);
  }

  const CoverageView& view_;
  const CoverageReport& report_;
  std::string& out_;
  const ObjectCoverage* const main_;
};

}  // namespace

std::vector<std::string> CoverageSentences(const CoverageView& view) {
  const CoverageReport& report = view.report;
  const ObjectCoverage* const main = MainObject(report);
  if (main == nullptr) return {"Nothing of what was asked for was executed."};
  std::vector<std::string> sentences = {ProgramSentence(report, *main)};
  if (const uint64_t unknown = report.shares.instructions.unknown; unknown != 0)
    sentences.push_back(fmt::format("{}: of {} ({} in all) it is not known whether {} executed.",
                                    main->counts->losses.contains(kSampledCause)
                                        ? "Only samples were recorded, so counts are of these"
                                        : "Trace was lost",
                                    Counted(unknown, "instruction"),
                                    GroupedDigits(report.shares.instructions.total),
                                    ByCount(unknown, "it was", "they were")));
  if (view.counts.emulated)
    sentences.emplace_back("Recorded under emulation: counts are the program's own.");
  return sentences;
}

void WriteCoverageSummary(const CoverageView& view, TextSink& sink) {
  SummaryWriter(view, sink.buffer()).Write();
  sink.Commit();
}

}  // namespace flowback
