// SPDX-License-Identifier: MIT
// What an editor shows of the moment: threads, frames, variables.
#include <fmt/format.h>
#include <string.h>

#include <algorithm>
#include <utility>

#include "base/hex.h"
#include "replay/dap/dap_server.h"

namespace flowback::dap {
namespace {

// Frames in one answer; and all known at a moment.
constexpr size_t kMostFrames = 10'000;
constexpr size_t kMostKnownFrames = size_t{1} << 20;

// The kind of a frame's scope; the frame's number follows.
enum class Scope : uint8_t { kPosition, kRegisters, kLocals };
constexpr int64_t kScopes = 3;

int64_t ReferenceOf(size_t frame, Scope scope) {
  return static_cast<int64_t>(frame) * kScopes + static_cast<int64_t>(scope) + 1;
}

Json Variable(std::string_view name, const std::string& value) {
  return {{"name", name}, {"value", value}, {"variablesReference", 0}};
}

}  // namespace

Result<DapServer::Answer> DapServer::Threads(const Json& /*arguments*/) {
  const gdb::MachineView& view = opened_->view;
  Json threads = Json::array();
  for (size_t thread = 0; thread < view.machine().size(); ++thread) {
    const gdb::ThreadNumber number = view.NumberOf(thread);
    const std::string name = view.NameOf(thread, {});
    threads.push_back({{"id", number.tid},
                       {"name", name.empty() ? fmt::format("{}", number.tid)
                                             : fmt::format("{} {}", name, number.tid)}});
  }
  return Answer{.body = {{"threads", std::move(threads)}}};
}

Json DapServer::FrameOf(const StackFrame& frame, const NamedFrame& named, const Frame& known) {
  Json told = {{"id", frames_.size()}, {"line", 0}, {"column", 0}};
  frames_.push_back(known);
  std::string name(named.function);
  if (name.empty()) name = frame.address == 0 ? "[unknown]" : Hex(frame.address);
  if (frame.is_guess) name += " (a guess)";
  told["name"] = std::move(name);
  if (frame.address != 0) told["instructionPointerReference"] = Hex(frame.address);
  if (named.file.empty() || !HasSource(named.file)) {
    ShowInstructions(frames_.back(), named.file, told);
    // Editors go to the first frame that is not so.
    if (named.file.empty() && !known.is_innermost) told["presentationHint"] = "subtle";
    return told;
  }
  told["line"] = static_cast<int64_t>(named.line) - (lines_from_1_ ? 0 : 1);
  told["column"] = columns_from_1_ ? 1 : 0;
  told["source"] = SourceOf(named.file);
  return told;
}

Result<DapServer::Answer> DapServer::StackTrace(const Json& arguments) {
  const Result<size_t> thread = ThreadIn(arguments);
  if (!thread) return Fail(thread.error());
  ReplayedMachine& machine = opened_->view.machine();
  const auto stack =
      opened_->input.stacks.At(machine.index_number(*thread), machine.At(*thread).number);
  if (!stack) return Fail(stack.error());
  const auto first = static_cast<size_t>(std::max<int64_t>(NumberIn(arguments, "startFrame"), 0));
  const int64_t levels = NumberIn(arguments, "levels");
  const size_t wanted = levels > 0 ? static_cast<size_t>(levels) : kMostFrames;
  const size_t end = std::min(first, kMostFrames) + std::min(wanted, kMostFrames);
  const std::vector<StackFrame>& all = (*stack)->frames;
  if (frames_.size() >= kMostKnownFrames) Forget();
  Json frames = Json::array();
  size_t named = 0;
  for (; named < all.size() && frames.size() < end; ++named)
    AddFrames(*thread, all[named], named, frames);
  // Frames without names yet have an unknown number of inlined frames.
  const size_t total = frames.size() + (all.size() - named);
  Json part = Json::array();
  for (size_t i = first; i < std::min(frames.size(), end); ++i)
    part.push_back(std::move(frames[i]));
  return Answer{.body = {{"stackFrames", std::move(part)}, {"totalFrames", total}}};
}

// A frame, those that are inlined in it, and what the kernel put between it and the next one.
void DapServer::AddFrames(size_t thread, const StackFrame& frame, size_t number, Json& frames) {
  // A step may have stopped ahead of the code inlined there.
  const size_t hidden = number == 0 ? opened_->steps.Hidden(thread) : 0;
  const std::vector<NamedFrame> names = opened_->names.Of(frame);
  for (size_t level = hidden; level < names.size(); ++level) {
    Json told = FrameOf(frame, names[level],
                        {.thread = thread,
                         .address = frame.address,
                         .space = frame.space,
                         .is_innermost = number == 0,
                         .is_exact = frame.is_exact,
                         .number = number,
                         .level = level});
    if (names[level].is_inlined) told["name"] = told["name"].get<std::string>() + " (inlined)";
    frames.push_back(std::move(told));
  }
  if (!frame.is_handler) return;
  frames.push_back({{"id", frames_.size()},
                    {"name", "<signal handler called>"},
                    {"line", 0},
                    {"column", 0},
                    {"presentationHint", "label"}});
  frames_.push_back({.thread = thread});
}

Result<DapServer::Answer> DapServer::Scopes(const Json& arguments) {
  const int64_t id = NumberIn(arguments, "frameId", -1);
  if (id < 0 || static_cast<size_t>(id) >= frames_.size())
    return Fail(ErrorCode::kUsage, fmt::format("there is no frame {} at this moment", id));
  const auto frame = static_cast<size_t>(id);
  Json scopes = Json::array();
  for (const auto& [name, scope] :
       {std::pair("Position", Scope::kPosition), std::pair("Locals", Scope::kLocals),
        std::pair("Registers", Scope::kRegisters)})
    scopes.push_back(
        {{"name", name}, {"variablesReference", ReferenceOf(frame, scope)}, {"expensive", false}});
  return Answer{.body = {{"scopes", std::move(scopes)}}};
}

Json DapServer::PositionOf(size_t thread) {
  const gdb::MachineView& view = opened_->view;
  const MachineThread at = view.machine().At(thread);
  Json told = Json::array();
  told.push_back(Variable("time", view.TimeText(at)));
  told.push_back(Variable("instruction", fmt::format("#{} of {}", at.number,
                                                     view.machine().thread(thread).instructions)));
  told.push_back(Variable("function", view.PlaceText(at)));
  if (at.cpu >= 0) told.push_back(Variable("CPU", fmt::format("{}", at.cpu)));
  return told;
}

// Only the return address of an outer frame is proven.
std::optional<uint64_t> DapServer::RegisterOf(const Frame& frame, std::string_view name) {
  if (frame.is_innermost)
    return opened_->view.values().Register(opened_->view.machine().At(frame.thread), name);
  return IsProgramCounter(name) && frame.address != 0 ? std::optional(frame.address) : std::nullopt;
}

Json DapServer::RegistersOf(const Frame& frame) {
  const CodeMode mode = opened_->view.machine().At(frame.thread).instruction.mode;
  Json told = Json::array();
  for (const gdb::Register& one : gdb::RegistersOf(mode)) {
    if (one.name == gdb::kFrameRegister) continue;
    const std::optional<uint64_t> value = RegisterOf(frame, one.name);
    told.push_back(Variable(one.name, value ? Hex(*value) : kUnavailable));
    if (value) told.back()["memoryReference"] = Hex(*value);
  }
  return told;
}

std::vector<LocalValue> DapServer::LocalsOf(const Frame& frame) {
  if (frame.address == 0) return {};
  ReplayedMachine& machine = opened_->view.machine();
  const MachineThread at = machine.At(frame.thread);
  const auto stack = opened_->input.stacks.At(machine.index_number(frame.thread), at.number);
  if (!stack) return {};
  return opened_->locals.Of(
      at, {.frames = (*stack)->frames, .frame = frame.number, .level = frame.level});
}

Result<DapServer::Answer> DapServer::Variables(const Json& arguments) {
  const int64_t reference = std::max<int64_t>(NumberIn(arguments, "variablesReference"), 0) - 1;
  const int64_t number = reference / kScopes;
  if (reference < 0 || static_cast<size_t>(number) >= frames_.size())
    return Fail(ErrorCode::kUsage,
                fmt::format("there are no variables {} at this moment", reference + 1));
  const Frame& frame = frames_[static_cast<size_t>(number)];
  Json told = Json::array();
  switch (static_cast<Scope>(reference % kScopes)) {
    case Scope::kPosition:
      told = PositionOf(frame.thread);
      break;
    case Scope::kRegisters:
      told = RegistersOf(frame);
      break;
    case Scope::kLocals:
      for (const LocalValue& one : LocalsOf(frame)) {
        told.push_back(Variable(one.name, one.value));
        told.back()["type"] = one.type;
        told.back()["evaluateName"] = one.name;
        if (one.address) told.back()["memoryReference"] = Hex(*one.address);
      }
      break;
  }
  return Answer{.body = {{"variables", std::move(told)}}};
}

Result<DapServer::Answer> DapServer::ExceptionInfo(const Json& arguments) {
  const Result<size_t> thread = ThreadIn(arguments);
  if (!thread) return Fail(thread.error());
  if (const std::optional<int> signal = opened_->view.KilledBy(*thread)) {
    const char* name = sigabbrev_np(*signal);
    return Answer{.body = {{"exceptionId", name == nullptr ? fmt::format("signal {}", *signal)
                                                           : fmt::format("SIG{}", name)},
                           {"description", fmt::format("killed by it: {}", strsignal(*signal))},
                           {"breakMode", "unhandled"}}};
  }
  return Fail(ErrorCode::kUsage, "no signal ended this thread, as far as the recording shows");
}

}  // namespace flowback::dap
