// SPDX-License-Identifier: MIT
#include "replay/crash/history/last_system_calls.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include "base/linux/linux_call_names.h"
#include "replay/values/kernel_calls.h"

namespace flowback {
namespace {

constexpr size_t kMostArgumentText = 60;

struct CallShape {
  std::string_view name;
  std::string_view arguments;
};
constexpr CallShape kShapes[] = {
#define FLOWBACK_CALL_SHAPE(name, arguments) {#name, arguments},
#include "replay/crash/history/system_call_shapes.def"
};

// Calls of 32-bit x86 that pass a number of 64 bits in two registers, or all arguments in memory.
constexpr CallShape kShapes32[] = {
    {"mmap", "p"},         {"select", "p"},        {"pread64", "dpnnn"},
    {"pwrite64", "dtnnn"}, {"ftruncate64", "dnn"}, {"_llseek", "dnnpx"},
};

std::string_view ShapeOf(std::string_view name, CodeMode mode, bool& is_known) {
  const auto find = [&](std::span<const CallShape> shapes) {
    const auto shape = std::ranges::find(shapes, name, &CallShape::name);
    if (shape == shapes.end()) return std::string_view();
    is_known = true;
    return shape->arguments;
  };
  is_known = false;
  if (mode == CodeMode::kX86_32)
    if (const std::string_view own = find(kShapes32); is_known) return own;
  return find(kShapes);
}

LinuxAbi AbiOf(CodeMode mode) {
  if (mode == CodeMode::kAArch64) return LinuxAbi::kAArch64;
  return mode == CodeMode::kX86_32 ? LinuxAbi::kI386 : LinuxAbi::kX86_64;
}

// Returns the length of the instruction that makes the call.
uint64_t LengthOf(const values::PathInstruction& one) {
  constexpr uint64_t kTrap = 2;  // INT 80h
  return one.then_traps ? kTrap : one.length;
}

class CallReader {
 public:
  CallReader(const values::ValueHistory& history, size_t point, std::optional<uint64_t> last_number)
      : history_(history), mode_(history.path().mode), point_(point), last_number_(last_number) {}

  void Read(CrashSystemCall& call) const {
    auto number = history_.CallRegister(point_, values::CallNumber(mode_));
    const bool is_last = point_ + 1 == history_.path().instructions.size();
    if (!number && is_last) number = last_number_;
    if (number) call.name = LinuxCallName(static_cast<uint32_t>(*number), AbiOf(mode_));
    // Where a signal's handler ran next, the call's own return is not seen, and what rt_sigreturn
    // leaves is of the code that the signal interrupted.
    const std::vector<values::PathInstruction>& path = history_.path().instructions;
    call.has_returned = point_ + 1 < path.size() && !call.name.ends_with("sigreturn") &&
                        path[point_ + 1].address == call.address + LengthOf(path[point_]);
    const auto result = history_.CallResult(point_);
    if (result && call.has_returned) call.result = static_cast<int64_t>(Signed(*result));
    const std::string_view shape = ShapeOf(call.name, mode_, call.has_shape);
    for (size_t i = 0; i < shape.size(); ++i) {
      auto value = Argument(i);
      if (value && shape[i] == 'n') value = Signed(*value);
      call.arguments.push_back({.kind = shape[i], .value = value});
    }
    for (size_t i = 0; i < call.arguments.size(); ++i) {
      const bool is_sized = call.arguments[i].kind == 't';
      if (is_sized && i + 1 < call.arguments.size())
        ReadText(call.arguments[i], call.arguments[i + 1].value);
      else if (call.arguments[i].kind == 's')
        ReadText(call.arguments[i], std::nullopt);
    }
  }

 private:
  std::optional<uint64_t> Argument(size_t n) const {
    const auto registers = values::CallArguments(mode_);
    return n < registers.size() ? history_.CallRegister(point_, registers[n]) : std::nullopt;
  }
  // A register of 32 bits as the number that it is.
  uint64_t Signed(uint64_t value) const {
    return values::SignExtended(value, TraitsOf(mode_).bits);
  }
  // `size`: empty: a zero ends the text.
  void ReadText(CrashCallArgument& argument, std::optional<uint64_t> size) const {
    if (!argument.value || (argument.kind == 't' && !size)) return;
    const uint64_t most = std::min<uint64_t>(kMostArgumentText, size.value_or(kMostArgumentText));
    for (uint64_t i = 0; i < most; ++i) {
      const auto byte = history_.Byte(point_, *argument.value + i);
      if (!byte) return;
      argument.is_whole = !size && *byte == 0;
      if (argument.is_whole) return;
      argument.text += static_cast<char>(*byte);
    }
    argument.is_whole = size && *size <= kMostArgumentText;
  }

  const values::ValueHistory& history_;
  const CodeMode mode_;
  const size_t point_;
  const std::optional<uint64_t> last_number_;
};

}  // namespace

std::vector<CrashSystemCall> LastSystemCalls(const PastValues::Place& place, size_t most,
                                             std::optional<uint64_t> last_number) {
  const std::vector<values::PathInstruction>& path = place.history.path().instructions;
  std::vector<CrashSystemCall> calls;
  for (size_t point = place.point; point-- > 0 && calls.size() < most;) {
    if (!place.history.MakesCall(point)) continue;
    const values::PathInstruction& one = path[point];
    CrashSystemCall call{.number = place.first + point,
                         .address = one.then_traps ? one.next : one.address,
                         .space = place.space};
    CallReader(place.history, point, last_number).Read(call);
    calls.push_back(std::move(call));
  }
  std::ranges::reverse(calls);
  return calls;
}

}  // namespace flowback
