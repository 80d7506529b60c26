// SPDX-License-Identifier: MIT
#include "replay/writers/calls/exported_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <utility>

#include "flowback/replay/player.h"
#include "replay/writers/calls/calls_cut.h"
#include "replay/writers/text/printable.h"

namespace flowback {

std::string ExportedName(std::string_view text, uint32_t number) {
  std::string name = Printable(text);
  if (name.size() <= kMostName) return name;
  const std::string end = fmt::format("... [{} bytes, {}]", name.size(), number);
  size_t kept = kMostName - end.size();
  while ((static_cast<uint8_t>(name[kept]) & 0xc0) == 0x80) --kept;  // within a character
  name.resize(kept);
  return name + end;
}

namespace {

std::unique_ptr<CallsTeller> CutOf(const CallsPart& part,
                                   const std::vector<ExportedFunction>& functions,
                                   CallsTeller& teller) {
  const bool is_all = part.span.begin == 0 && part.span.end == UINT64_MAX && !part.matches &&
                      part.min_duration == 0 && part.max_depth == SIZE_MAX && !part.calls_only;
  return is_all ? nullptr : std::make_unique<CallsCut>(part, functions, teller);
}

}  // namespace

ExportedCalls::ExportedCalls(const CallsExport& input, CallsTeller& teller)
    : session_(input.session),
      part_(input.part),
      calls_part_(input.calls),
      cut_(CutOf(calls_part_, shown_, teller)),
      teller_(cut_ ? *cut_ : teller),
      functions_(
          session_.symbols(),
          [this](const std::string& file) { return std::string(session_.RecordedPath(file)); }),
      clock_(session_.recording()) {}

Status ExportedCalls::Tell() {
  if (session_.source().samples())
    return Fail(Error(ErrorCode::kUnsupported,
                      session_.recording().path + ": has samples, and what was called between them "
                                                  "is not known")
                    .Remedy("--to brstack or --to folded; for all calls record with `flowback "
                            "record -- CMD`"));
  const std::optional<TimeSpan> span = session_.Span();
  begin_ = span ? span->begin : 0;
  if (part_.IsAll()) return session_.PlayAccounted(*this);
  session_.AddKnownLosses();
  FlowCut cut(*this, part_, &session_.losses());
  return session_.Play(*part_.thread, cut);
}

// Estimates may overlap by some ticks; each begins behind the one before.
void ExportedCalls::OnAbsence(const Absence& absence) {
  Absence rest = absence;
  rest.begin = std::max(rest.begin, absent_until_);
  if (rest.begin >= rest.end) return;
  absent_until_ = rest.end;
  teller_.OnAbsence(rest);
}

void ExportedCalls::OnThreadBegin(const ThreadFlow& thread, size_t) {
  stack_.reset();
  open_.clear();
  waiting_.clear();
  on_ = 0;
  instructions_ = calls_ = absent_until_ = 0;
  time_ = told_ = begin_;
  execs_.emplace(session_.recording(), clock_, thread.pid);
  stack_.emplace(session_.functions(), static_cast<CallListener&>(*this));
  stack_->LookForExec(execs_->AsFunction());
  stack_->LookForPauses(session_.recording().machine);
  const Threads& threads = session_.threads();
  teller_.OnThread({.number = threads_++,
                    .pid = thread.pid,
                    .tid = thread.tid,
                    .name = Printable(threads.CommAt(thread.tid, 0).comm),
                    .process = Printable(threads.CommAt(thread.pid, 0).comm)});
}

void ExportedCalls::OnThreadEnd(const ThreadFlow&, size_t) {
  instructions_ = stack_->instructions();
  stack_->Finish();
  teller_.OnThreadEnd(time_);
  stack_.reset();
}

void ExportedCalls::OnBlock(const BlockRun& run) {
  stack_->OnBlock(run);
  Know(run.tsc);
}

void ExportedCalls::OnBlocks(const BlockBatch& batch) {
  stack_->OnBlocks(batch);
  Know(batch.last_tsc());
}

void ExportedCalls::OnEvent(const TraceEvent& event) {
  stack_->OnEvent(event);
  Know(event.tsc);
}

void ExportedCalls::OnLoss(const DataLoss& loss) {
  Know(loss.tsc);
  told_ = time_;
  teller_.OnLoss(Name(loss.cause), time_);
  stack_->OnLoss(loss);
  Know(loss.end_tsc);
}

// Estimated times may lie some ticks before the last one.
void ExportedCalls::Know(uint64_t tsc) {
  if (tsc != 0) time_ = std::max(time_, clock_.Value(tsc));
}

void ExportedCalls::Show() {
  for (size_t i = shown_.size(); i < functions_.all().size(); ++i) {
    const TimelineFunction& function = functions_.all()[i];
    const auto number = static_cast<uint32_t>(i);
    shown_.push_back({.name = ExportedName(function.name, number),
                      .object = ExportedName(function.file, number),
                      .entry_ip = function.entry_ip,
                      .space = function.space,
                      .is_system_call = function.is_system_call});
  }
}

void ExportedCalls::OnEnter(const Call& call, size_t) {
  Know(call.tsc);
  // A jump in the caller's place is not in the caller.
  const uint64_t site = call.entry == CallEntry::kCall ? call.site : 0;
  open_.push_back({functions_.NumberOf(call), time_, site, call.space, calls_++});
  Show();
  told_ = time_;
  teller_.OnEnter({.function = open_.back().function,
                   .time = time_,
                   .site = site,
                   .space = call.space,
                   .call = open_.back().call,
                   .position = call.instructions_before});
}

void ExportedCalls::OnExit(const Call& call, size_t, CallExit, uint64_t instructions,
                           const ExitTime& time) {
  Know(time.tsc);
  const Open open = open_.back();
  open_.pop_back();
  told_ = time_;
  teller_.OnExit({.function = open.function,
                  .time = time_,
                  .begin = open.begin,
                  .instructions = instructions,
                  .self = call.self,
                  .position = std::max(stack_->instructions(), instructions_)});
}

// The gap is known when the flow goes on, and its begin lies behind all that was told.
void ExportedCalls::OnGap(const UntracedGap& gap, size_t) {
  Know(gap.end_tsc);
  if (gap.cause != UntracedGap::Cause::kSystemCall || open_.empty()) return;
  // A call that the thread does not come back from lasts as long as the thread is known to live.
  if (!gap.came_back) time_ = std::max(time_, absent_until_);
  const uint32_t function = functions_.NumberOfSystemCall(gap);
  Show();
  const uint64_t begin =
      gap.begin_tsc == 0 ? time_ : std::clamp(clock_.Value(gap.begin_tsc), told_, time_);
  const uint64_t position = std::max(stack_->instructions(), instructions_);
  teller_.OnEnter({.function = function,
                   .time = begin,
                   .site = gap.site,
                   .space = gap.space,
                   .call = calls_++,
                   .position = position});
  told_ = time_;
  teller_.OnExit({.function = function, .time = time_, .begin = begin, .position = position});
}

void ExportedCalls::OnSwitch(uint32_t stack) {
  told_ = time_;
  for (const Open& open : open_ | std::views::reverse)
    teller_.OnExit(
        {.function = open.function, .time = time_, .goes_on = true, .begin = open.begin});
  if (!open_.empty()) waiting_[on_] = std::exchange(open_, {});
  on_ = stack;
  if (const auto known = waiting_.find(stack); known != waiting_.end()) {
    open_ = std::move(known->second);
    waiting_.erase(known);
  }
  for (const Open& open : open_)
    teller_.OnEnter({.function = open.function,
                     .time = time_,
                     .again = true,
                     .site = open.site,
                     .space = open.space,
                     .call = open.call,
                     .position = stack_->instructions()});
}

}  // namespace flowback
