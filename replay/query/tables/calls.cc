// SPDX-License-Identifier: MIT
// The table calls: each call, behind its end.
#include <vector>

#include "replay/calls/call_words.h"
#include "replay/query/stack_rows.h"

namespace flowback {
namespace {

enum Column : size_t {
  kTid,
  kPid,
  kFunction,
  kBegin,
  kEnd,
  kDuration,
  kDepth,
  kCaller,
  kInstructions,
  kSelf,
  kFirst,
  kIp,
  kSite,
  kEntry,
  kExit,
  kBeginLo,
  kBeginHi,
  kEndLo,
  kEndHi
};

using Type = QueryColumn::Type;
constexpr QueryColumn kColumns[] = {
    {"tid", Type::kInteger, "thread; NULL: not known", LimitKind::kTid},
    {"pid", Type::kInteger, "process; NULL: not known"},
    {"function", Type::kText, "the function, as timeline names it", LimitKind::kFunction},
    {"begin", Type::kInteger, "when it was entered, or first seen; NULL: not known",
     LimitKind::kBegin},
    {"end", Type::kInteger, "when it was left, or last seen; NULL: not known", LimitKind::kEnd},
    {"duration", Type::kInteger, "end - begin"},
    {"depth", Type::kInteger, "the number of calls around it that are known"},
    {"caller", Type::kText, "the function of the call around it; NULL: not known"},
    {"instructions", Type::kInteger, "that it executed, with what it called"},
    {"self_instructions", Type::kInteger, "that it executed itself"},
    {"first_instruction", Type::kInteger, "instructions of the thread before its entry"},
    {"ip", Type::kInteger, "address of its first instruction"},
    {"site", Type::kInteger, "address of the call; NULL: it was not seen"},
    {"entry", Type::kText, "call, tail-call, running, returned-to, handler or new-stack"},
    {"exit", Type::kText, "return, tail-call, unwound, lost, replaced, trace-end or paused"},
    {"begin_lo", Type::kInteger, "the trace proves begin_lo <= begin <= begin_hi"},
    {"begin_hi", Type::kInteger, "see begin_lo"},
    {"end_lo", Type::kInteger, "the trace proves end_lo <= end <= end_hi"},
    {"end_hi", Type::kInteger, "see end_lo"},
};

class CallRows final : public StackRows {
 public:
  using StackRows::StackRows;

  QueryValue At(size_t column) const override;

 private:
  struct Row {
    Call call;
    ExitTime end;
    uint64_t instructions = 0;
    size_t depth = 0;
    CallExit exit{};
    uint32_t function = 0;
    uint32_t caller = CallPath::kNoFunction;
  };

  size_t row_count() const override { return rows_.size(); }
  void ForgetRows() override { rows_.clear(); }
  size_t BeginThread(size_t share) override;
  bool IsOver() const override;

  void OnEnter(const Call& call, size_t depth) override;
  void OnExit(const Call& call, size_t depth, CallExit how, uint64_t instructions,
              const ExitTime& time) override;
  void OnGap(const UntracedGap&, size_t) override {}

  std::vector<Row> rows_;
  // Calls that begin in the limits and have not ended.
  uint64_t open_ = 0;
  bool knows_open_ = true;
};

// If the rows begin in the middle, calls that began before are open there, and not all about them
// is known (KeptStacks::GoTo). So a query that reads such columns begins with the thread, unless it
// asks for calls that begin later.
size_t CallRows::BeginThread(size_t share) {
  open_ = 0;
  const bool asks_for_begun = limits().begin.begin != 0;
  const bool reads_all = limits().Reads(kSelf) || limits().Reads(kSite) || limits().Reads(kEntry);
  const size_t first = Follow(share, asks_for_begun || !reads_all);
  knows_open_ = first == 0 || asks_for_begun;
  return first;
}

bool CallRows::IsOver() const {
  if (now() > limits().end.end) return true;
  return now() > limits().begin.end && knows_open_ && open_ == 0;
}

void CallRows::OnEnter(const Call& call, size_t) {
  if (FitsBegin(call.tsc)) ++open_;
}

void CallRows::OnExit(const Call& call, size_t depth, CallExit how, uint64_t instructions,
                      const ExitTime& time) {
  if (!FitsBegin(call.tsc)) return;
  if (open_ > 0) --open_;
  if (!FitsEnd(time.tsc)) return;
  Row row{.call = call, .end = time, .instructions = instructions, .depth = depth, .exit = how};
  FunctionTable& functions = source().functions();
  row.function = functions.NumberOf(call);
  if (!FitsFunction(row.function)) return;
  if (depth > 0 && limits().Reads(kCaller) && stack().calls().size() >= depth)
    row.caller = functions.NumberOf(stack().calls()[depth - 1]);
  rows_.push_back(row);
}

QueryValue CallRows::At(size_t column) const {
  const Row& row = rows_[this->row()];
  const Call& call = row.call;
  switch (column) {
    case kTid:
      return TidValue();
    case kPid:
      return PidValue();
    case kFunction:
      return NameOf(row.function);
    case kBegin:
      return TimeValue(call.tsc);
    case kEnd:
      return TimeValue(row.end.tsc);
    case kDuration:
      return DurationValue(call.tsc, row.end.tsc);
    case kDepth:
      return NumberValue(row.depth);
    case kCaller:
      return NameOf(row.caller);
    case kInstructions:
      return NumberValue(row.instructions);
    case kSelf:
      return NumberValue(call.self);
    case kFirst:
      return NumberValue(call.instructions_before);
    case kIp:
      return NumberValue(call.entry_ip);
    case kSite:
      return call.site == 0 ? QueryValue() : NumberValue(call.site);
    case kEntry:
      return CallEntryWord(call.entry);
    case kExit:
      return CallExitWord(row.exit);
    case kBeginLo:
      return TimeValue(call.bounds.lo);
    case kBeginHi:
      return UpperTimeValue(call.bounds.hi);
    case kEndLo:
      return TimeValue(row.end.bounds.lo);
    default:
      return UpperTimeValue(row.end.bounds.hi);
  }
}

Result<std::unique_ptr<QueryRows>> OpenCalls(QuerySource& source, const QueryLimits& limits) {
  if (Status whole = source.CheckWholeFlow("calls"); !whole) return Fail(whole.error());
  return OpenFlowRows<CallRows>(source, limits);
}

}  // namespace

QueryTable calls_table() {
  return {.name = "calls",
          .summary =
              "each call of a function that ended or was open at the end, in the order of the ends",
          .columns = kColumns,
          .usual_rows = 1e7,
          .open = OpenCalls};
}

}  // namespace flowback
