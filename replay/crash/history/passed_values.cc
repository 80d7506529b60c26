// SPDX-License-Identifier: MIT
#include "replay/crash/history/passed_values.h"

#include <array>
#include <cstddef>

#include "decode/instruction/effects.h"

namespace flowback {
namespace {

std::optional<uint64_t> RegisterAt(PastValues& past, const MachineThread& thread, uint64_t number,
                                   uint8_t general, Trust trust) {
  const auto place = past.Before(thread, number, trust);
  return place ? place->history.Register(place->point, general) : std::nullopt;
}

// Behind the address that the call returns to.
std::optional<uint64_t> OnStack(PastValues& past, const MachineThread& thread, const LastCall& call,
                                unsigned number, Trust trust) {
  constexpr uint64_t kWord = 4;
  const auto stack = RegisterAt(past, thread, call.number, step_register::kX86StackPointer, trust);
  const auto place = stack ? past.Before(thread, call.number, trust) : std::nullopt;
  if (!place) return std::nullopt;
  const uint64_t address = *stack + kWord * (number + 1);
  uint64_t word = 0;
  for (uint64_t i = kWord; i-- != 0;) {
    const auto byte = place->history.Byte(place->point, address + i);
    if (!byte) return place->history.OwnWord(place->point, address, kWord);
    word = word << 8 | *byte;
  }
  return word;
}

}  // namespace

std::optional<uint64_t> ArgumentOf(PastValues& past, const MachineThread& thread,
                                   const LastCall& call, unsigned number, Trust trust) {
  constexpr std::array<uint8_t, 4> k64 = {7, 6, 2, 1};  // RDI, RSI, RDX, RCX
  switch (past.mode()) {
    case CodeMode::kX86_64:
      return number < k64.size() ? RegisterAt(past, thread, call.number, k64[number], trust)
                                 : std::nullopt;
    case CodeMode::kAArch64:
      return RegisterAt(past, thread, call.number, static_cast<uint8_t>(number), trust);
    case CodeMode::kX86_32:
      return OnStack(past, thread, call, number, trust);
    default:
      return std::nullopt;
  }
}

std::optional<uint64_t> ResultOf(PastValues& past, const MachineThread& thread,
                                 const LastCall& call) {
  return RegisterAt(past, thread, call.end_number, 0, Trust::kProven);
}

}  // namespace flowback
