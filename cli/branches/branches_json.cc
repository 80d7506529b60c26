// SPDX-License-Identifier: MIT
// `branches --json`: a line for each branch, the hottest first.
#include <fmt/format.h>

#include <limits>

#include "cli/branches/branches_view.h"
#include "cli/branches/place_text.h"
#include "cli/listing/flow_printer.h"
#include "replay/branches/branch_ranks.h"
#include "replay/writers/text/json.h"

namespace flowback::cli {

std::string CyclesJson(const BranchesView& view, const CycleSums& cycles) {
  return view.emulated() ? "null" : CyclesJson(cycles);
}

std::string CyclesJson(const CycleSums& cycles) {
  if (cycles.exact.empty() && cycles.at_least == 0) return "null";
  return fmt::format(
      R"({{"count":{},"sum":{},"p50":{},"p90":{},"max":{},"at_least":{},"instructions":{}}})",
      cycles.count(), cycles.sum(), cycles.Quantile(0.5), cycles.Quantile(0.9),
      cycles.Quantile(1.0), cycles.at_least, cycles.instructions);
}

namespace {

std::string TargetsJson(const BranchesView& view, const BranchSum& sum) {
  std::string json = "[";
  for (const auto& [place, edge] : sum.edges) {
    if (json.size() > 1) json += ',';
    std::string text;
    JsonLine line(text);
    if (const auto object = view.ObjectOf(place); !object.empty())
      line.Text("object", object).Hex("offset", place.offset);
    else
      line.Null("object").Hex("address", place.offset);
    line.Number("times", edge.times).Number("wrong", edge.wrong).End();
    text.pop_back();  // its line's end
    json += text;
  }
  return json + ']';
}

void PrintBranch(const BranchesView& view, const BranchSum& sum, std::string& out) {
  JsonLine line(out);
  line.Text("type", "branch").Hex("ip", sum.address).Text("class", BranchWord(sum.kind));
  AddSymbolJson(view.names, sum.space, sum.address, line);
  AddObjectJson(view.ObjectOf(sum.place), sum.place.offset, line);
  AddSourceJson(view.names, sum.space, sum.address, line);
  line.Number("taken", sum.taken.times).Number("not_taken", sum.not_taken);
  const bool predicted = sum.taken.right + sum.taken.wrong != 0;
  if (predicted)
    line.Number("right", sum.taken.right).Number("wrong", sum.taken.wrong);
  else
    line.Null("right").Null("wrong");
  line.Raw("cycles", CyclesJson(view, sum.taken.cycles)).Raw("targets", TargetsJson(view, sum));
  line.Number("elsewhere", sum.elsewhere).End();
}

}  // namespace

void PrintBranchesJson(const BranchesView& view, Output& output) {
  JsonLine header(output.buffer());
  header.Text("schema", "flowback.branches/1").Text("input", view.opened.recording().path);
  header.Bool("emulated", view.opened.recording().machine.emulated);
  header.Bool("samples", view.samples()).End();
  constexpr size_t kAll = std::numeric_limits<size_t>::max();
  for (const BranchSum* sum : Ranked(view.report, BranchRank::kHottest, kAll)) {
    PrintBranch(view, *sum, output.buffer());
    output.Commit();
  }
  output.Commit();
}

}  // namespace flowback::cli
