// SPDX-License-Identifier: MIT
#include "replay/crash/suspects.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "replay/crash/crash_kind.h"
#include "replay/crash/crash_threads.h"
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
  return LastCallsBefore(cursor, kCallWindow, SIZE_MAX);
}

std::optional<uint64_t> BlockOf(PastValues* past, const MachineThread& thread,
                                const LastCall& call) {
  const char* const argument = thread.instruction.mode == CodeMode::kAArch64 ? "x0" : "rdi";
  return past == nullptr ? std::nullopt : past->RegisterBefore(thread, call.number, argument);
}

bool IsAllocation(std::string_view name) {
  constexpr std::array<std::string_view, 3> kParts = {"alloc", "memalign", "operator new"};
  return std::ranges::any_of(kParts, [&](std::string_view part) { return name.contains(part); });
}

// Whether the call may have returned the block: any call may allocate it, by a jump at its end.
bool MayReturn(PastValues& past, const MachineThread& thread, const LastCall& call, uint64_t block,
               std::string_view name) {
  const char* const result = thread.instruction.mode == CodeMode::kAArch64 ? "x0" : "rax";
  const auto returned = past.RegisterBefore(thread, call.end_number, result);
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

std::vector<CrashPlace> ReturnedLast(const CrashInput& input, size_t dying, size_t most) {
  KnownPlaces places(input.session);
  std::vector<LastCall> calls = CallsOf(input, dying);
  std::erase_if(calls, [](const LastCall& call) { return !call.has_returned; });
  std::ranges::sort(calls, std::ranges::greater{}, &LastCall::end_number);
  std::vector<CrashPlace> functions;
  for (const LastCall& call : calls) {
    const CrashPlace& place = places.Of(call.space, call.entry);
    if (IsOfEnding(place) || place.object.empty() || place.function.ends_with("@plt")) continue;
    const auto is_it = [&](const CrashPlace& one) { return one.address == place.address; };
    if (std::ranges::none_of(functions, is_it)) functions.push_back(place);
    if (functions.size() == most) break;
  }
  return functions;
}

}  // namespace flowback
