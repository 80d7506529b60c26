// SPDX-License-Identifier: MIT
// Runs and steps in both directions, and the events when they stop.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/linux/linux_call_names.h"
#include "replay/dap/dap_server.h"

namespace flowback::dap {
namespace {

using Reason = MachineStop::Reason;
using Others = ReplayedMachine::Others;

// A run that takes longer is shown as one that goes on.
constexpr std::chrono::seconds kLongRun(1);

std::string_view NameOf(Breakpoints::Sort sort) {
  switch (sort) {
    case Breakpoints::Sort::kLines:
      return "breakpoint";
    case Breakpoints::Sort::kFunctions:
      return "function breakpoint";
    case Breakpoints::Sort::kInstructions:
      return "instruction breakpoint";
  }
  return "breakpoint";
}

std::string CallName(uint32_t number, CodeMode mode) {
  const LinuxAbi abi = mode == CodeMode::kAArch64  ? LinuxAbi::kAArch64
                       : mode == CodeMode::kX86_64 ? LinuxAbi::kX86_64
                                                   : LinuxAbi::kI386;
  const std::string_view name = LinuxCallName(number, abi);
  return name.empty() ? fmt::format("{}", number) : std::string(name);
}

}  // namespace

StopMarks DapServer::Marks() const {
  StopMarks marks{.addresses = breakpoints_.Addresses(),
                  .losses = stops_at_losses_,
                  .unknown = stops_at_losses_ && opened_->view.IsSampled()};
  if (stops_at_calls_) marks.calls.emplace();
  return marks;
}

// "{hits}", "{thread}", "{time}", "{number}", "{function}" and "{when}" are replaced by what they
// name.
std::string DapServer::LogText(const Breakpoint& breakpoint, size_t thread) {
  const MachineThread at = opened_->view.machine().At(thread);
  const std::vector<std::pair<std::string_view, std::string>> names = {
      {"{hits}", fmt::format("{}", breakpoint.hits)},
      {"{thread}", fmt::format("{}", opened_->view.NumberOf(thread).tid)},
      {"{time}", opened_->view.TimeText(at)},
      {"{number}", fmt::format("{}", at.number)},
      {"{function}", opened_->view.PlaceText(at)},
      {"{when}", opened_->view.WhenText(thread)}};
  std::string text;
  for (std::string_view rest = breakpoint.log; !rest.empty();) {
    const auto name =
        std::ranges::find_if(names, [&](const auto& each) { return rest.starts_with(each.first); });
    if (name == names.end()) {
      text += rest.front();
      rest.remove_prefix(1);
    } else {
      text += name->second;
      rest.remove_prefix(name->first.size());
    }
  }
  return text + "\n";
}

// The thread has come to the address. Whether a breakpoint there stops it.
bool DapServer::Visit(uint64_t address, size_t thread) {
  stopping_.clear();
  size_t hidden = SIZE_MAX;
  for (const auto& [sort, breakpoint] : breakpoints_.At(address)) {
    ++breakpoint->hits;
    if (breakpoint->condition && !breakpoint->condition->Holds(breakpoint->hits)) continue;
    if (breakpoint->log.empty()) {
      stopping_.emplace_back(sort, breakpoint->id);
      const auto inlined = breakpoint->inlined.find(address);
      hidden = std::min(hidden, inlined == breakpoint->inlined.end() ? 0 : inlined->second);
    } else {
      SendEvent("output", {{"category", "console"}, {"output", LogText(*breakpoint, thread)}});
    }
  }
  // A breakpoint of a line that begins with inlined code shows the line.
  if (!stopping_.empty()) opened_->steps.Hide(thread, hidden);
  return !stopping_.empty();
}

// A breakpoint that only prints does not end a run, which goes on from there.
Result<MachineStop> DapServer::RunToStop(const Movement& movement, const KeepOn& keep_on) {
  ReplayedMachine& machine = opened_->view.machine();
  const MachineMoment origin = machine.moment();
  for (;;) {
    Result<MachineStop> stop = movement.move(Marks(), keep_on);
    if (!stop) return stop;
    if (stop->reason == Reason::kInterrupted || !keep_on()) {
      machine.To(origin);
      return MachineStop{.reason = Reason::kInterrupted, .thread = machine.current()};
    }
    if (stop->reason != Reason::kAddress) return stop;
    const uint64_t pc = machine.At(stop->thread).pc;
    const bool is_call = stops_at_calls_ && (stop->call || breakpoints_.At(pc).empty());
    if (Visit(pc, stop->thread) || is_call) return stop;
  }
}

// A step is made first as if there were no breakpoints; then those on its way are visited.
Result<MachineStop> DapServer::StepToStop(const Movement& movement, const KeepOn& keep_on) {
  ReplayedMachine& machine = opened_->view.machine();
  const MachineMoment origin = machine.moment();
  const uint64_t begin = machine.At(*movement.steps).number;
  const StopMarks all = Marks();
  Result<MachineStop> step = movement.move({.losses = all.losses, .unknown = all.unknown}, keep_on);
  if (step && step->reason == Reason::kInterrupted) machine.To(origin);
  const StopMarks marks{.addresses = breakpoints_.Addresses()};
  if (!step || step->reason == Reason::kInterrupted || marks.empty()) return step;
  const MachineMoment last = machine.moment();
  machine.To(origin);
  const bool forward = movement.direction == Direction::kForward;
  for (;;) {
    const MachineStop stop = machine.Continue(movement.direction, marks, std::nullopt, keep_on);
    if (stop.reason == Reason::kInterrupted) {
      machine.To(origin);
      return stop;
    }
    const bool is_behind = forward ? last < machine.moment() : machine.moment() < last;
    if (stop.reason != Reason::kAddress || is_behind) break;
    const MachineThread at = machine.At(stop.thread);
    // The place that the step begins at is no visit.
    if (stop.thread == *movement.steps && at.number == begin) continue;
    if (Visit(at.pc, stop.thread)) return stop;
  }
  machine.To(last);
  return step;
}

// Reports the progress of a long run to the client, now and then.
void DapServer::TellProgress(Clock::time_point begin, Clock::time_point& told) {
  const auto now = Clock::now();
  if (!shows_progress_ || now - told < kLongRun) return;
  told = now;
  if (progress_.empty()) {
    progress_ = fmt::format("run-{}", next_progress_++);
    return SendEvent("progressStart", {{"progressId", progress_},
                                       {"title", "Searching the recording"},
                                       {"requestId", current_},
                                       {"cancellable", true}});
  }
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now - begin);
  SendEvent("progressUpdate",
            {{"progressId", progress_}, {"message", fmt::format("{} s", seconds.count())}});
}

DapServer::Answer DapServer::Run(Json body, Movement movement) {
  Forget();
  was_interrupted_ = false;
  return {.body = std::move(body), .then = [this, movement = std::move(movement)] {
            const auto begin = Clock::now();
            auto told = begin;
            const KeepOn keep_on = [&] {
              TellProgress(begin, told);
              return !keep_on_ || keep_on_();
            };
            const Result<MachineStop> stop =
                movement.steps ? StepToStop(movement, keep_on) : RunToStop(movement, keep_on);
            if (!progress_.empty()) SendEvent("progressEnd", {{"progressId", progress_}});
            progress_.clear();
            if (stop) return TellStop(*stop);
            Complain(stop.error().message());
            Stopped("error", opened_->view.machine().current(), stop.error().message());
          }};
}

void DapServer::Stopped(std::string_view reason, size_t thread, const std::string& description,
                        Json body) {
  TellChanges();
  body["reason"] = reason;
  body["threadId"] = opened_->view.NumberOf(thread).tid;
  body["allThreadsStopped"] = true;
  body["description"] = description;
  SendEvent("stopped", std::move(body));
}

// The thread is at a breakpoint, or before a system call.
void DapServer::TellVisit(const MachineStop& stop) {
  const MachineThread at = opened_->view.machine().At(stop.thread);
  Json ids = Json::array();
  std::string_view reason = "system call";
  for (const auto& [sort, id] : stopping_) {
    ids.push_back(id);
    reason = NameOf(sort);
  }
  std::string description = opened_->view.WhenText(stop.thread);
  if (ids.empty() && stop.call)
    description = fmt::format("before the call {}: {}", CallName(*stop.call, at.instruction.mode),
                              description);
  Stopped(reason, stop.thread, description, {{"hitBreakpointIds", ids}});
}

void DapServer::TellStop(const MachineStop& stop) {
  const gdb::MachineView& view = opened_->view;
  const size_t thread = stop.thread;
  if (stop.loss && stop.reason != Reason::kLoss) Complain(view.LossText(*stop.loss));
  if (stop.unknown) Complain("what ran between here and there was not recorded");
  switch (stop.reason) {
    case Reason::kStep:
      return Stopped("step", thread, view.WhenText(thread));
    case Reason::kAddress:
      return TellVisit(stop);
    case Reason::kLoss: {
      const std::string text = stop.loss ? view.LossText(*stop.loss) : "flow is missing here";
      Complain(text);
      return Stopped("loss", thread, "flow is missing here", {{"text", text}});
    }
    case Reason::kUnknown:
      return Stopped("unknown", thread, "what ran between two samples is not known");
    case Reason::kEvent:
    case Reason::kMilestone:
      return Stopped("event", thread, view.WhenText(thread));
    case Reason::kBegin:
      return Stopped(
          "begin", thread,
          stop.of_thread ? "at the begin of the thread's flow" : "at the begin of the recording");
    case Reason::kEnd:
      if (view.KilledBy(thread)) return Stopped("exception", thread, view.WhenText(thread));
      return Stopped(
          "end", thread,
          stop.of_thread ? "at the end of the thread's flow" : "at the end of the recording");
    case Reason::kInterrupted:
      was_interrupted_ = true;
      return Stopped("pause", thread, "interrupted: back where the run began");
  }
}

Result<DapServer::Answer> DapServer::RunThread(const Json& arguments, Direction direction) {
  const Result<size_t> thread = ThreadIn(arguments);
  if (!thread) return Fail(thread.error());
  const bool alone = FlagIn(arguments, "singleThread");
  const std::optional<size_t> only = alone ? std::optional(*thread) : std::nullopt;
  return Run({{"allThreadsContinued", !alone}},
             {.move =
                  [this, direction, only](const StopMarks& marks, const KeepOn& keep_on) {
                    opened_->steps.HideNothing();
                    return opened_->view.machine().Continue(direction, marks, only, keep_on);
                  },
              .direction = direction});
}

Result<DapServer::Answer> DapServer::ContinueOn(const Json& arguments) {
  return RunThread(arguments, Direction::kForward);
}
Result<DapServer::Answer> DapServer::ContinueBack(const Json& arguments) {
  return RunThread(arguments, Direction::kBackward);
}

Result<DapServer::Answer> DapServer::StepThread(const Json& arguments, CallsOnTheWay calls) {
  const Result<size_t> thread = ThreadIn(arguments);
  if (!thread) return Fail(thread.error());
  const bool by_instruction = TextIn(arguments, "granularity") == "instruction";
  return Run(nullptr,
             {.move = [this, calls, by_instruction, of = *thread](
                          const StopMarks& marks, const KeepOn& keep_on) -> Result<MachineStop> {
                if (by_instruction) return opened_->steps.Instruction(of, calls, marks, keep_on);
                return opened_->steps.Next(of, calls, marks, keep_on);
              },
              .direction = Direction::kForward,
              .steps = *thread});
}

Result<DapServer::Answer> DapServer::Next(const Json& arguments) {
  return StepThread(arguments, CallsOnTheWay::kOver);
}
Result<DapServer::Answer> DapServer::StepIn(const Json& arguments) {
  return StepThread(arguments, CallsOnTheWay::kInto);
}

Result<DapServer::Answer> DapServer::StepOut(const Json& arguments) {
  const Result<size_t> thread = ThreadIn(arguments);
  if (!thread) return Fail(thread.error());
  return Run(nullptr, {.move =
                           [this, of = *thread](const StopMarks& marks, const KeepOn& keep_on) {
                             return opened_->steps.Out(of, marks, keep_on);
                           },
                       .direction = Direction::kForward,
                       .steps = *thread});
}

Result<DapServer::Answer> DapServer::StepBack(const Json& arguments) {
  const Result<size_t> thread = ThreadIn(arguments);
  if (!thread) return Fail(thread.error());
  const bool by_instruction = TextIn(arguments, "granularity") == "instruction";
  return Run(nullptr,
             {.move = [this, by_instruction, of = *thread](
                          const StopMarks& marks, const KeepOn& keep_on) -> Result<MachineStop> {
                if (by_instruction)
                  return opened_->view.machine().Step(of, Direction::kBackward, marks, keep_on,
                                                      Others::kMayStop);
                return opened_->steps.Back(of, marks, keep_on);
              },
              .direction = Direction::kBackward,
              .steps = *thread});
}

// A run has ended, with its event, by the time of this answer.
Result<DapServer::Answer> DapServer::Pause(const Json& /*arguments*/) {
  const bool told = std::exchange(was_interrupted_, false);
  return Answer{.then = [this, told] {
    if (!told) Stopped("pause", opened_->view.machine().current(), "nothing runs");
  }};
}

Result<DapServer::Answer> DapServer::GoToTargets(const Json& arguments) {
  targets_.clear();
  const AddressSpace* space = Space();
  const uint32_t line = LineIn(arguments);
  const auto code =
      space == nullptr
          ? std::nullopt
          : opened_->places.OfLine(*space, TextIn(MemberOf(arguments, "source"), "path"), line);
  Json told = Json::array();
  if (!code) return Answer{.body = {{"targets", told}}};
  for (const Direction direction : {Direction::kForward, Direction::kBackward}) {
    const bool forward = direction == Direction::kForward;
    told.push_back({{"id", targets_.size()},
                    {"label", fmt::format("line {}, {}", code->line,
                                          forward ? "the next time" : "the last time before")},
                    {"line", code->line - (lines_from_1_ ? 0 : 1)}});
    targets_.push_back({.addresses = code->addresses, .line = code->line, .direction = direction});
  }
  return Answer{.body = {{"targets", told}}};
}

Result<DapServer::Answer> DapServer::GoTo(const Json& arguments) {
  const Result<size_t> thread = ThreadIn(arguments);
  if (!thread) return Fail(thread.error());
  const int64_t id = NumberIn(arguments, "targetId", -1);
  if (id < 0 || static_cast<size_t>(id) >= targets_.size())
    return Fail(ErrorCode::kUsage, fmt::format("there is no target {}", id));
  const Target target = targets_[static_cast<size_t>(id)];
  ReplayedMachine& machine = opened_->view.machine();
  const MachineMoment before = machine.moment();
  const MachineStop stop =
      machine.Continue(target.direction, {.addresses = target.addresses}, *thread, keep_on_);
  if (stop.reason != Reason::kAddress) {
    machine.To(before);
    if (stop.reason == Reason::kInterrupted) return Fail(ErrorCode::kUsage, "cancelled");
    return Fail(ErrorCode::kUsage,
                fmt::format("the thread does not come to line {} {}", target.line,
                            target.direction == Direction::kForward ? "again" : "before"));
  }
  Forget();
  opened_->steps.HideNothing();
  return Answer{.then = [this, of = *thread] { Stopped("goto", of, opened_->view.WhenText(of)); }};
}

}  // namespace flowback::dap
