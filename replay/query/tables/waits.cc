// SPDX-License-Identifier: MIT
// The table waits: each time that a thread waited for another one, as `locks` finds it.
#include <string>
#include <utility>
#include <vector>

#include "replay/locks/locks.h"
#include "replay/query/kept_rows.h"
#include "replay/query/query_source.h"
#include "replay/timeline/kept_times.h"
#include "replay/writers/locks/locks_view.h"

namespace flowback {
namespace {

enum Column : size_t {
  kTid,
  kPid,
  kFunction,
  kCaller,
  kBegin,
  kEnd,
  kDuration,
  kSpinning,
  kSleeping,
  kTrips,
  kSleeps,
  kState,
  kForWork,
  kHolder,
  kCertain,
  kAddress,
  kSymbol,
  kSite,
  kIp,
  kFirst
};

using Type = QueryColumn::Type;
constexpr QueryColumn kColumns[] = {
    {"tid", Type::kInteger, "the thread that waited", LimitKind::kTid},
    {"pid", Type::kInteger, "its process; NULL: not known"},
    {"function", Type::kText, "the outermost function of the lock", LimitKind::kFunction},
    {"caller", Type::kText, "the function that called it; NULL: not seen"},
    {"begin", Type::kInteger, "when the thread found the lock taken; NULL: the trace has no times"},
    {"end", Type::kInteger, "when the thread went on; NULL: the trace has no times"},
    {"duration", Type::kInteger, "end - begin"},
    {"spinning", Type::kInteger, "the part of duration in loops"},
    {"sleeping", Type::kInteger, "the part of duration in system calls"},
    {"trips", Type::kInteger, "how often its loops went round"},
    {"sleeps", Type::kInteger, "system calls in which it waited"},
    {"state", Type::kText, "whole, begun-before, cut-by-end or lost"},
    {"for_work", Type::kInteger, "1: for what a thread is to do first: nothing is held"},
    {"holder", Type::kInteger, "the thread that held the lock for most of it; NULL: not known"},
    {"certain", Type::kInteger, "1: no other thread can have held it; NULL: holder is NULL"},
    {"address", Type::kInteger, "of the lock's data; NULL: not recorded (record --locks)"},
    {"symbol", Type::kText, "the variable there; NULL: not known"},
    {"site", Type::kInteger, "address of the call of function; NULL: not seen"},
    {"ip", Type::kInteger, "the loop's or the system call's first instruction"},
    {"first_instruction", Type::kInteger, "instructions of the thread before it"},
};

struct Row {
  const LockReport* report = nullptr;
  const LockWait* wait = nullptr;

  const LockSite& site() const { return report->sites[wait->site]; }
};

QueryValue NameOf(const Row& row, uint32_t function) {
  if (function == CallPath::kNoFunction) return {};
  return TextValue(row.report->functions[function].name);
}

QueryValue IdValue(int32_t id) { return id < 0 ? QueryValue() : int64_t{id}; }

QueryValue TimeCell(const Row& row, size_t column) {
  const LockWait& wait = *row.wait;
  if (!row.report->has_times) return {};
  switch (column) {
    case kBegin:
      return NumberValue(wait.begin.time);
    case kEnd:
      return NumberValue(wait.end.time);
    case kDuration:
      return NumberValue(wait.time());
    case kSpinning:
      return NumberValue(wait.spinning());
    default:
      return NumberValue(wait.sleeping);
  }
}

QueryValue HolderCell(const Row& row, size_t column) {
  const LockWait& wait = *row.wait;
  if (wait.holder == LockWait::kNoThread) return {};
  if (column == kCertain) return NumberValue(wait.is_certain ? 1 : 0);
  return IdValue(row.report->threads[wait.holder].tid);
}

QueryValue LockCell(const Row& row, size_t column) {
  const LockWait& wait = *row.wait;
  if (wait.instance == LockWait::kNoInstance) return {};
  if (column == kAddress) return NumberValue(wait.address);
  return TextValue(row.report->instances[wait.instance].symbol);
}

QueryValue Cell(const Row& row, size_t column) {
  const LockWait& wait = *row.wait;
  switch (column) {
    case kTid:
      return IdValue(row.report->threads[wait.thread].tid);
    case kPid:
      return IdValue(row.report->threads[wait.thread].pid);
    case kFunction:
      return NameOf(row, row.site().function);
    case kCaller:
      return NameOf(row, row.site().caller);
    case kTrips:
      return NumberValue(wait.trips);
    case kSleeps:
      return NumberValue(wait.sleeps);
    case kState:
      return Name(wait.state);
    case kForWork:
      return NumberValue(row.site().is_event ? 1 : 0);
    case kHolder:
    case kCertain:
      return HolderCell(row, column);
    case kAddress:
    case kSymbol:
      return LockCell(row, column);
    case kSite:
      return row.site().call == 0 ? QueryValue() : NumberValue(row.site().call);
    case kIp:
      return NumberValue(row.site().address);
    case kFirst:
      return NumberValue(wait.position);
    default:
      return TimeCell(row, column);
  }
}

constexpr size_t kMostWaits = size_t{1} << 20;

Result<LockReport> FindAllWaits(QuerySource& source) {
  Session& session = source.session();
  const LockOptions options{.threads = session.options().ThreadCount(),
                            .in_flight = session.options().in_flight,
                            .worst = kMostWaits};
  const auto known =
      LoadTimes(session.recording(), session.inputs(), session.CacheFor(CachedResult::kLasting));
  const bool is_known = known && known->losses.empty();
  Result<LockReport> report =
      FindLocks(session.TimelineInput(), FlowsOf(session.threads().owners()), options,
                is_known ? &known->accounts : nullptr);
  if (!report) return report;
  uint64_t waits = 0;
  for (const LockSums& sums : report->site_sums) waits += sums.waits;
  if (waits <= report->worst.size()) return report;
  return Fail(Error(ErrorCode::kUnsupported,
                    session.recording().path + ": has " + std::to_string(waits) +
                        " waits, and the table waits holds " + std::to_string(kMostWaits))
                  .Remedy("choose threads with --tid, or `flowback locks` for the sums"));
}

Result<std::unique_ptr<QueryRows>> OpenWaits(QuerySource& source, const QueryLimits& limits) {
  if (Status whole = source.CheckWholeFlow("waits"); !whole) return Fail(whole.error());
  Result<const LockReport*> report =
      source.Once<LockReport>("waits", [&source] { return FindAllWaits(source); });
  if (!report) return Fail(report.error());
  std::vector<Row> rows;
  for (const LockWait& wait : (*report)->worst) {
    const Row row{*report, &wait};
    if (!limits.FitsThread((*report)->threads[wait.thread].tid)) continue;
    const uint32_t function = row.site().function;
    if (limits.function && (function == CallPath::kNoFunction ||
                            (*report)->functions[function].name != *limits.function))
      continue;
    rows.push_back(row);
  }
  return MakeKeptRows(std::move(rows), Cell);
}

}  // namespace

QueryTable waits_table() {
  return {.name = "waits",
          .summary = "each time that a thread waited for another one, spinning or sleeping",
          .columns = kColumns,
          .usual_rows = 1e4,
          .open = OpenWaits};
}

}  // namespace flowback
