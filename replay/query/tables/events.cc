// SPDX-License-Identifier: MIT
// The table events: what happened between instructions, as `decode --as events` lists it.
#include <vector>

#include "replay/query/flow_rows.h"

namespace flowback {
namespace {

enum Column : size_t {
  kTid,
  kPid,
  kCpu,
  kEvent,
  kTime,
  kTimeLo,
  kTimeHi,
  kIp,
  kTarget,
  kValue,
  kExtra,
  kOffset
};

using Type = QueryColumn::Type;
constexpr QueryColumn kColumns[] = {
    {"tid", Type::kInteger, "thread; NULL: not known", LimitKind::kTid},
    {"pid", Type::kInteger, "process; NULL: not known"},
    {"cpu", Type::kInteger, "the CPU of the trace; NULL: not bound to one"},
    {"event", Type::kText, "its name, as `decode --as events` prints it"},
    {"time", Type::kInteger, "when it happened; NULL: not known", LimitKind::kMoment},
    {"time_lo", Type::kInteger, "the trace proves time_lo <= time <= time_hi"},
    {"time_hi", Type::kInteger, "see time_lo"},
    {"ip", Type::kInteger, "the instruction that it belongs to; NULL: not known"},
    {"target", Type::kInteger, "where control goes; NULL: nowhere else"},
    {"value", Type::kInteger, "what the packet says; `flowback help events` lists it"},
    {"extra", Type::kInteger, "what else it says"},
    {"offset", Type::kInteger, "of the packet, in bytes of its stream"},
};

class EventRows final : public FlowRows {
 public:
  using FlowRows::FlowRows;

  QueryValue At(size_t column) const override;

 private:
  struct Row {
    TraceEvent event;
    int32_t cpu = -1;
  };

  size_t row_count() const override { return rows_.size(); }
  void ForgetRows() override { rows_.clear(); }
  size_t BeginThread(size_t share) override { return share; }
  bool Wants(const FlowShare& share) const override { return share.events != 0; }
  bool IsOver() const override { return now() > limits().end.end; }

  void OnBlock(const BlockRun& run) override { Pass(run); }
  void OnBlocks(const BlockBatch& batch) override { Pass(batch); }
  void OnLoss(const DataLoss&) override {}
  void OnEvent(const TraceEvent& event) override { rows_.push_back({event, share().stream->cpu}); }

  std::vector<Row> rows_;
};

QueryValue EventRows::At(size_t column) const {
  const TraceEvent& event = rows_[row()].event;
  const int32_t cpu = rows_[row()].cpu;
  switch (column) {
    case kTid:
      return flow().tid < 0 ? QueryValue() : int64_t{flow().tid};
    case kPid:
      return flow().pid < 0 ? QueryValue() : int64_t{flow().pid};
    case kCpu:
      return cpu < 0 ? QueryValue() : int64_t{cpu};
    case kEvent:
      return Name(event.kind);
    case kTime:
      return event.tsc == 0 ? QueryValue() : NumberValue(clock().Value(event.tsc));
    case kTimeLo:
      return event.bounds.lo == 0 ? QueryValue() : NumberValue(clock().Value(event.bounds.lo));
    case kTimeHi:
      return event.bounds.hi == 0 ? QueryValue() : NumberValue(clock().UpperValue(event.bounds.hi));
    case kIp:
      return event.has_ip || event.ip != 0 ? NumberValue(event.ip) : QueryValue();
    case kTarget:
      return event.target == 0 ? QueryValue() : NumberValue(event.target);
    case kValue:
      return NumberValue(event.value);
    case kExtra:
      return NumberValue(event.extra);
    default:
      return NumberValue(event.offset);
  }
}

}  // namespace

QueryTable events_table() {
  return {.name = "events",
          .summary = "what happened between instructions: tracing began, an interrupt, a PTWRITE",
          .columns = kColumns,
          .usual_rows = 1e5,
          .open = OpenFlowRows<EventRows>};
}

}  // namespace flowback
