// SPDX-License-Identifier: MIT
// `branches` as text: the answer in a sentence each, then the tables.
#include <fmt/format.h>

#include <algorithm>

#include "cli/branches/branches_view.h"
#include "cli/branches/place_text.h"
#include "cli/listing/flow_printer.h"
#include "replay/branches/branch_ranks.h"
#include "replay/writers/text/counted.h"

namespace flowback::cli {
namespace {

class TextWriter {
 public:
  TextWriter(const BranchesView& view, std::string& out) : view_(view), out_(out) {}

  void Write() {
    WriteSentences();
    WriteTable("hottest", BranchRank::kHottest);
    WriteTable("mispredicted", BranchRank::kMispredicted);
    if (!view_.emulated()) WriteTable("slowest", BranchRank::kSlowest);
  }

 private:
  std::string NameOf(const BranchSum& sum) const {
    return PlaceText(view_.names, sum.space, sum.address, view_.ObjectOf(sum.place));
  }

  void WriteSentences() {
    const auto first = [&](BranchRank rank) {
      const auto ranked = Ranked(view_.report, rank, 1);
      return ranked.empty() ? nullptr : ranked.front();
    };
    const BranchSum* hottest = first(BranchRank::kHottest);
    if (hottest == nullptr) {
      out_ += "No branch was executed in what was decoded.\n";
      return;
    }
    out_ +=
        fmt::format("The hottest branch is {}: executed {} times{}, taken {} of them.\n",
                    NameOf(*hottest), GroupedDigits(hottest->executed()),
                    view_.samples() ? " in the samples" : "", GroupedDigits(hottest->taken.times));
    WritePrediction(first(BranchRank::kMispredicted));
    if (view_.emulated())
      out_ += "The recording is emulated: cycles are the emulator's, and are not shown.\n";
    else
      WriteCycles(first(BranchRank::kSlowest));
    const auto much = std::ranges::count_if(
        view_.report.branches, [](const BranchSum& sum) { return sum.elsewhere != 0; });
    if (much != 0)
      out_ += fmt::format("For {} only the first {} targets are listed one by one.\n",
                          Counted(static_cast<uint64_t>(much), "branch"), BranchSums::kMostTargets);
    if (view_.samples())
      out_ += "These are samples: of what executed between them nothing is known.\n";
  }

  void WritePrediction(const BranchSum* worst) {
    uint64_t told = 0;
    for (const BranchSum& sum : view_.report.branches) told += sum.taken.right + sum.taken.wrong;
    if (worst != nullptr)
      out_ += fmt::format("Predicted wrongly most often: {}, {} of {} ({}).\n", NameOf(*worst),
                          GroupedDigits(worst->taken.wrong),
                          GroupedDigits(worst->taken.right + worst->taken.wrong),
                          Share(worst->taken.wrong, worst->taken.right + worst->taken.wrong));
    else
      out_ += told == 0 ? "Whether branches were predicted is not recorded.\n"
                        : "All branches were predicted rightly.\n";
  }

  void WriteCycles(const BranchSum* slowest) {
    uint64_t all = 0;
    for (const BranchSum& sum : view_.report.branches) all += sum.taken.cycles.sum();
    if (slowest == nullptr) {
      const bool told = std::ranges::any_of(view_.report.branches,
                                            [](const BranchSum& sum) { return sum.cycles_told; });
      out_ += told ? "Cycles between branches are recorded of no line of code that is known as a "
                     "whole.\n"
                   : "Cycles between branches are not recorded.\n";
      return;
    }
    const CycleSums& cycles = slowest->taken.cycles;
    out_ += fmt::format(
        "Most cycles passed on the way to {}: {} of all known ones, {} each time (median).\n",
        NameOf(*slowest), Share(cycles.sum(), all), cycles.Quantile(0.5));
  }

  void WriteTable(std::string_view title, BranchRank rank) {
    const auto ranked = Ranked(view_.report, rank, view_.top);
    if (ranked.empty()) return;
    out_ += fmt::format("\n{}\n{:>10} {:>10} {:>10} {:>7} {:>6} {:>6} {:>6} {:<9} {}\n", title,
                        "taken", "not taken", "wrong", "", "p50", "p90", "ipc", "class", "branch");
    for (const BranchSum* sum : ranked) WriteRow(*sum);
  }

  void WriteRow(const BranchSum& sum) {
    const BranchEdge& taken = sum.taken;
    const bool predicted = taken.right + taken.wrong != 0;
    const uint64_t cycles = view_.emulated() ? 0 : taken.cycles.sum();
    const bool told = !view_.emulated() && !taken.cycles.exact.empty();
    const auto number = [](bool known, uint64_t value) {
      return known ? std::to_string(value) : std::string("-");
    };
    out_ += fmt::format(
        "{:>10} {:>10} {:>10} {:>7} {:>6} {:>6} {:>6} {:<9} {}\n", taken.times,
        number(sum.kind == InstructionClass::kConditional, sum.not_taken),
        number(predicted, taken.wrong), Share(taken.wrong, taken.right + taken.wrong),
        number(told, taken.cycles.Quantile(0.5)), number(told, taken.cycles.Quantile(0.9)),
        cycles == 0 ? "-"
                    : fmt::format("{:.2f}", static_cast<double>(taken.cycles.instructions) /
                                                static_cast<double>(cycles)),
        BranchWord(sum.kind), NameOf(sum));
  }

  const BranchesView& view_;
  std::string& out_;
};

}  // namespace

void PrintBranchesText(const BranchesView& view, Output& output) {
  TextWriter(view, output.buffer()).Write();
  output.Commit();
}

}  // namespace flowback::cli
