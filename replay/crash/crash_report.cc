// SPDX-License-Identifier: MIT
#include "replay/crash/crash_report.h"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/hex.h"
#include "decode/instruction/disassemble.h"
#include "replay/crash/bad_value.h"
#include "replay/crash/crash_kind.h"
#include "replay/crash/crash_threads.h"
#include "replay/crash/dump/death_message.h"
#include "replay/crash/dump/fault.h"
#include "replay/crash/dump/signal_source.h"
#include "replay/crash/dying_thread.h"
#include "replay/crash/end_stack.h"
#include "replay/crash/history/passed_values.h"
#include "replay/crash/known_places.h"
#include "replay/crash/long_stay.h"
#include "replay/crash/suspects.h"
#include "replay/crash/thread_values.h"
#include "replay/crash/who_stored.h"

namespace flowback {
namespace {

constexpr size_t kCodeBytes = 16;  // bytes of an instruction

constexpr std::array<const char*, 17> kKindNames = {
    "exited",         "still-running", "null-pointer", "wild-pointer", "access",
    "stack-overflow", "wild-jump",     "assertion",    "exception",    "heap",
    "smashed-stack",  "abort",         "instruction",  "division",     "system-call",
    "signal",         "ended"};

class Reporter {
 public:
  Reporter(const CrashInput& input, const CrashOptions& options)
      : input_(input), options_(options) {
    if (input.core != nullptr)
      past_.emplace(input.session, input.machine, input.images, *input.core);
  }

  Result<CrashReport> Make() {
    const DyingThread found = FindDying(input_);
    report_.end = found.end;
    const size_t dying = FirstOf(found);
    input_.machine.ToEnd(dying);
    report_.has_core = input_.core != nullptr;
    if (input_.living != nullptr) report_.living = *input_.living;
    if (Status status = AddThreads(dying); !status) return Fail(status.error());
    TellFault(dying);
    if (Status status = TellEndStack(input_, dying, has_code_ || report_.missing, report_); !status)
      return Fail(status.error());
    TellKind(dying);
    TellHang(dying);
    TellMessage(dying);
    Status status = TellWhy(dying);
    TellSuspects(dying);
    return status ? Result<CrashReport>(std::move(report_)) : Fail(status.error());
  }

 private:
  Status AddThreads(size_t dying) {
    const size_t most = std::min(input_.machine.size(), options_.most_threads);
    std::vector<size_t> order = {dying};
    for (size_t thread = 0; thread < input_.machine.size() && order.size() < most; ++thread)
      if (thread != dying) order.push_back(thread);
    for (const size_t thread : order) {
      Result<CrashThread> told = ThreadAt(input_, thread, thread == dying, options_);
      if (!told) return Fail(told.error());
      if (past_) ThreadValues(input_, *past_, data_names_).Tell(thread, options_.last, *told);
      report_.threads.push_back(*std::move(told));
    }
    ShareMutexes();
    FindDeadlock();
    return {};
  }

  // Adds the mutexes that others wait for to their owners, wherever these locked them.
  void ShareMutexes() {
    for (const CrashThread& waiter : report_.threads) {
      if (!waiter.waits_for) continue;
      for (CrashThread& owner : report_.threads) {
        const auto known =
            std::ranges::find(owner.holds, waiter.waits_for->address, &CrashMutex::address);
        if (owner.tid == waiter.waits_for->owner && known == owner.holds.end())
          owner.holds.push_back(*waiter.waits_for);
      }
    }
  }

  // Follows from each thread to the one that holds what it waits for.
  void FindDeadlock() {
    const std::vector<CrashThread>& threads = report_.threads;
    const auto next = [&](size_t thread) {
      const auto& mutex = threads[thread].waits_for;
      const auto owner =
          mutex ? std::ranges::find(threads, mutex->owner, &CrashThread::tid) : threads.end();
      return static_cast<size_t>(owner - threads.begin());
    };
    for (size_t first = 0; first < threads.size(); ++first) {
      std::vector<size_t> round = {first};
      size_t at = next(first);
      for (; at != first && at < threads.size() && round.size() <= threads.size(); at = next(at))
        round.push_back(at);
      if (at != first) continue;
      report_.deadlock = std::move(round);
      return;
    }
  }

  // Whether the process died of what it did itself.
  bool DiedOfItself() const {
    constexpr std::array kOfItself = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT, SIGSYS};
    return Killed() && !Source().was_sent &&
           std::ranges::find(kOfItself, WTERMSIG(report_.end->wait_status)) != kOfItself.end();
  }
  // Returns the thread to report first. If the process hung, it is one that did not wait in the
  // dump.
  size_t FirstOf(const DyingThread& found) const {
    if (input_.living == nullptr || DiedOfItself()) return found.thread;
    for (const DumpedThread& dumped : input_.living->threads)
      for (size_t thread = 0; thread < input_.machine.size(); ++thread)
        if (!dumped.call && input_.machine.thread(thread).tid == dumped.tid) return thread;
    return found.thread;
  }
  void TellHang(size_t first) {
    if (DiedOfItself() || report_.kind == CrashKind::kExited) return;
    report_.hung = input_.living != nullptr;
    report_.stay = LongStayOf(input_, first, report_.threads.front().stack);
  }

  bool Killed() const {
    return report_.end && report_.end->tid >= 0 && WIFSIGNALED(report_.end->wait_status);
  }
  SignalSource Source() const {
    return Killed() ? SourceOf(input_.death_core(), WTERMSIG(report_.end->wait_status))
                    : SignalSource();
  }
  bool IsFault() const {
    constexpr std::array kFaults = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP};
    return Killed() && !Source().was_sent &&
           std::ranges::find(kFaults, WTERMSIG(report_.end->wait_status)) != kFaults.end();
  }

  // The signal is about memory that could not be accessed.
  bool IsAccess() const {
    const int signal = WTERMSIG(report_.end->wait_status);
    return signal == SIGSEGV || signal == SIGBUS;
  }
  // Returns the text of the last instruction that the dying thread executed.
  std::string_view LastText() const {
    const std::vector<CrashInstruction>& executed = report_.threads.front().instructions;
    return executed.empty() ? std::string_view() : executed.back().text;
  }
  // Returns the fault's address in the core dump.
  std::optional<uint64_t> DumpedAddress(int32_t tid) const {
    if (input_.death_core() == nullptr || !IsAccess() || input_.death_core()->killed_tid() != tid)
      return std::nullopt;
    return Source().has_address ? std::optional(input_.death_core()->signal_address())
                                : std::nullopt;
  }

  void TellFault(size_t dying) {
    if (!IsFault()) return;
    const MachineThread at = input_.machine.At(dying);
    const uint64_t address = report_.end->ip.value_or(at.pc);
    std::array<uint8_t, kCodeBytes> code{};
    const AddressSpace* const space = at.instruction.space;
    const size_t size = space == nullptr ? 0 : space->Read(address, code.data(), code.size());
    has_code_ = size != 0;
    if (!report_.end->fault_address) report_.end->fault_address = DumpedAddress(at.tid);
    if (!has_code_) return TellMissing(space, address);
    const Bytes bytes{code.data(), size};
    report_.fault = {.number = at.number,
                     .tsc = at.tsc,
                     .place = PlaceOf(input_.session, space, address, false),
                     .text = disassembler_.Text(bytes, address, at.instruction.mode)};
    access_ = AccessOf(bytes, address, at.instruction.mode, report_.end->fault_address,
                       input_.death_core(), at.tid);
    const DoubtFacts facts{.signal = WTERMSIG(report_.end->wait_status),
                           .code = bytes,
                           .address = address,
                           .mode = at.instruction.mode,
                           .text = report_.fault->text,
                           .before = LastText(),
                           .access = access_ ? &*access_ : nullptr,
                           .space = *space,
                           .core = input_.death_core(),
                           .images = input_.images};
    if (!report_.end->fault_address && !Source().is_known) report_.doubt = DoubtOf(facts);
    if (report_.doubt != SignalDoubt::kNone) {
      access_.reset();
      report_.fault.reset();
    }
    if (!access_) return;
    if (!report_.end->fault_address && IsAccess()) {
      report_.refused = Source().is_known && IsAccessible(facts);
      report_.end->fault_address = access_->address;
    }
    report_.writes = access_->is_store;
    for (const FaultOperand& operand : access_->operands)
      report_.operands.push_back({std::string(operand.name), operand.value, operand.is_address});
  }

  void TellMissing(const AddressSpace* space, uint64_t address) {
    report_.missing = MissingCodeAt(*report_.end, space, address);
    if (!report_.missing) return;
    if (!report_.end->fault_address && !Source().is_known) report_.doubt = SignalDoubt::kNoCode;
    CrashPlace& place = report_.threads.front().place;
    if (place.address != address || !place.object.empty()) return;
    place.object = report_.missing->file;
    place.in_object = report_.missing->offset.value_or(0);
  }

  // The innermost frame outside of the libraries that end a program: with a source line, if any
  // frame has one, else with a name, else by its file.
  static std::optional<CrashPlace> OwnFrame(const std::vector<CrashPlace>& frames) {
    const auto has_line = [](const CrashPlace& frame) { return frame.line != 0; };
    const auto has_name = [](const CrashPlace& frame) { return !frame.function.empty(); };
    const auto has_file = [](const CrashPlace& frame) { return !frame.object.empty(); };
    const auto first = [&frames](const auto& has) -> std::optional<CrashPlace> {
      for (const CrashPlace& frame : frames)
        if (!IsOfEnding(frame) && has(frame)) return frame;
      return std::nullopt;
    };
    auto own = first(has_line);
    if (!own) own = first(has_name);
    // The outermost functions of a program have names even where it is stripped.
    const auto by_file = first(has_file);
    return own && (has_line(*own) || !by_file) ? own : by_file;
  }

  // Code that the program made itself has no name: names the first frame of another file.
  void TellCallerOf(const std::vector<CrashPlace>& frames) {
    const auto caller = std::ranges::find_if(frames, [this](const CrashPlace& frame) {
      return !IsOfEnding(frame) && !frame.object.empty() &&
             frame.object != report_.fault->place.object;
    });
    if (caller != frames.end()) report_.cause = *caller;
  }

  void TellKind(size_t dying) {
    if (!report_.end && HasEnded(input_.session, report_.threads.front().tid))
      report_.kind = CrashKind::kEnded;
    if (!report_.end) return;
    const bool is_known = report_.end->tid >= 0;  // which thread it was
    if (!is_known)
      report_.kind = WIFSIGNALED(report_.end->wait_status) ? CrashKind::kOther : CrashKind::kExited;
    if (!is_known) return;
    const std::vector<CrashPlace> frames = FramesOf(input_.session, report_.threads.front().stack);
    std::optional<uint64_t> stack_pointer;
    if (input_.death_core() != nullptr)
      stack_pointer = input_.death_core()->StackPointer(report_.threads.front().tid);
    uint8_t byte = 0;
    report_.kind = KindOf({.end = *report_.end,
                           .was_sent = report_.doubt != SignalDoubt::kNone || Source().was_sent,
                           .ends_itself = EndsItself(frames, report_.threads.front().system_calls),
                           .has_code = has_code_ || report_.missing || !IsFault(),
                           .on_stack = access_ && access_->is_stack,
                           .stack_pointer = stack_pointer,
                           .stack_is_there = stack_pointer && input_.death_core()->Memory(
                                                                  *stack_pointer, {&byte, 1}) == 1,
                           .frames = frames});
    report_.depth = frames.size();
    report_.from_outside = report_.kind == CrashKind::kOther && Source().from_outside;
    report_.aborted = std::ranges::any_of(frames, IsAbort);
    report_.terminated = std::ranges::any_of(frames, IsTerminate);
    report_.cause = OwnFrame(frames);
    if (report_.fault && report_.fault->place.function.empty()) TellCallerOf(frames);
    if (report_.kind == CrashKind::kStackOverflow) report_.recursion = RecursionOf(frames);
    if (report_.kind == CrashKind::kException) TellThrow(dying);
  }

  // The last throw of an exception outside of the C++ library, however long ago it was.
  void TellThrow(size_t dying) {
    constexpr uint64_t kWindow = 5'000'000;
    ThreadCursor cursor = EndOf(input_, dying);
    KnownPlaces places(input_.session);
    for (const LastCall& call :
         LastCallsBefore(cursor, input_.session.functions(), kWindow, SIZE_MAX)) {
      if (!places.Of(call.space, call.entry).function.starts_with("__cxa_throw")) continue;
      CrashPlace site = PlaceOf(input_.session, call.space, call.site, false);
      if (IsOfEnding(site)) continue;
      report_.thrown = std::move(site);
      throw_ = call;
    }
  }

  // Reads the libraries' last messages. The dump has the memory of one process only.
  void TellMessage(size_t dying) {
    const AddressSpace* const space = input_.machine.At(dying).instruction.space;
    if (input_.death_core() == nullptr || space == nullptr || !Killed()) return;
    const auto function_at = [&](uint64_t address) {
      return PlaceOf(input_.session, space, address, false).function;
    };
    const DeathMessages messages(*input_.death_core(), *space, data_names_, function_at);
    if (report_.kind == CrashKind::kException)
      TellException(dying, messages);
    else if (WTERMSIG(report_.end->wait_status) == SIGABRT)
      report_.message = messages.OfLibrary();
  }

  // __cxa_throw is called with the object and its type.
  void TellException(size_t dying, const DeathMessages& messages) {
    if (!throw_ || !past_) return;
    const MachineThread at = input_.machine.At(dying);
    // Memory shows whether a value is a type, so likely values are enough.
    for (const Trust trust : {Trust::kProven, Trust::kConvention}) {
      const auto type = ArgumentOf(*past_, at, *throw_, 1, trust);
      if (!type || !report_.thrown_type.empty()) continue;
      report_.thrown_type = messages.TypeName(*type);
      if (const auto object = ArgumentOf(*past_, at, *throw_, 0, trust))
        report_.message = messages.ExceptionText(*object, *type);
    }
  }
  static std::string Example(CodeMode mode) {
    const auto names = GeneralRegisters(mode);
    const std::string address = "--why 0x7ffe0010";
    return names.empty() ? address : "--why " + std::string(names.front()) + ", or " + address;
  }
  CodeMode ModeOf(const MachineThread& at) const {
    return input_.death_core() != nullptr ? input_.death_core()->mode() : at.instruction.mode;
  }

  // Returns the register that the user asks about, or that the bad address came from. Without one,
  // returns the value that caused this kind of death.
  Result<std::optional<BadValue>> Question(size_t dying) {
    const MachineThread at = input_.machine.At(dying);
    std::string name = options_.why;
    // That the stack has no more room, no single instruction is to blame for.
    const bool is_one = report_.kind != CrashKind::kStackOverflow;
    if (name.empty() && is_one && access_ && access_->culprit)
      name = access_->operands[*access_->culprit].name;
    if (name.empty()) return past_ ? OfKind(dying) : std::nullopt;
    auto question = ValueQuestion::In(std::move(name), ModeOf(at));
    if (!question)
      return Fail(Error(ErrorCode::kUsage, "--why " + options_.why + ": is no register or address")
                      .Remedy(Example(ModeOf(at))));
    std::string words = question->name;
    return BadValue{std::move(words), *std::move(question), at.number};
  }
  std::optional<BadValue> OfKind(size_t dying) {
    const MachineThread at = input_.machine.At(dying);
    if (report_.kind == CrashKind::kWildJump) {
      const auto last = LastInstructionOf(input_, dying);
      return last ? BadTargetOf(*past_, at, *last) : std::nullopt;
    }
    if (report_.kind != CrashKind::kSmashedStack) return std::nullopt;
    const std::vector<CrashPlace> frames = FramesOf(input_.session, report_.threads.front().stack);
    // One of these functions may call another one.
    const auto is_it = [](const CrashPlace& frame) {
      return frame.function.starts_with("__stack_chk_fail");
    };
    const AddressSpace* const space = at.instruction.space;
    for (size_t i = 1; i < frames.size() && space != nullptr; ++i)
      if (is_it(frames[i - 1]) && !is_it(frames[i]))
        return BrokenGuardOf(*past_, at, frames[i].address,
                             data_names_.AddressOf(*space, "__stack_chk_guard"));
    return std::nullopt;
  }

  Status TellWhy(size_t dying) {
    const Result<std::optional<BadValue>> question = Question(dying);
    if (!question) return Fail(question.error());
    if (!*question || !past_) return {};
    const auto past =
        past_->Before(input_.machine.At(dying), (*question)->before, (*question)->trust);
    if (!past) return {};
    report_.core_contradicts = past->history.contradiction().has_value();
    if (report_.core_contradicts) return {};
    const ValueQuestion& of = (*question)->value;
    CrashWhy why;
    why.name = (*question)->name;
    why.value =
        of.number ? past->history.Register(past->point, *of.number) : WordAt(*past, of.address);
    const values::ValueChain chain = of.Why(*past);
    why.end = chain.end;
    for (const values::ChainLink& link : chain.links) why.links.push_back(LinkOf(*past, link));
    if (!why.links.empty())
      TellOldest(dying, why);
    else if (!of.number)
      TellStore(dying, {of.address, why.value, WordBytes()}, (*question)->before, why,
                (*question)->trust == Trust::kProven);
    if (!of.number && !why.stored)
      why.stored = WhoOverwrote(input_, *past_, dying, **question, WordBytes());
    report_.why = std::move(why);
    return {};
  }
  unsigned WordBytes() const { return TraitsOf(past_->mode()).bits / 8; }
  std::optional<uint64_t> WordAt(const PastValues::Place& past, uint64_t address) const {
    uint64_t word = 0;
    for (size_t i = WordBytes(); i-- != 0;) {
      const auto byte = past.history.Byte(past.point, address + i);
      if (!byte) return std::nullopt;
      word = word << 8 | *byte;
    }
    return word;
  }
  // Lists what else may have caused the death, if no chain of values leads to an instruction that
  // stored or computed the bad value.
  void TellSuspects(size_t dying) {
    constexpr size_t kMost = 5;
    if (report_.kind == CrashKind::kHeap)
      report_.frees = FreesBefore(input_, dying, past_ ? &*past_ : nullptr, report_.message);
    constexpr std::array kOfMemory = {CrashKind::kNullPointer, CrashKind::kWildPointer,
                                      CrashKind::kAccess, CrashKind::kWildJump,
                                      CrashKind::kSmashedStack};
    const bool is_of_memory = std::ranges::find(kOfMemory, report_.kind) != kOfMemory.end();
    // A function that jumped to the library's at its end is no caller of it.
    const auto& why = report_.why;
    const bool is_told =
        why && ((why->stored && !why->stored->caller) || why->end == values::ChainEnd::kConstant);
    if (is_of_memory && !is_told && !report_.missing)
      report_.returned_last = ReturnedLast(input_, dying, kMost);
  }

  // When the oldest instruction of the chain was, and who stored what it loaded.
  void TellOldest(size_t dying, CrashWhy& why) {
    CrashLink& oldest = why.links.back();
    const AddressSpace* const space = input_.machine.At(dying).instruction.space;
    if (space != nullptr && oldest.link.address)
      why.memory = DataNameOf(data_names_, *space, *oldest.link.address);
    uint64_t tsc = oldest.instruction.tsc = TimeOf(input_, dying, oldest.instruction.number);
    const values::ChainLink& link = oldest.link;
    if (why.end != values::ChainEnd::kConstant && link.kind == values::ChainLink::Kind::kLoaded &&
        link.address && link.value)
      TellStore(dying, {*link.address, *link.value, link.bytes}, oldest.instruction.number, why);
    if (why.stored) tsc = why.stored->instruction.tsc;
    const uint64_t end = report_.threads.front().tsc;
    const RecordingClock& clock = input_.session.clock();
    if (tsc != 0 && tsc < end && clock.has_nanoseconds())
      why.before_ns = clock.Value(end) - clock.Value(tsc);
  }

  void TellStore(size_t dying, const values::StoredValue& wanted, uint64_t loaded, CrashWhy& why,
                 bool may_be_proven = true) {
    why.stored = WhoStored(input_, *past_, dying, wanted, loaded, may_be_proven);
    why.too_many_threads = HasTooManyThreads(input_);
  }

  CrashLink LinkOf(const PastValues::Place& past, const values::ChainLink& link) {
    const values::PathInstruction& one = past.history.path().instructions[link.instruction];
    return {.instruction = {.number = past.first + link.instruction,
                            .place = PlaceOf(input_.session, past.space, one.address, false),
                            .text = disassembler_.Text({one.bytes.data(), one.length}, one.address,
                                                       one.mode)},
            .link = link};
  }

  const CrashInput& input_;
  const CrashOptions& options_;
  CrashReport report_;
  std::optional<PastValues> past_;
  std::optional<FaultAccess> access_;
  std::optional<LastCall> throw_;  // the last call of __cxa_throw
  DataNames data_names_;
  Disassembler disassembler_;
  bool has_code_ = true;
};

}  // namespace

const char* Name(CrashKind kind) { return kKindNames[static_cast<size_t>(kind)]; }

Result<CrashReport> MakeCrashReport(const CrashInput& input, const CrashOptions& options) {
  return Reporter(input, options).Make();
}

}  // namespace flowback
