// SPDX-License-Identifier: MIT
#include "replay/debug/machine/calls_here.h"

#include <array>
#include <vector>

#include "base/linux/kernel_address.h"
#include "decode/instruction/accumulator.h"
#include "decode/system_call.h"

namespace flowback {
namespace {

constexpr uint64_t kTrapBytes = 2;

LinuxAbi AbiOf(CodeMode mode) {
  if (mode == CodeMode::kAArch64) return LinuxAbi::kAArch64;
  return mode == CodeMode::kX86_64 ? LinuxAbi::kX86_64 : LinuxAbi::kI386;
}

// What the last instructions leave in the accumulator: those that executed in a line, the one at
// hand the last of them, with nothing else between two of them.
std::optional<uint32_t> NumberBehind(CursorPosition& at) {
  constexpr size_t kMost = 32;
  constexpr size_t kLongest = 15;
  std::vector<uint8_t> code;
  std::vector<uint8_t> lengths;
  const CursorInstruction last = at.instruction();
  for (size_t i = 0; i < kMost && at.at_instruction(); ++i) {
    const CursorInstruction& one = at.instruction();
    std::array<uint8_t, kLongest> bytes;
    if (one.space != last.space || one.mode != last.mode || IsKernelAddress(one.address)) break;
    if (one.length > kLongest ||
        one.space->Read(one.address, bytes.data(), one.length) != one.length)
      break;
    code.insert(code.begin(), bytes.begin(), bytes.begin() + one.length);
    lengths.insert(lengths.begin(), one.length);
    if (!at.Previous()) break;
  }
  return AccumulatorBehind(code, lengths, last.mode);
}

// By the table of the code's mode.
std::optional<uint32_t> Translated(std::optional<uint32_t> number, LinuxAbi abi, CodeMode mode) {
  if (!number) return number;
  const auto own = Renumbered(*number, abi, AbiOf(mode));
  return own ? std::optional(static_cast<uint32_t>(*own)) : std::nullopt;
}

// Whether the call of the i386 table goes on at another place than behind itself.
bool GoesElsewhere(std::optional<uint32_t> number) {
  constexpr uint32_t kSigreturn = 119;
  return number &&
         (*number == kSigreturn || IsOneOf(*number, LinuxAbi::kI386, {LinuxCall::kRtSigreturn}));
}

// The walk stands at the last place before an INT 80h, to which control had come. Whether that
// executed: else a signal or a fault came ahead of it.
bool IsTrapMade(ThreadWalk& walk, std::optional<uint32_t> number) {
  const CursorInstruction last = walk.instruction();
  const ThreadWalk::Place place = walk.place();
  Passed passed;
  const bool goes_on = walk.Next(&passed);
  const bool is_behind = walk.pc() == last.next + kTrapBytes;
  const bool is_replaced = !walk.at_end() && walk.instruction().space != last.space;
  walk.Return(place);
  if (passed.loss || passed.unknown || !goes_on) return false;
  return is_behind || is_replaced || GoesElsewhere(number);
}

// The flow ends ahead of an INT 80h.
std::optional<CallHere> LastTrap(ThreadWalk& walk) {
  const CursorInstruction last = walk.last();
  if (!IsTrap(last.space, last.mode, walk.pc())) return std::nullopt;
  const ThreadWalk::Place place = walk.place();
  Passed passed;
  std::optional<uint32_t> number;
  if (walk.Previous(&passed) && !passed.loss && !passed.unknown)
    number = NumberBehind(walk.position());
  walk.Return(place);
  return CallHere{.number = Translated(number, LinuxAbi::kI386, last.mode)};
}

}  // namespace

bool IsTrap(const AddressSpace* space, CodeMode mode, uint64_t address) {
  constexpr std::array<uint8_t, kTrapBytes> kTrap = {0xcd, 0x80};
  std::array<uint8_t, kTrapBytes> code{};
  return space != nullptr && mode != CodeMode::kAArch64 && address != 0 &&
         space->Read(address, code.data(), code.size()) == code.size() && code == kTrap;
}

std::optional<CallHere> CallAt(ThreadWalk& walk) {
  if (walk.at_end()) return LastTrap(walk);
  const CursorInstruction last = walk.instruction();
  if (!last.last_of_run) return std::nullopt;
  CursorPosition& at = walk.position();
  const bool is_own = last.last == InstructionClass::kFarCall;
  const auto abi = is_own                                     ? AbiOfLastCall(at.runs()[at.run()])
                   : IsTrap(last.space, last.mode, last.next) ? std::optional(LinuxAbi::kI386)
                                                              : std::nullopt;
  if (!abi) return std::nullopt;
  const ThreadWalk::Place place = walk.place();
  std::optional<uint32_t> number;
  if (!is_own || (at.Previous() && at.at_instruction())) number = NumberBehind(at);
  walk.Return(place);
  if (!is_own && !IsTrapMade(walk, number)) return std::nullopt;
  return CallHere{.number = Translated(number, *abi, last.mode)};
}

}  // namespace flowback
