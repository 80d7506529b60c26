// SPDX-License-Identifier: MIT
// The table blocks: the blocks of the files whose code ran, executed or not, as `coverage` counts.
#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "flowback/replay/coverage_report.h"
#include "replay/coverage/report/used_files.h"
#include "replay/query/kept_rows.h"
#include "replay/query/query_source.h"

namespace flowback {
namespace {

enum Column : size_t {
  kFile,
  kFunction,
  kAddress,
  kSize,
  kInstructions,
  kTimes,
  kExecuted,
  kState,
  kStub,
  kSource,
  kLine
};

using Type = QueryColumn::Type;
constexpr QueryColumn kColumns[] = {
    {"file", Type::kText, "the file of the code; files that were not found have no blocks"},
    {"function", Type::kText, "the function that has it; NULL: no symbol names it",
     LimitKind::kFunction},
    {"address", Type::kInteger, "of its first instruction, as objdump shows it"},
    {"size", Type::kInteger, "bytes"},
    {"instructions", Type::kInteger, "that it has"},
    {"times", Type::kInteger, "how often it was executed, to its end or not"},
    {"executed", Type::kInteger, "the instructions that were executed in it, in all"},
    {"state", Type::kText, "executed, never, or unknown: trace was lost in which it may have been"},
    {"stub", Type::kInteger, "1: a stub of a procedure linkage table, which `coverage` leaves out"},
    {"source", Type::kText, "the source file of its first instruction; NULL: not known"},
    {"line", Type::kInteger, "the line there; NULL: not known"},
};

// The report points into the counts.
struct Coverage {
  std::unique_ptr<CoverageCounts> counts;
  CoverageReport report;
};

struct Row {
  const CoverageReport* report = nullptr;
  const ObjectCoverage* object = nullptr;
  const StaticCodeBlock* block = nullptr;

  const StaticFunction& function() const {
    const StaticCode& code = *object->code;
    return code.functions()[code.functions()[block->function].whole];
  }
};

uint64_t TimesOf(const Row& row) {
  const auto first = row.object->times.begin() + row.block->first;
  return row.block->count == 0 ? 0 : *std::max_element(first, first + row.block->count);
}

uint64_t ExecutedIn(const Row& row) {
  const auto first = row.object->times.begin() + row.block->first;
  return std::accumulate(first, first + row.block->count, uint64_t{0});
}

std::string_view StateOf(const Row& row) {
  bool unknown = false;
  for (uint32_t i = row.block->first; i < row.block->first + row.block->count; ++i)
    unknown |= row.object->unknown[i];
  switch (ObjectCoverage::StateOfAll(TimesOf(row), unknown)) {
    case Executed::kYes:
      return "executed";
    case Executed::kNo:
      return "never";
    case Executed::kUnknown:
      return "unknown";
  }
  return {};
}

QueryValue Cell(const Row& row, size_t column) {
  const SourceLine& place = row.object->places[row.block->first];
  switch (column) {
    case kFile:
      return TextValue(row.object->counts->id.path);
    case kFunction:
      return TextValue(row.function().name);
    case kAddress:
      return NumberValue(row.block->begin);
    case kSize:
      return NumberValue(row.block->end - row.block->begin);
    case kInstructions:
      return NumberValue(row.block->count);
    case kTimes:
      return NumberValue(TimesOf(row));
    case kExecuted:
      return NumberValue(ExecutedIn(row));
    case kState:
      return StateOf(row);
    case kStub:
      return NumberValue(row.function().is_stub ? 1 : 0);
    case kSource:
      return place.line == 0 ? QueryValue() : TextValue(row.report->files[place.file]);
    default:
      return place.line == 0 ? QueryValue() : NumberValue(place.line);
  }
}

Result<Coverage> Count(QuerySource& source) {
  Session& session = source.session();
  Result<CoverageCounts> counts = CountCoverage(session.CoverageInput());
  if (!counts) return Fail(counts.error());
  ImageSearch search = session.options().search;
  for (const std::string& file : UsedFiles(session.code())) search.files.push_back(file);
  Coverage coverage;
  coverage.counts = std::make_unique<CoverageCounts>(*std::move(counts));
  coverage.report = CoverageReport::Of(
      *coverage.counts,
      {.open = [&search](const ObjectId& id) { return ObjectImage::Find(id, search); },
       .search = search,
       .lines = &session.lines()},
      {});
  return coverage;
}

Result<std::unique_ptr<QueryRows>> OpenBlocks(QuerySource& source, const QueryLimits& limits) {
  if (Status flow = source.CheckFlow(); !flow) return Fail(flow.error());
  Result<const Coverage*> coverage =
      source.Once<Coverage>("blocks", [&source] { return Count(source); });
  if (!coverage) return Fail(coverage.error());
  std::vector<Row> rows;
  for (const ObjectCoverage& object : (*coverage)->report.objects) {
    if (object.image == nullptr || object.code == nullptr) continue;
    for (const StaticCodeBlock& block : object.code->blocks()) {
      const Row row{&(*coverage)->report, &object, &block};
      if (!limits.function || row.function().name == *limits.function) rows.push_back(row);
    }
  }
  return MakeKeptRows(std::move(rows), Cell);
}

}  // namespace

QueryTable blocks_table() {
  return {.name = "blocks",
          .summary = "the blocks of code that there are, and how often each was executed",
          .columns = kColumns,
          .usual_rows = 1e5,
          .open = OpenBlocks};
}

}  // namespace flowback
