// SPDX-License-Identifier: MIT
// The table syscalls: each system call of code that is traced in user space.
#include <vector>

#include "replay/calls/call_words.h"
#include "replay/query/stack_rows.h"

namespace flowback {
namespace {

enum Column : size_t {
  kTid,
  kPid,
  kName,
  kNumber,
  kBegin,
  kEnd,
  kDuration,
  kFunction,
  kDepth,
  kIp,
  kResumed
};

using Type = QueryColumn::Type;
constexpr QueryColumn kColumns[] = {
    {"tid", Type::kInteger, "thread; NULL: not known", LimitKind::kTid},
    {"pid", Type::kInteger, "process; NULL: not known"},
    {"name", Type::kText, "Linux's name of the call; NULL: the code does not prove which it is"},
    {"number", Type::kInteger, "its number; NULL: as name"},
    {"begin", Type::kInteger, "when the thread entered the kernel", LimitKind::kBegin},
    {"end", Type::kInteger, "when it came back; NULL: it did not, or that is not known",
     LimitKind::kEnd},
    {"duration", Type::kInteger, "end - begin: in the kernel, or off the CPU"},
    {"function", Type::kText, "the function that made the call", LimitKind::kFunction},
    {"depth", Type::kInteger, "the number of calls that the thread is in"},
    {"ip", Type::kInteger, "address of the instruction"},
    {"resumed", Type::kInteger, "1: the thread came back"},
};

class SyscallRows final : public StackRows {
 public:
  using StackRows::StackRows;

  QueryValue At(size_t column) const override;

 private:
  struct Row {
    UntracedGap gap;
    size_t depth = 0;
    uint32_t function = CallPath::kNoFunction;
  };

  size_t row_count() const override { return rows_.size(); }
  void ForgetRows() override { rows_.clear(); }
  size_t BeginThread(size_t share) override { return Follow(share, true); }
  // A call is reported when the thread has come back from it, so none is open then.
  bool IsOver() const override { return now() > limits().end.end || now() > limits().begin.end; }

  bool WantsCallNumbers() const override {
    return limits().Reads(kName) || limits().Reads(kNumber);
  }
  void OnEnter(const Call&, size_t) override {}
  void OnExit(const Call&, size_t, CallExit, uint64_t, const ExitTime&) override {}
  void OnGap(const UntracedGap& gap, size_t depth) override;

  std::vector<Row> rows_;
};

void SyscallRows::OnGap(const UntracedGap& gap, size_t depth) {
  if (gap.cause != UntracedGap::Cause::kSystemCall) return;
  if (!FitsBegin(gap.begin_tsc) || !FitsEnd(gap.end_tsc)) return;
  Row row{.gap = gap, .depth = depth};
  const std::vector<Call>& calls = stack().calls();
  if (!calls.empty()) row.function = source().functions().NumberOf(calls.back());
  if (FitsFunction(row.function)) rows_.push_back(row);
}

QueryValue SyscallRows::At(size_t column) const {
  const Row& row = rows_[this->row()];
  const UntracedGap& gap = row.gap;
  switch (column) {
    case kTid:
      return TidValue();
    case kPid:
      return PidValue();
    case kName:
      return TextValue(NameOfCall(gap));
    case kNumber:
      return gap.call_number ? NumberValue(*gap.call_number) : QueryValue();
    case kBegin:
      return TimeValue(gap.begin_tsc);
    case kEnd:
      return TimeValue(gap.end_tsc);
    case kDuration:
      return DurationValue(gap.begin_tsc, gap.end_tsc);
    case kFunction:
      return NameOf(row.function);
    case kDepth:
      return NumberValue(row.depth);
    case kIp:
      return NumberValue(gap.site);
    default:
      return NumberValue(gap.came_back ? 1 : 0);
  }
}

Result<std::unique_ptr<QueryRows>> OpenSyscalls(QuerySource& source, const QueryLimits& limits) {
  if (Status whole = source.CheckWholeFlow("system calls"); !whole) return Fail(whole.error());
  return OpenFlowRows<SyscallRows>(source, limits);
}

}  // namespace

QueryTable syscalls_table() {
  return {.name = "syscalls",
          .summary = "each system call that the flow of user code enters",
          .columns = kColumns,
          .usual_rows = 1e5,
          .open = OpenSyscalls};
}

}  // namespace flowback
