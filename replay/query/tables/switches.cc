// SPDX-License-Identifier: MIT
// The table switches: when the kernel put threads on CPUs and took them off.
#include <variant>
#include <vector>

#include "replay/query/kept_rows.h"
#include "replay/query/query_source.h"

namespace flowback {
namespace {

enum Column : size_t { kTid, kPid, kTime, kCpu, kOut, kPreempted, kOtherTid, kOtherPid };

using Type = QueryColumn::Type;
constexpr QueryColumn kColumns[] = {
    {"tid", Type::kInteger, "thread", LimitKind::kTid},
    {"pid", Type::kInteger, "its process; NULL: not known"},
    {"time", Type::kInteger, "nanoseconds of perf's clock; NULL: not recorded", LimitKind::kMoment},
    {"cpu", Type::kInteger, "the CPU; NULL: not recorded"},
    {"out", Type::kInteger, "1: the thread left the CPU; 0: it came"},
    {"preempted", Type::kInteger, "1: it left although it could have gone on"},
    {"other_tid", Type::kInteger, "the thread before or behind it; NULL: not recorded"},
    {"other_pid", Type::kInteger, "the process of that; NULL: not recorded"},
};

QueryValue IdValue(int32_t id) { return id < 0 ? QueryValue() : int64_t{id}; }

QueryValue Cell(const SwitchRecord& record, size_t column) {
  switch (column) {
    case kTid:
      return IdValue(record.tid);
    case kPid:
      return IdValue(record.pid);
    case kTime:
      return record.time == 0 ? QueryValue() : NumberValue(record.time);
    case kCpu:
      return IdValue(record.cpu);
    case kOut:
      return NumberValue(record.out ? 1 : 0);
    case kPreempted:
      return NumberValue(record.preempted ? 1 : 0);
    case kOtherTid:
      return IdValue(record.other_tid);
    default:
      return IdValue(record.other_pid);
  }
}

Result<std::unique_ptr<QueryRows>> OpenSwitches(QuerySource& source, const QueryLimits& limits) {
  const Recording& recording = source.session().recording();
  std::vector<SwitchRecord> rows;
  bool has_any = false;
  for (const SidebandRecord& record : recording.sideband) {
    const auto* const change = std::get_if<SwitchRecord>(&record);
    if (change == nullptr) continue;
    has_any = true;
    const bool is_in = change->time == 0 ||
                       (limits.begin.Contains(change->time) && limits.end.Contains(change->time));
    const bool is_chosen =
        source.session().threads().Wants(change->tid, source.session().options().selection);
    if (is_in && is_chosen && limits.FitsThread(change->tid)) rows.push_back(*change);
  }
  if (has_any) return MakeKeptRows(std::move(rows), Cell);
  Error error(ErrorCode::kUnsupported,
              recording.path +
                  ": context switches were not recorded, so the table switches has "
                  "no rows");
  if (recording.machine.emulated)
    error.Remedy("the table syscalls; an emulating recorder does not see the kernel's switches");
  else
    error.Remedy("record with --switch-events");
  return Fail(std::move(error));
}

}  // namespace

QueryTable switches_table() {
  return {.name = "switches",
          .summary = "when the kernel put threads on CPUs and took them off",
          .columns = kColumns,
          .usual_rows = 1e4,
          .open = OpenSwitches};
}

}  // namespace flowback
