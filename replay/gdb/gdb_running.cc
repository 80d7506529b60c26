// SPDX-License-Identifier: MIT
// Steps and runs in both directions, and the replies when they stop.
#include <fmt/format.h>
#include <signal.h>

#include <chrono>
#include <utility>

#include "replay/gdb/gdb_server.h"
#include "replay/gdb/gdb_signals.h"

namespace flowback::gdb {

using Reason = MachineStop::Reason;
using Others = ReplayedMachine::Others;

StopMarks GdbServer::Marks() const {
  StopMarks marks{.losses = !passes_losses_,
                  .unknown = !passes_unknown_ && view_.IsSampled(),
                  .calls = calls_,
                  .milestones = milestones_};
  for (const auto& [sort, address] : breakpoints_) marks.addresses.push_back(address);
  std::ranges::sort(marks.addresses);
  if (!events_.empty())
    marks.events = [this](const TraceEvent& event) { return events_.contains(event.kind); };
  return marks;
}

std::string GdbServer::StopText(const MachineStop& stop) {
  constexpr int kTrap = 5;
  const MachineThread at = view_.machine().At(stop.thread);
  const bool software = breakpoints_.contains({'0', at.pc});
  const bool hardware = !software && breakpoints_.contains({'1', at.pc});
  const bool is_exec = stop.milestone == MilestoneKind::kProgram;
  // The end where the thread died is reported as its signal first.
  const auto death = stop.reason == Reason::kEnd && !death_told_ ? view_.DiesHereOf(stop.thread, at)
                                                                 : std::nullopt;
  death_told_ = death.has_value();
  int signal = death ? GdbSignal(*death) : kTrap;
  if (stop.reason == Reason::kInterrupted) signal = GdbSignal(SIGINT);
  // A loss is no signal: gdb says that the thread stopped.
  const bool is_gap = stop.reason == Reason::kLoss || stop.reason == Reason::kUnknown;
  const bool is_call = stop.reason == Reason::kAddress && !stop.call;  // or at a breakpoint
  const bool no_signal = is_gap || is_call || stop.reason == Reason::kEvent ||
                         (stop.reason == Reason::kMilestone && !is_exec);
  if (no_signal && !software && !hardware) signal = 0;
  std::string text = fmt::format("T{:02x}", signal);
  // Behind an exec, gdb has yet to ask which registers there are.
  for (size_t number = 0; number < registers_.size() && !is_exec; ++number)
    if (view_.values().Register(at, registers_[number].name))
      text += fmt::format("{:x}:{};", number, RegisterText(registers_[number], at));
  text += "thread:" + IdText(stop.thread) + ";";
  if (at.cpu >= 0) text += fmt::format("core:{:x};", at.cpu);
  if (stop.call && !software && !hardware) text += fmt::format("syscall_entry:{:x};", *stop.call);
  text += MilestoneText(stop);
  if (is_lldb_ && !death) text += LldbReason(stop);
  if (stop.reason == Reason::kBegin) text += "replaylog:begin;";
  if (stop.reason == Reason::kEnd && !death) text += "replaylog:end;";
  const bool at_mark = is_gap || stop.reason == Reason::kAddress ||
                       stop.reason == Reason::kMilestone || stop.reason == Reason::kEvent;
  if (at_mark && software && software_breaks_) text += "swbreak:;";
  if (at_mark && hardware && hardware_breaks_) text += "hwbreak:;";
  return text;
}

// A process has the registers of the program that it is.
void GdbServer::TakeMode() {
  mode_ = view_.machine().At(view_.machine().current()).instruction.mode;
  registers_ = RegistersOf(mode_);
}

// gdb then reads the symbols of the program that the process is there, also going back.
std::string GdbServer::MilestoneText(const MachineStop& stop) const {
  if (stop.milestone != MilestoneKind::kProgram || !exec_events_) return {};
  return "exec:" + HexOf(view_.ProgramFile()) + ";";
}

// What gdb has no words for, a sentence each.
std::vector<std::string> GdbServer::Remarks(const MachineStop& stop) const {
  std::vector<std::string> remarks;
  const auto say = [&](std::string text) { remarks.push_back(std::move(text)); };
  const int64_t tid = view_.NumberOf(stop.thread).tid;
  if (stop.loss) say(view_.LossText(*stop.loss));
  if (stop.unknown) say("what ran between here and there was not recorded");
  const uint64_t pc = view_.machine().At(stop.thread).pc;
  if (stop.reason == Reason::kAddress && !stop.call && !breakpoints_.contains({'0', pc}) &&
      !breakpoints_.contains({'1', pc}))
    say("a system call; the code does not prove which one");
  if (stop.reason == Reason::kEvent && stop.event) say(view_.EventText(*stop.event));
  if (stop.milestone == MilestoneKind::kThreadBegin) say(fmt::format("thread {} begins here", tid));
  if (stop.milestone == MilestoneKind::kThreadEnd) say(fmt::format("thread {} ends here", tid));
  if (stop.of_thread && view_.machine().size() > 1)
    say(fmt::format("the flow of thread {} {} here; other threads may {}", tid,
                    stop.reason == Reason::kEnd ? "ends" : "begins",
                    stop.reason == Reason::kEnd ? "go on" : "have begun before"));
  if (stop.reason == Reason::kInterrupted) say("interrupted: back where the run began");
  return remarks;
}

Replies GdbServer::Stopped(const MachineStop& stop) {
  general_ = stop.thread;
  if (stop.milestone == MilestoneKind::kProgram) TakeMode();
  exec_by_step_ = false;
  asked_for_.reset();
  ends_told_ = 0;
  Replies replies;
  for (const std::string& remark : Remarks(stop))
    replies.push_back("O" + HexOf("flowback: " + remark + "\n"));
  replies.push_back(StopText(stop));
  return replies;
}

Replies GdbServer::SteppedTo(const MachineStop& stop) {
  Replies replies = Stopped(stop);
  exec_by_step_ = exec_events_ && stop.milestone == MilestoneKind::kProgram;
  return replies;
}

std::optional<Replies> GdbServer::StopBefore(size_t thread) {
  if (std::exchange(exec_by_step_, false))
    return Stopped({.reason = Reason::kEvent, .thread = view_.machine().current()});
  constexpr std::chrono::seconds kSoon(1);  // who types the next command takes longer, mostly
  const auto came = std::exchange(interrupted_, std::nullopt);
  if (!came || std::chrono::steady_clock::now() - *came > kSoon) return std::nullopt;
  return Stopped({.reason = Reason::kInterrupted, .thread = thread});
}

Replies GdbServer::RunStep(size_t thread, Direction direction, Others others) {
  constexpr size_t kMostTold = 16;
  if (auto stopped = StopBefore(thread)) return *std::move(stopped);
  const size_t told = ends_told_;
  const StopMarks marks = Marks();
  MachineStop stop = view_.machine().Step(thread, direction, marks, view_.input().keep_on, others);
  stop.reason = ReasonOf(stop, marks);
  if (direction == Direction::kBackward || stop.reason != Reason::kEnd) return SteppedTo(stop);
  // gdb steps off a breakpoint before it goes on. If it gets the end of history then, it takes the
  // step for one that is still under way, and the next command never ends. After many steps in a
  // row the thread stops for no signal instead, which ends every command: a debugger that leaves a
  // line step by step would go on for ever.
  const bool is_last = told == kMostTold;
  stop.reason = is_last ? Reason::kEvent : Reason::kStep;
  stop.of_thread = false;
  Replies replies = Stopped(stop);
  const std::string text =
      fmt::format("flowback: the flow of thread {} ends here{}\n", view_.NumberOf(stop.thread).tid,
                  is_last ? "\nNo more reverse-execution history." : "");
  replies.insert(replies.begin(), "O" + HexOf(text));
  if (is_last) return replies;
  ends_told_ = told + 1;
  return replies;
}

Replies GdbServer::RunTo(Direction direction, std::optional<size_t> only) {
  if (auto stopped = StopBefore(only.value_or(general_))) return *std::move(stopped);
  // In a run of all threads, the killed one is the one that moves to the end of the recording; else
  // the one that gdb looks at.
  ReplayedMachine& machine = view_.machine();
  MachineStop stop = machine.Continue(direction, Marks(), only, view_.input().keep_on);
  if (stop.reason == Reason::kEnd && !only)
    if (const auto killed = view_.KilledThread()) machine.ToEnd(stop.thread = *killed);
  return Stopped(stop);
}

Replies GdbServer::ResumeActions(std::string_view) { return {"vCont;c;C;s;S;r"}; }

// "s:THREAD;c:THREAD;...": the first action that fits a thread is its action. One thread steps, or
// none does. Without an action for all the others, they are held.
Replies GdbServer::Resume(std::string_view rest) {
  std::optional<size_t> stepper;
  std::optional<size_t> only;
  std::optional<AddressRange> range;
  bool others = false;
  while (!rest.empty()) {
    const char action = rest.front();
    rest.remove_prefix(1);
    AddressRange addresses;
    if (action == 'C' || action == 'S') {
      if (!TakeHex(rest)) return {kRefused};
    } else if (action == 'r') {
      const auto begin = TakeHex(rest);
      const auto end = begin && TakeWord(rest, ",") ? TakeHex(rest) : std::nullopt;
      if (!end) return {kRefused};
      addresses = {*begin, *end};
    }
    bool all = true;
    std::optional<size_t> thread;
    if (TakeWord(rest, ":")) {
      thread = TakeThread(rest, all);
      if (!thread && !all) return {kRefused};
    }
    const bool steps = action == 's' || action == 'S' || action == 'r';
    if (!steps && action != 'c' && action != 'C') return {kRefused};
    if (steps && !stepper) {
      stepper = thread.value_or(general());
      if (action == 'r') range = addresses;
    }
    if (!steps && all) others = true;
    if (!steps && thread) only = thread;
    if (!rest.empty() && !TakeWord(rest, ";")) return {kRefused};
  }
  if (!stepper) return RunTo(Direction::kForward, others ? std::nullopt : only);
  const Others held = others ? Others::kMayStop : Others::kAreHeld;
  if (!range) return RunStep(*stepper, Direction::kForward, held);
  if (auto stopped = StopBefore(*stepper)) return *std::move(stopped);
  return SteppedTo(view_.machine().StepOut(*stepper, *range, Marks(), view_.input().keep_on, held));
}

Replies GdbServer::StepOnce(std::string_view) {
  return RunStep(Stepper(), Direction::kForward, Others::kMayStop);
}
Replies GdbServer::ContinueOn(std::string_view) { return RunTo(Direction::kForward, resumed_); }
Replies GdbServer::StepBack(std::string_view) {
  return RunStep(Stepper(), Direction::kBackward, resumed_ ? Others::kAreHeld : Others::kMayStop);
}
Replies GdbServer::ContinueBack(std::string_view) { return RunTo(Direction::kBackward, resumed_); }

}  // namespace flowback::gdb
