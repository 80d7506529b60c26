// SPDX-License-Identifier: MIT
// The table branches: what each branch did, a row for each place that it led to.
#include <string>
#include <utility>
#include <vector>

#include "replay/branches/branch_sums.h"
#include "replay/query/kept_rows.h"
#include "replay/query/query_source.h"

namespace flowback {
namespace {

enum Column : size_t {
  kIp,
  kFile,
  kFunction,
  kClass,
  kTarget,
  kTaken,
  kNotTaken,
  kRight,
  kWrong,
  kCyclesSum,
  kCyclesCount
};

using Type = QueryColumn::Type;
constexpr QueryColumn kColumns[] = {
    {"ip", Type::kInteger, "address of the branch, in one of the processes that have it"},
    {"file", Type::kText, "the file of its code; NULL: none"},
    {"function", Type::kText, "the function that has it; NULL: not known", LimitKind::kFunction},
    {"class", Type::kText, "conditional, jump, call, return, ..."},
    {"target", Type::kInteger,
     "offset in its file, or address, that this row's branches led to; NULL: not taken, or not "
     "known"},
    {"taken", Type::kInteger, "how often it led there"},
    {"not_taken", Type::kInteger, "how often a conditional branch was not taken: in one row of it"},
    {"predicted", Type::kInteger, "how often the hardware foresaw that; NULL: not recorded"},
    {"mispredicted", Type::kInteger, "how often it foresaw something else; NULL: not recorded"},
    {"cycles", Type::kInteger, "core cycles since the branch before, added up; NULL: not recorded"},
    {"cycles_count", Type::kInteger, "of how many of them; NULL: not recorded"},
};

struct Row {
  const BranchSum* sum = nullptr;
  const CodePlace* target = nullptr;  // null: not known, or not taken
  const BranchEdge* edge = nullptr;   // null: as above
  uint64_t taken = 0;
  uint64_t not_taken = 0;
  std::string_view function{};
  std::string_view file{};
};

QueryValue PredictionCell(const Row& row, bool right) {
  const BranchEdge& all = row.sum->taken;
  if (all.right + all.wrong == 0) return {};
  if (row.edge != nullptr) return NumberValue(right ? row.edge->right : row.edge->wrong);
  // What the rows with a target do not have.
  uint64_t rest = right ? all.right : all.wrong;
  for (const auto& [place, edge] : row.sum->edges) rest -= right ? edge.right : edge.wrong;
  return NumberValue(rest);
}

QueryValue CyclesCell(const Row& row, size_t column) {
  if (!row.sum->cycles_told || row.edge == nullptr) return {};
  const CycleSums& cycles = row.edge->cycles;
  if (column == kCyclesCount) return NumberValue(cycles.count());
  return cycles.count() == 0 ? QueryValue() : NumberValue(cycles.sum());
}

QueryValue Cell(const Row& row, size_t column) {
  switch (column) {
    case kIp:
      return NumberValue(row.sum->address);
    case kFile:
      return TextValue(row.file);
    case kFunction:
      return TextValue(row.function);
    case kClass:
      return Name(row.sum->kind);
    case kTarget:
      return row.target == nullptr ? QueryValue() : NumberValue(row.target->offset);
    case kTaken:
      return NumberValue(row.taken);
    case kNotTaken:
      return NumberValue(row.not_taken);
    case kRight:
    case kWrong:
      return PredictionCell(row, column == kRight);
    default:
      return CyclesCell(row, column);
  }
}

// Each edge has a row. Executions with an unknown target, and branches not taken, have one more
// row.
void AddRows(const Row& all, std::vector<Row>& rows) {
  uint64_t elsewhere = all.sum->taken.times;
  for (const auto& [place, edge] : all.sum->edges) {
    Row row = all;
    row.target = &place;
    row.edge = &edge;
    row.taken = edge.times;
    elsewhere -= edge.times;
    rows.push_back(row);
  }
  if (elsewhere == 0 && all.sum->not_taken == 0) return;
  Row row = all;
  row.taken = elsewhere;
  row.not_taken = all.sum->not_taken;
  rows.push_back(row);
}

Result<BranchReport> SumAll(QuerySource& source) {
  Session& session = source.session();
  BranchSums sums(session.source().Unit().bytes != 1);
  if (Status played = session.Play(sums); !played) return Fail(played.error());
  return sums.Take();
}

Result<std::unique_ptr<QueryRows>> OpenBranches(QuerySource& source, const QueryLimits& limits) {
  if (Status flow = source.CheckFlow(); !flow) return Fail(flow.error());
  Result<const BranchReport*> report =
      source.Once<BranchReport>("branches", [&source] { return SumAll(source); });
  if (!report) return Fail(report.error());
  Symbolizer& symbols = source.session().symbols();
  std::vector<Row> rows;
  for (const BranchSum& sum : (*report)->branches) {
    Row row{.sum = &sum};
    if (sum.space != nullptr)
      if (const auto symbol = symbols.Find(*sum.space, sum.address))
        row.function = symbol->function;
    if (limits.function && row.function != *limits.function) continue;
    if (sum.place.object != CodePlace::kNoObject)
      row.file = source.session().RecordedPath((*report)->objects[sum.place.object]);
    AddRows(row, rows);
  }
  return MakeKeptRows(std::move(rows), Cell);
}

}  // namespace

QueryTable branches_table() {
  return {.name = "branches",
          .summary = "how often each branch was taken, and where it led",
          .columns = kColumns,
          .usual_rows = 1e4,
          .open = OpenBranches};
}

}  // namespace flowback
