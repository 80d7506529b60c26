// SPDX-License-Identifier: MIT
#include "replay/crash/held_locks.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "replay/crash/crash_kind.h"

namespace flowback {
namespace {

// The thread that the dump says holds the mutex; 0: none does.
int32_t OwnerOf(uint64_t mutex, const EndCore& core) {
  constexpr uint64_t kOwner = 8;
  int32_t owner = 0, lock = 0;
  if (core.Memory(mutex, {reinterpret_cast<uint8_t*>(&lock), sizeof lock}) != sizeof lock ||
      lock == 0)
    return 0;
  const size_t read =
      core.Memory(mutex + kOwner, {reinterpret_cast<uint8_t*>(&owner), sizeof owner});
  const bool is_thread = read == sizeof owner && core.Counter(owner).has_value();
  return is_thread ? owner : 0;
}

}  // namespace

bool LocksMutex(std::string_view function) {
  constexpr std::array<std::string_view, 4> kNames = {"pthread_mutex_lock", "pthread_mutex_trylock",
                                                      "pthread_mutex_timedlock",
                                                      "pthread_mutex_clocklock"};
  // A call whose address the loader has yet to look up enters by its stub.
  constexpr std::string_view kStub = "@plt";
  if (function.ends_with(kStub)) function.remove_suffix(kStub.size());
  return std::ranges::find(kNames, OuterName(function)) != kNames.end();
}

std::vector<CrashMutex> HeldMutexes(int32_t tid, const std::vector<LastCall>& calls,
                                    const EndCore& core, const CallFacts& facts) {
  std::vector<CrashMutex> held;
  // For this call and all later ones, the mutex and the success are proven.
  bool is_last = true;
  for (auto call = calls.rbegin(); call != calls.rend(); ++call) {
    if (!call->has_returned || !LocksMutex(facts.name_of(*call))) continue;
    const auto address = facts.argument_of(*call), result = facts.result_of(*call);
    const bool has_failed = result && static_cast<int32_t>(*result) != 0;
    if (has_failed) continue;
    is_last = is_last && address && result;
    const bool is_new =
        address && std::ranges::find(held, *address, &CrashMutex::address) == held.end();
    if (is_new && OwnerOf(*address, core) == tid)
      held.push_back({.address = *address,
                      .owner = tid,
                      .site = is_last ? call->site : 0,
                      .space = call->space});
  }
  std::ranges::reverse(held);
  return held;
}

std::optional<CrashMutex> AwaitedMutex(const CrashSystemCall& last, const EndCore& core) {
  constexpr uint64_t kOperation = 0x7f, kWait = 0, kLockPi = 6, kWaitBitset = 9, kLockPi2 = 13;
  if (last.name != "futex" || last.has_returned || last.arguments.size() < 2) return std::nullopt;
  const auto& address = last.arguments[0].value;
  const auto& operation = last.arguments[1].value;
  if (!address || !operation) return std::nullopt;
  const uint64_t what = *operation & kOperation;
  if (what != kWait && what != kLockPi && what != kWaitBitset && what != kLockPi2)
    return std::nullopt;
  const int32_t owner = OwnerOf(*address, core);
  if (owner == 0) return std::nullopt;
  return CrashMutex{.address = *address, .owner = owner, .space = last.space};
}

}  // namespace flowback
