// SPDX-License-Identifier: MIT
#include "replay/crash/last_system_calls.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/linux_call_names.h"

namespace flowback {
namespace {

constexpr size_t kMostArgumentText = 60;

struct CallShape {
  std::string_view name;
  std::string_view arguments;
};
constexpr CallShape kShapes[] = {
#define FLOWBACK_CALL_SHAPE(name, arguments) {#name, arguments},
#include "replay/crash/system_call_shapes.def"
};

bool IsSystemCall(const values::PathInstruction& one) {
  return one.mode == CodeMode::kX86_64 && one.length == 2 && one.bytes[0] == 0x0f &&
         one.bytes[1] == 0x05;
}

class CallReader {
 public:
  CallReader(const values::ValueHistory& history, size_t point, std::optional<uint64_t> last_number)
      : history_(history), point_(point), last_number_(last_number) {}

  void Read(CrashSystemCall& call) const {
    auto number = history_.Register(point_, 0);
    const bool is_last = point_ + 1 == history_.path().instructions.size();
    if (!number && is_last) number = last_number_;
    if (number) call.name = LinuxCallName(static_cast<uint32_t>(*number), LinuxAbi::kX86_64);
    // Where a signal's handler ran next, the call's own return is not seen, and what rt_sigreturn
    // leaves is of the code that the signal interrupted.
    const std::vector<values::PathInstruction>& path = history_.path().instructions;
    call.has_returned = point_ + 1 < path.size() && call.name != "rt_sigreturn" &&
                        path[point_ + 1].address == path[point_].address + path[point_].length;
    if (const auto result = history_.Register(point_ + 1, 0); result && call.has_returned)
      call.result = static_cast<int64_t>(*result);
    const auto* const shape = std::ranges::find(kShapes, call.name, &CallShape::name);
    if (shape == std::end(kShapes)) return;
    call.has_shape = true;
    for (size_t i = 0; i < shape->arguments.size(); ++i)
      call.arguments.push_back({.kind = shape->arguments[i], .value = Argument(i)});
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
    constexpr std::array<const char*, 6> kRegisters = {"rdi", "rsi", "rdx", "r10", "r8", "r9"};
    return history_.Register(point_, *FollowedRegister(CodeMode::kX86_64, kRegisters[n]));
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
  const size_t point_;
  const std::optional<uint64_t> last_number_;
};

}  // namespace

std::vector<CrashSystemCall> LastSystemCalls(const PastValues::Place& place, size_t most,
                                             std::optional<uint64_t> last_number) {
  const std::vector<values::PathInstruction>& path = place.history.path().instructions;
  std::vector<CrashSystemCall> calls;
  for (size_t point = place.point; point-- > 0 && calls.size() < most;) {
    if (!IsSystemCall(path[point])) continue;
    CrashSystemCall call{
        .number = place.first + point, .address = path[point].address, .space = place.space};
    CallReader(place.history, point, last_number).Read(call);
    calls.push_back(std::move(call));
  }
  std::ranges::reverse(calls);
  return calls;
}

}  // namespace flowback
