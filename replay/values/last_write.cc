// SPDX-License-Identifier: MIT
#include "replay/values/last_write.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "decode/instruction/effects.h"
#include "replay/values/bounded_writes.h"
#include "replay/values/memory_cells.h"
#include "replay/values/value_operations.h"

namespace flowback::values {
namespace {

constexpr unsigned kWordBytes = 8, kByteBits = 8;
constexpr uint64_t kByte = 0xff;

}  // namespace

bool WriteFinder::CallMayWrite(const GraphStep& step, const StoredValue& wanted) const {
  const CallValues call = CallOf(graph_, step, values_);
  if (surroundings_.calls_hide_handlers) return true;
  // Its header, and mutexes that it has not unlocked.
  if (stack_keeps_away_ && call.number.all() && EndsThread(call.number.value, graph_.mode))
    return false;
  return WritesOf(call, graph_.mode).Meet(wanted.address, wanted.bytes);
}

WriteFinder::Met WriteFinder::Store(const GraphStep& step, const StoredValue& wanted) const {
  const auto address = MemoryCells::AddressOf(graph_.addresses[step.address], values_);
  if (!address) return step.on_stack && stack_keeps_away_ ? Met() : Other();
  const uint64_t size = step.bits;
  if (*address - wanted.address >= wanted.bytes && wanted.address - *address >= size) return {};
  if (step.kind == GraphStep::Kind::kStoreIf || step.has_mask) return Other();
  // What a vector holds is not followed. A value that is not proven is no contradiction.
  const KnownBits stored = size > kWordBytes ? KnownBits() : BitsOf(step.a, values_);
  Met met;
  for (unsigned i = 0; i < wanted.bytes; ++i) {
    const uint64_t place = wanted.address + i - *address;
    if (place >= size) continue;
    if (size <= kWordBytes && wanted.value) {
      const uint64_t byte = *wanted.value >> (i * kByteBits) & kByte;
      const auto shift = static_cast<unsigned>(place * kByteBits);
      const uint64_t differs = (stored.value >> shift ^ byte) & stored.known >> shift & kByte;
      if (differs != 0) return Other();
    }
    met.written |= static_cast<ByteSet>(1U << i);
  }
  return met;
}

// A string instruction goes upward wherever code keeps to the calling convention.
WriteFinder::Met WriteFinder::Part(const GraphStep& step, const StoredValue& wanted) const {
  if (!PartOf(graph_, step, values_).Meet(wanted.address, wanted.bytes)) return {};
  if (!step.both_ways || !stack_keeps_away_) return Other();
  GraphStep upward = step;
  upward.both_ways = false;
  const KernelWrites part = PartOf(graph_, upward, values_);
  if (part.anywhere) return Other();
  Met met;
  for (unsigned i = 0; i < wanted.bytes; ++i)
    if (part.Meet(wanted.address + i, 1)) met.written |= static_cast<ByteSet>(1U << i);
  return met;
}

WriteFinder::Met WriteFinder::Step(const GraphStep& step, const StoredValue& wanted) const {
  switch (step.kind) {
    case GraphStep::Kind::kStore:
    case GraphStep::Kind::kStoreIf:
      return Store(step, wanted);
    case GraphStep::Kind::kForget:
      return step.by_others || (step.on_stack && stack_keeps_away_) ? Met() : Other();
    case GraphStep::Kind::kForgetPart:
      return Part(step, wanted);
    case GraphStep::Kind::kSystemCall:
      return CallMayWrite(step, wanted) ? Other() : Met();
    default:
      return {};
  }
}

bool WriteFinder::IsOneStay(uint32_t from, uint32_t to) const {
  for (uint32_t i = from; i < to; ++i) {
    const PathInstruction& one = path_.instructions[i];
    InstructionEffects effects;
    if (!EffectsOf({one.bytes.data(), one.length}, one.address, one.mode, effects)) return false;
    for (const MachineStep& step : effects.steps)
      if (step.kind == StepKind::kCall || step.kind == StepKind::kReturn ||
          step.kind == StepKind::kSystemCall)
        return false;
  }
  return true;
}

LastWrite WriteFinder::Before(size_t point, const StoredValue& wanted) const {
  const LastWrite unknown{.kind = LastWrite::Kind::kOther, .instruction = point};
  if (wanted.bytes == 0 || wanted.bytes > kWordBytes) return unknown;
  for (unsigned i = 0; i < wanted.bytes; ++i)
    if (surroundings_.is_private && !surroundings_.is_private(wanted.address + i)) return unknown;
  const auto all = static_cast<ByteSet>((1U << wanted.bytes) - 1);
  ByteSet written = 0;
  bool is_complete = false;
  std::optional<uint32_t> last_part;
  for (uint32_t number = graph_.points[point]; number-- != 0;) {
    const GraphStep& step = graph_.steps[number];
    const Met met = Step(step, wanted);
    if (met.is_other) return {.kind = LastWrite::Kind::kOther, .instruction = step.instruction};
    if (met.written == all)
      return {.kind = LastWrite::Kind::kStored, .instruction = step.instruction};
    if (met.written == 0) continue;
    written |= met.written;
    if (!last_part) last_part = step.instruction;
    if (std::exchange(is_complete, written == all) || !is_complete) continue;
    if (IsOneStay(step.instruction, *last_part))
      return {.kind = LastWrite::Kind::kStored, .instruction = *last_part};
  }
  return {};
}

LastWrite WriteFinder::Only(size_t from, size_t to, const StoredValue& wanted,
                            const std::function<bool(uint64_t)>& is_innocent) const {
  std::optional<uint32_t> first, last;
  for (uint32_t number = graph_.points[to]; number-- != graph_.points[from];) {
    const GraphStep& step = graph_.steps[number];
    const Met met = Step(step, wanted);
    if (!met.is_other && met.written == 0) continue;
    if (is_innocent && is_innocent(path_.instructions[step.instruction].address)) continue;
    first = step.instruction;
    if (!last) last = first;
  }
  if (!last) return {};
  const bool is_one = IsOneStay(*first, *last);
  return {.kind = is_one ? LastWrite::Kind::kStored : LastWrite::Kind::kOther,
          .instruction = *last};
}

// Byte by byte, as each store left it, from the youngest store to the oldest.
std::optional<uint64_t> WriteFinder::Word(size_t point, uint64_t address, unsigned bytes) const {
  if (bytes == 0 || bytes > kWordBytes) return std::nullopt;
  const KnownBits wanted{.known = LowBits(bytes * kByteBits)};
  KnownBits word;
  for (uint32_t number = graph_.points[point]; number-- != 0 && word.known != wanted.known;) {
    const GraphStep& step = graph_.steps[number];
    if (step.kind != GraphStep::Kind::kStore) {
      if (Step(step, {.address = address, .value = {}, .bytes = bytes}).is_other)
        return std::nullopt;
      continue;
    }
    const auto at = MemoryCells::AddressOf(graph_.addresses[step.address], values_);
    if (!at) return std::nullopt;
    const KnownBits stored = step.bits > kWordBytes ? KnownBits() : BitsOf(step.a, values_);
    for (unsigned i = 0; i < bytes; ++i) {
      const uint64_t place = address + i - *at;
      const uint64_t mask = kByte << i * kByteBits;
      if (place >= step.bits || (word.known & mask) != 0) continue;
      if (step.has_mask || step.bits > kWordBytes ||
          (stored.known >> place * kByteBits & kByte) != kByte)
        return std::nullopt;
      word.known |= mask;
      word.value |= (stored.value >> place * kByteBits & kByte) << i * kByteBits;
    }
  }
  return word.known == wanted.known ? std::optional(word.value) : std::nullopt;
}

}  // namespace flowback::values
