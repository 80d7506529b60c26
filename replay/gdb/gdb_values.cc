// SPDX-License-Identifier: MIT
// Sends the proven values of registers, memory and frames.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "replay/debug/machine/never_ran.h"
#include "replay/gdb/gdb_server.h"
#include "replay/writers/text/printable.h"

namespace flowback::gdb {

std::string GdbServer::RegisterText(const Register& one, const MachineThread& at) {
  const size_t size = one.bits / 8;
  if (one.name == kFrameRegister) return HexOfNumber(0, size);
  const auto value = view_.values().Register(at, one.name);
  return value ? HexOfNumber(*value, size) : std::string(2 * size, 'x');
}

Replies GdbServer::ReadRegisters(std::string_view) {
  const MachineThread at = view_.machine().At(general());
  std::string text;
  for (const Register& one : registers_) text += RegisterText(one, at);
  return {text};
}

Replies GdbServer::ReadRegister(std::string_view rest) {
  const auto number = TakeHex(rest);
  if (!number || *number >= registers_.size()) return {kRefused};
  const MachineThread at = view_.machine().At(general());
  if (is_lldb_ && MustRefuse(*number, at)) return {kRefused};
  return {RegisterText(registers_[*number], at)};
}

// LLDB takes the mark of an unavailable register for bytes, but an error for what it is. Its first
// question is whether single registers can be read at all, and that one must get an answer.
bool GdbServer::MustRefuse(size_t number, const MachineThread& at) {
  const bool is_first = !std::exchange(was_asked_for_register_, true);
  return !is_first && registers_[number].name != kFrameRegister &&
         !view_.values().Register(at, registers_[number].name);
}

Replies GdbServer::ReadMemory(std::string_view rest) {
  const auto address = TakeHex(rest);
  if (!address || !TakeWord(rest, ",")) return {kRefused};
  const auto size = TakeHex(rest);
  if (!size) return {kRefused};
  constexpr uint64_t kMost = kMostPacketBytes / 2 - 64;
  const MachineThread at = view_.machine().At(general());
  const std::vector<uint8_t> bytes =
      view_.values().Memory(at, *address, std::min<uint64_t>(*size, kMost));
  if (bytes.empty() && *size != 0) return {kRefused};
  return {HexOf({reinterpret_cast<const char*>(bytes.data()), bytes.size()})};
}

// The frames of a thread, the innermost first: "address,entry,height;...". A frame's height is its
// number from the outermost one, so that the frames of one call have one height. "stack,frames;"
// stands in front: the stack's own number, of a thread with several, and how many frames it has,
// since the outermost ones of a deep stack find no room in a packet.
Replies GdbServer::Frames(std::string_view rest) {
  bool all = false;
  const auto thread = TakeThread(rest, all);
  if (!thread) return {kRefused};
  exec_by_step_ = false;  // the user sees the stop
  ReplayedMachine& machine = view_.machine();
  const MachineThread at = machine.At(*thread);
  const auto stack =
      view_.input().stacks.At(machine.index_number(*thread),
                              at.never_executed ? machine.thread(*thread).instructions : at.number);
  if (!stack) return {kRefused};
  const std::vector<StackFrame>& frames = (*stack)->frames;
  std::string text = fmt::format("{:x},{:x}", (*stack)->stack, frames.size());
  for (size_t i = 0; i < frames.size(); ++i) {
    const uint64_t address = i == 0 ? at.pc : frames[i].address;
    text += fmt::format(";{:x},{:x},{:x}", address, frames[i].entry_ip, frames.size() - i);
    if (text.size() + 64 > kMostPacketBytes) break;
  }
  return {text};
}

// The name of the function at the address, in hexadecimal; nothing where none is known.
Replies GdbServer::NameAt(std::string_view rest) {
  const auto address = TakeHex(rest);
  const AddressSpace* const space = view_.machine().At(general()).instruction.space;
  if (!address || space == nullptr) return {kRefused};
  const auto symbol = view_.session().symbols().Find(*space, *address);
  return {symbol ? HexOf(Printable(symbol->name)) : ""};
}

// "ADDRESS,ADDRESS,...": "never", "lost" if missing flow may hide a visit, or "ran", also if the
// answer is not quick to find.
Replies GdbServer::WhetherNeverRan(std::string_view rest) {
  std::vector<uint64_t> addresses;
  do {
    const auto address = TakeHex(rest);
    if (!address) return {kRefused};
    addresses.push_back(*address);
  } while (TakeWord(rest, ","));
  uint64_t budget = kMostDecodedForNever;
  ReplayedMachine& machine = view_.machine();
  if (!NeverRan(machine, addresses, budget)) return {"ran"};
  return {view_.MayHideMore() ? "lost" : "never"};
}

}  // namespace flowback::gdb
