// SPDX-License-Identifier: MIT
// The table instances: the calls of one function, measured as `spikes` does it.
#include <string>
#include <utility>
#include <vector>

#include "replay/query/kept_rows.h"
#include "replay/query/query_source.h"
#include "replay/spikes/spikes.h"

namespace flowback {
namespace {

enum Column : size_t {
  kTid,
  kFunction,
  kBegin,
  kEnd,
  kDuration,
  kState,
  kSlow,
  kInstructions,
  kCycles,
  kExecuting,
  kOffCpu,
  kKernel,
  kLost,
  kFiltered,
  kUndecodable,
  kFirst
};

using Type = QueryColumn::Type;
constexpr QueryColumn kColumns[] = {
    {"tid", Type::kInteger, "thread; NULL: not known", LimitKind::kTid},
    {"function", Type::kText, "the function, which the query must name: function = 'NAME'",
     LimitKind::kFunction},
    {"begin", Type::kInteger, "when the call began; NULL: the trace has no times"},
    {"end", Type::kInteger, "when the call ended; NULL: the trace has no times"},
    {"duration", Type::kInteger, "end - begin, which is the sum of the six times"},
    {"state", Type::kText, "whole, begun-before, cut-by-end or lost"},
    {"slow", Type::kInteger, "1: `spikes` calls it slow; 0: normal; NULL: it is not compared"},
    {"instructions", Type::kInteger, "that it executed, with what it called"},
    {"cycles", Type::kInteger, "core cycles; NULL: the trace has none"},
    {"executing", Type::kInteger, "time in code that is traced"},
    {"off_cpu", Type::kInteger, "time off the CPU"},
    {"kernel", Type::kInteger, "time in the kernel, where that is not traced"},
    {"lost", Type::kInteger, "time of which the trace is missing"},
    {"filtered", Type::kInteger, "time that the recorder left out on purpose"},
    {"undecodable", Type::kInteger, "time of which the code is missing"},
    {"first_instruction", Type::kInteger, "instructions of the thread before it"},
};

struct Row {
  const SpikeReport* report = nullptr;
  const Instance* instance = nullptr;
};

std::string_view StateWord(InstanceState state) {
  switch (state) {
    case InstanceState::kWhole:
      return "whole";
    case InstanceState::kBegunBefore:
      return "begun-before";
    case InstanceState::kCutByEnd:
      return "cut-by-end";
    case InstanceState::kLost:
      return "lost";
  }
  return {};
}

QueryValue SlowValue(const Row& row) {
  if (!row.report->IsCompared(*row.instance)) return {};
  switch (row.report->GroupOf(*row.instance)) {
    case InstanceGroup::kSlow:
      return int64_t{1};
    case InstanceGroup::kNormal:
      return int64_t{0};
    default:
      return {};
  }
}

QueryValue TimeCell(const Row& row, size_t column) {
  const Instance& instance = *row.instance;
  if (!row.report->has_times) return {};
  switch (column) {
    case kBegin:
      return NumberValue(instance.begin.time);
    case kEnd:
      return NumberValue(instance.end.time);
    case kDuration:
      return NumberValue(instance.time());
    case kExecuting:
      return NumberValue(instance.Of(TimeClass::kExecuting));
    case kOffCpu:
      return NumberValue(instance.Of(TimeClass::kOffCpu));
    case kKernel:
      return NumberValue(instance.Of(TimeClass::kKernel));
    case kLost:
      return NumberValue(instance.Of(TimeClass::kLost));
    case kFiltered:
      return NumberValue(instance.Of(TimeClass::kFiltered));
    default:
      return NumberValue(instance.Of(TimeClass::kUndecodable));
  }
}

QueryValue Cell(const Row& row, size_t column) {
  const Instance& instance = *row.instance;
  switch (column) {
    case kTid:
      return instance.tid < 0 ? QueryValue() : int64_t{instance.tid};
    case kFunction:
      if (instance.function == CallPath::kNoFunction) return {};
      return row.report->functions[instance.function].name;
    case kState:
      return StateWord(instance.state);
    case kSlow:
      return SlowValue(row);
    case kInstructions:
      return NumberValue(instance.instructions);
    case kCycles:
      return instance.cycles == 0 ? QueryValue() : NumberValue(instance.cycles);
    case kFirst:
      return NumberValue(instance.first_instruction);
    default:
      return TimeCell(row, column);
  }
}

Result<SpikeReport> FindInstances(QuerySource& source, const std::string& function) {
  Session& session = source.session();
  Symbolizer& symbols = session.symbols();
  const SpikeOptions options{.threads = session.options().ThreadCount(),
                             .in_flight = session.options().in_flight,
                             .is_region =
                                 [&symbols, &function](const AddressSpace* space, uint64_t ip) {
                                   if (space == nullptr) return false;
                                   const auto symbol = symbols.Find(*space, ip);
                                   return symbol && symbol->function == function;
                                 },
                             .top = 0};
  const TimelineSources sources = session.TimelineInput();
  return FindSpikes(sources, FlowsOf(session.threads().owners()), options,
                    [&sources] { return AccountTimes(sources); });
}

Result<std::unique_ptr<QueryRows>> OpenInstances(QuerySource& source, const QueryLimits& limits) {
  if (Status whole = source.CheckWholeFlow("calls"); !whole) return Fail(whole.error());
  if (!limits.function)
    return Fail(Error(ErrorCode::kUsage,
                      "the table instances holds the calls of one function, which the query does "
                      "not name")
                    .Remedy("SELECT ... FROM instances WHERE function = 'NAME'; for the calls of "
                            "all functions the table calls"));
  const std::string& function = *limits.function;
  Result<const SpikeReport*> report = source.Once<SpikeReport>(
      "instances of " + function, [&] { return FindInstances(source, function); });
  if (!report) return Fail(report.error());
  if ((*report)->left_out != 0)
    return Fail(Error(ErrorCode::kUnsupported,
                      source.session().recording().path + ": " + function + " has more than " +
                          std::to_string((*report)->instances.size()) + " calls")
                    .Remedy("the table calls, with limits of time"));
  std::vector<Row> rows;
  for (const Instance& instance : (*report)->instances)
    if (limits.FitsThread(instance.tid)) rows.push_back({*report, &instance});
  return MakeKeptRows(std::move(rows), Cell);
}

}  // namespace

QueryTable instances_table() {
  return {.name = "instances",
          .summary =
              "the calls of one function, each with what its time was, and whether it was "
              "slow",
          .columns = kColumns,
          .usual_rows = 1e5,
          .open = OpenInstances};
}

}  // namespace flowback
