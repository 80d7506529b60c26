// SPDX-License-Identifier: MIT
// What an editor's user types: the console's commands, registers, addresses.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/hex.h"
#include "replay/dap/dap_server.h"

namespace flowback::dap {
namespace {

// What an editor's console prints is what gdb would have printed.
std::string TextOf(const gdb::Replies& replies) {
  std::string text;
  for (const std::string& reply : replies)
    if (reply.starts_with('O') && reply != "OK")
      text += gdb::BytesOfHex(std::string_view(reply).substr(1)).value_or("");
  return text;
}

}  // namespace

std::string DapServer::Monitored(const std::string& words) {
  return TextOf(opened_->monitor.Answer("qRcmd," + gdb::HexOf(words)));
}

// "monitor when  which instruction ..." lists `when`.
std::vector<std::string> DapServer::ConsoleWords() {
  constexpr std::string_view kWord = "monitor ";
  std::vector<std::string> words;
  const std::string help = Monitored("help");
  for (size_t begin = 0; begin < help.size();) {
    const size_t end = std::min(help.find('\n', begin), help.size());
    std::string_view line = std::string_view(help).substr(begin, end - begin);
    begin = end + 1;
    if (!line.starts_with(kWord)) continue;
    line.remove_prefix(kWord.size());
    words.emplace_back(line.substr(0, line.find(' ')));
  }
  return words;
}

// A register by its name, with "$" or without. Empty: the text is none.
std::optional<DapServer::Shown> DapServer::RegisterNamed(std::string_view text,
                                                         const Frame& frame) {
  if (text.starts_with('$')) text.remove_prefix(1);
  const CodeMode mode = opened_->view.machine().At(frame.thread).instruction.mode;
  for (const gdb::Register& one : gdb::RegistersOf(mode))
    if (one.name == text && one.name != gdb::kFrameRegister)
      return Shown{.value = RegisterOf(frame, one.name)};
  return std::nullopt;
}

std::optional<LocalValue> DapServer::VariableNamed(std::string_view text, const Frame& frame) {
  for (LocalValue& one : LocalsOf(frame))
    if (one.name == text) return std::move(one);
  return std::nullopt;
}

// The frame that the client names, else the innermost one of the current thread.
DapServer::Frame DapServer::FrameIn(const Json& arguments) {
  const int64_t id = NumberIn(arguments, "frameId", -1);
  if (id >= 0 && static_cast<size_t>(id) < frames_.size()) return frames_[static_cast<size_t>(id)];
  ReplayedMachine& machine = opened_->view.machine();
  const MachineThread at = machine.At(machine.current());
  return {.thread = machine.current(),
          .address = at.pc,
          .space = at.instruction.space,
          .is_innermost = true,
          .is_exact = true,
          .level = opened_->steps.Hidden(machine.current())};
}

// Evaluates an expression; else runs a command of the console.
Result<DapServer::Answer> DapServer::Evaluate(const Json& arguments) {
  std::string text = TextIn(arguments, "expression");
  text.erase(0, std::min(text.find_first_not_of(" \t\n"), text.size()));
  text.erase(text.find_last_not_of(" \t\n") + 1);
  const Frame frame = FrameIn(arguments);
  if (const auto shown = RegisterNamed(text, frame))
    return Answer{.body = {{"result", shown->value ? Hex(*shown->value) : kUnavailable},
                           {"variablesReference", 0}}};
  const std::vector<std::string> words = ConsoleWords();
  const std::string context = TextIn(arguments, "context");
  const bool is_asked = context == "hover" || context == "watch" || context == "variables";
  const bool is_command =
      !is_asked && std::ranges::find(words, text.substr(0, text.find(' '))) != words.end();
  if (!is_command)
    if (const auto one = VariableNamed(text, frame))
      return Answer{
          .body = {{"result", one->value}, {"type", one->type}, {"variablesReference", 0}}};
  if (is_asked)
    return Fail(ErrorCode::kUnsupported,
                fmt::format("'{}' is unavailable: {}", text, WhyUnavailable()));
  return RunCommand(text, frame.thread);
}

Result<DapServer::Answer> DapServer::RunCommand(std::string text, size_t thread) {
  if (constexpr std::string_view kWord = "monitor "; text.starts_with(kWord))
    text.erase(0, kWord.size());
  const gdb::ThreadNumber number = opened_->view.NumberOf(thread);
  opened_->monitor.Answer(fmt::format("Hgp{:x}.{:x}", number.pid, number.tid));
  const MachineMoment before = opened_->view.machine().moment();
  const std::string answer = Monitored(text);
  const bool moves = !(before == opened_->view.machine().moment());
  if (moves) {
    Forget();
    opened_->steps.HideNothing();
  }
  return Answer{.body = {{"result", answer}, {"variablesReference", 0}}, .then = [this, moves] {
                  if (!moves) return;
                  const size_t now = opened_->view.machine().current();
                  Stopped("goto", now, opened_->view.WhenText(now));
                }};
}

std::string DapServer::WhyUnavailable() {
  if (opened_->view.past() == nullptr)
    return "the recording holds which instructions ran, and no values; a core dump (--core) has "
           "some";
  return "no value of it is proven here";
}

}  // namespace flowback::dap
