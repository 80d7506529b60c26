// SPDX-License-Identifier: MIT
#include "replay/crash/suspects.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "decode/instruction/effects.h"
#include "flowback/decode/code_image.h"
#include "replay/crash/crash_kind.h"
#include "replay/crash/crash_threads.h"
#include "replay/crash/history/passed_values.h"
#include "replay/crash/known_places.h"

namespace flowback {
namespace {

constexpr uint64_t kCallWindow = 200'000;  // instructions
constexpr size_t kMostFrees = 5;

bool IsFree(std::string_view name) {
  constexpr std::array<std::string_view, 6> kNames = {
      "free", "cfree", "__libc_free", "realloc", "__libc_realloc", "__GI___libc_free"};
  if (const size_t at = name.find('@'); at != std::string_view::npos) name = name.substr(0, at);
  return std::ranges::find(kNames, name) != kNames.end() || name.starts_with("operator delete");
}

std::vector<LastCall> CallsOf(const CrashInput& input, size_t dying) {
  ThreadCursor cursor = EndOf(input, dying);
  return LastCallsBefore(cursor, input.session.functions(), kCallWindow, SIZE_MAX);
}

std::optional<uint64_t> BlockOf(PastValues* past, const MachineThread& thread,
                                const LastCall& call) {
  return past == nullptr ? std::nullopt : ArgumentOf(*past, thread, call, 0);
}

bool IsAllocation(std::string_view name) {
  constexpr std::array<std::string_view, 3> kParts = {"alloc", "memalign", "operator new"};
  return std::ranges::any_of(kParts, [&](std::string_view part) { return name.contains(part); });
}

// Whether the call may have returned the block: any call may allocate it, by a jump at its end.
bool MayReturn(PastValues& past, const MachineThread& thread, const LastCall& call, uint64_t block,
               std::string_view name) {
  const auto returned = ResultOf(past, thread, call);
  if (name.contains("memalign") || !returned) return IsAllocation(name);
  return *returned == block;
}

// The last call that may have returned the block ends there; 0: none.
uint64_t AllocatedAt(PastValues& past, const MachineThread& thread, KnownPlaces& places,
                     const std::vector<LastCall>& calls, uint64_t block) {
  uint64_t last = 0;
  for (const LastCall& call : calls) {
    const std::string_view name = places.Of(call.space, call.entry).function;
    const bool may_allocate = !IsFree(name) || IsAllocation(name);
    if (call.has_returned && call.end_number > last && may_allocate &&
        MayReturn(past, thread, call, block, name))
      last = call.end_number;
  }
  return last;
}

// Whether the function does nothing but copy its return address to a register, as 32-bit code calls
// one to know where it is: mov (%esp), REGISTER; ret.
bool TellsItsPlace(const AddressSpace& space, uint64_t entry) {
  std::array<uint8_t, 4> code{};
  return space.Read(entry, code.data(), code.size()) == code.size() && code[0] == 0x8b &&
         (code[1] & 0xc7) == 0x04 && code[2] == 0x24 && code[3] == 0xc3;
}

// Returns the address of the call's own last store to memory other than its frame; if it has none,
// of the last instruction by which it went to another function, as to memset; 0: there is neither.
uint64_t LastStoreOf(const CrashInput& input, size_t dying, const LastCall& call) {
  if (call.space == nullptr) return 0;
  const FunctionPiece own = input.session.functions().Find(call.space, call.entry);
  ThreadCursor cursor = EndOf(input, dying);
  cursor.ToInstruction(call.end_number);
  uint64_t left_at = 0;
  for (uint64_t left = kCallWindow; left != 0 && cursor.Previous(); --left) {
    if (cursor.kind() != ThreadCursor::Kind::kInstruction) continue;
    if (cursor.number() < call.number) break;
    const CursorInstruction& at = cursor.instruction();
    if (!own.Holds(at.address) || at.space != call.space) continue;
    std::array<uint8_t, 16> code{};
    const size_t size = call.space->Read(at.address, code.data(), code.size());
    MemoryTraits traits;
    if (MemoryTraitsOf(Bytes(code.data(), size), at.mode, traits) &&
        (traits.stores || traits.atomic))
      return at.address;
    const bool leaves = at.last_of_run && at.exit == BlockExit::kTaken && !own.Holds(at.next) &&
                        at.last != InstructionClass::kReturn;
    if (leaves && left_at == 0) left_at = at.address;
  }
  return left_at;
}

}  // namespace

CrashFrees FreesBefore(const CrashInput& input, size_t dying, PastValues* past,
                       std::string_view message) {
  KnownPlaces places(input.session);
  const MachineThread thread = input.machine.At(dying);
  CrashFrees frees;
  std::vector<LastCall> calls = CallsOf(input, dying);
  for (const LastCall& call : calls) {
    if (!IsFree(places.Of(call.space, call.entry).function)) continue;
    if (!call.has_returned && !frees.block) frees.block = BlockOf(past, thread, call);
    const CrashPlace& site = places.Of(call.space, call.site);
    if (call.has_returned && call.site != 0 && !IsOfEnding(site))
      frees.calls.push_back({site, call.number, BlockOf(past, thread, call)});
  }
  std::ranges::reverse(frees.calls);
  const bool is_twice = frees.block && message.contains("double free");
  const uint64_t allocated = is_twice ? AllocatedAt(*past, thread, places, calls, *frees.block) : 0;
  const auto is_same = [&](const CrashFree& one) {
    return one.block == frees.block && one.number > allocated;
  };
  if (is_twice && std::ranges::any_of(frees.calls, is_same)) {
    frees.is_same_block = true;
    std::erase_if(frees.calls, [&](const CrashFree& one) { return !is_same(one); });
  }
  if (frees.calls.size() > kMostFrees) frees.calls.resize(kMostFrees);
  return frees;
}

std::vector<CrashSuspect> ReturnedLast(const CrashInput& input, size_t dying, size_t most) {
  KnownPlaces places(input.session);
  std::vector<LastCall> calls = CallsOf(input, dying);
  std::erase_if(calls, [](const LastCall& call) { return call.is_open(); });
  std::ranges::sort(calls, std::ranges::greater{}, &LastCall::end_number);
  std::vector<CrashSuspect> suspects;
  for (const LastCall& call : calls) {
    const CrashPlace& place = places.Of(call.space, call.entry);
    if (IsOfEnding(place) || place.object.empty() || place.function.ends_with("@plt")) continue;
    if (call.space != nullptr && TellsItsPlace(*call.space, call.entry)) continue;
    const auto is_it = [&](const CrashSuspect& one) {
      return one.function.address == place.address;
    };
    if (std::ranges::any_of(suspects, is_it)) continue;
    suspects.push_back({.function = place, .last_store = {}});
    if (const uint64_t store = LastStoreOf(input, dying, call); store != 0)
      suspects.back().last_store = places.Of(call.space, store);
    if (suspects.size() == most) break;
  }
  return suspects;
}

}  // namespace flowback
