// SPDX-License-Identifier: MIT
#include "replay/locks/loops/trip_reading.h"

#include <algorithm>
#include <utility>

#include "decode/instruction/effects.h"

namespace flowback {
namespace {

constexpr size_t kMostInstructions = 2000;

bool IsWithin(std::span<const TripPart> parts, uint64_t address) {
  return std::ranges::any_of(parts, [&](const TripPart& part) {
    return address >= part.address && address - part.address < part.code.size();
  });
}

}  // namespace

ReadTrip ReadTripParts(std::span<const TripPart> parts) {
  ReadTrip trip;
  for (const TripPart& part : parts) {
    for (size_t at = 0; at < part.code.size();) {
      if (trip.instructions.size() == kMostInstructions) {
        trip.failed = LoopReason::kTooLong;
        return trip;
      }
      InstructionEffects effects;
      const uint64_t address = part.address + at;
      if (!EffectsOf(part.code.subspan(at), address, part.mode, effects) || effects.length == 0) {
        trip.failed = LoopReason::kUnknownCode;
        return trip;
      }
      at += effects.length;
      if (!trip.instructions.empty()) trip.instructions.back().next = address;
      TripInstruction instruction{.address = address,
                                  .taken = part.taken && at >= part.code.size()};
      for (const MachineStep& step : effects.steps) {
        if (step.kind != StepKind::kBranch) continue;
        const uint64_t other = instruction.taken ? part.address + at : step.constant;
        instruction.stays = IsWithin(parts, other);
      }
      instruction.steps = std::move(effects.steps);
      trip.instructions.push_back(std::move(instruction));
    }
  }
  if (!trip.instructions.empty()) trip.instructions.back().next = trip.instructions.front().address;
  return trip;
}

}  // namespace flowback
