// SPDX-License-Identifier: MIT
// The table losses: the losses in each thread's flow, and those that the recorder reports.
#include <string>
#include <vector>

#include "replay/query/flow_rows.h"

namespace flowback {
namespace {

enum Column : size_t {
  kTid,
  kPid,
  kCause,
  kClass,
  kCount,
  kBegin,
  kEnd,
  kDuration,
  kOffset,
  kBytes,
  kIp,
  kFile,
  kDetail,
  kRemedy
};

using Type = QueryColumn::Type;
constexpr QueryColumn kColumns[] = {
    {"tid", Type::kInteger, "thread; NULL: not known", LimitKind::kTid},
    {"pid", Type::kInteger, "process; NULL: not known"},
    {"cause", Type::kText, "why, as `decode` names it"},
    {"class", Type::kText, "lost: the trace is missing; undecodable: the code to read it with"},
    {"count", Type::kInteger, "how many records, where the recorder lost records; else 1"},
    {"begin", Type::kInteger, "when the flow was lost; NULL: not known", LimitKind::kBegin},
    {"end", Type::kInteger, "when it was found again; NULL: not known", LimitKind::kEnd},
    {"duration", Type::kInteger, "end - begin"},
    {"offset", Type::kInteger, "of the first lost byte in its stream; NULL: in no stream"},
    {"bytes", Type::kInteger, "lost bytes of trace"},
    {"ip", Type::kInteger, "the instruction that came next; NULL: not known"},
    {"file", Type::kText, "the file of its code; NULL: not known"},
    {"detail", Type::kText, "addresses, packet bytes: what helps to find the reason"},
    {"remedy", Type::kText, "what can be done about it"},
};

class LossRows final : public FlowRows {
 public:
  LossRows(QuerySource& source, const QueryLimits& limits) : FlowRows(source, limits) {}

  QueryValue At(size_t column) const override;

 private:
  size_t row_count() const override { return rows_.size(); }
  void ForgetRows() override { rows_.clear(); }
  size_t BeginThread(size_t share) override { return share; }
  bool Wants(const FlowShare& share) const override { return share.losses != 0; }
  bool IsOver() const override { return now() > limits().begin.end; }

  void OnBlock(const BlockRun& run) override { Pass(run); }
  void OnBlocks(const BlockBatch& batch) override { Pass(batch); }
  void OnEvent(const TraceEvent&) override {}
  void OnLoss(const DataLoss& loss) override { rows_.push_back(loss); }

  QueryValue TimeValue(uint64_t tsc) const {
    return tsc == 0 ? QueryValue() : NumberValue(clock().Value(tsc));
  }

  std::vector<DataLoss> rows_;
};

QueryValue LossRows::At(size_t column) const {
  const DataLoss& loss = rows_[row()];
  switch (column) {
    case kTid:
      return flow().tid < 0 ? QueryValue() : int64_t{flow().tid};
    case kPid:
      return flow().pid < 0 ? QueryValue() : int64_t{flow().pid};
    case kCause:
      return Name(loss.cause);
    case kClass:
      return ClassOf(loss.cause) == LossClass::kLost ? "lost" : "undecodable";
    case kCount:
      return NumberValue(loss.count);
    case kBegin:
      return TimeValue(loss.tsc);
    case kEnd:
      return TimeValue(loss.end_tsc);
    case kDuration:
      if (loss.tsc == 0 || loss.end_tsc == 0) return {};
      return NumberValue(clock().Value(std::max(loss.tsc, loss.end_tsc)) - clock().Value(loss.tsc));
    case kOffset:
      return NumberValue(loss.begin);
    case kBytes:
      return NumberValue(loss.bytes());
    case kIp:
      return loss.last_ip == 0 ? QueryValue() : NumberValue(loss.last_ip);
    case kFile:
      return loss.code == nullptr ? QueryValue() : TextValue(loss.code->name());
    case kDetail:
      return TextValue(loss.detail);
    default:
      return Remedy(loss.cause);
  }
}

QueryValue RecorderCell(const RecorderLoss& loss, size_t column) {
  switch (column) {
    case kCause:
      return Name(loss.cause);
    case kClass:
      return ClassOf(loss.cause) == LossClass::kLost ? "lost" : "undecodable";
    case kCount:
      return NumberValue(loss.count);
    case kBytes:
      return int64_t{0};
    case kRemedy:
      return Remedy(loss.cause);
    default:
      return {};
  }
}

// What the flow lacks, then what the recorder says it lost.
class AllLossRows final : public QueryRows {
 public:
  AllLossRows(QuerySource& source, const QueryLimits& limits)
      : flow_(source, limits), recorder_(source.session().recording().losses) {}

  Result<bool> Next() override {
    if (!is_behind_flow_) {
      Result<bool> next = flow_.Next();
      if (!next || *next) return next;
      is_behind_flow_ = true;
    } else {
      ++at_;
    }
    return at_ < recorder_.size();
  }
  QueryValue At(size_t column) const override {
    return is_behind_flow_ ? RecorderCell(recorder_[at_], column) : flow_.At(column);
  }

 private:
  LossRows flow_;
  const std::vector<RecorderLoss>& recorder_;
  bool is_behind_flow_ = false;
  size_t at_ = 0;
};

}  // namespace

QueryTable losses_table() {
  return {.name = "losses",
          .summary = "what is missing, with its cause, its place and what helps",
          .columns = kColumns,
          .usual_rows = 1e4,
          .open = OpenFlowRows<AllLossRows>};
}

}  // namespace flowback
