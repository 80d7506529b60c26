// SPDX-License-Identifier: MIT
#include "capture/emulate/short_calls.h"

#include <sys/syscall.h>

#include "base/linux/linux_calls.h"

namespace flowback::emulate {
namespace {

// Calls that only 32-bit programs have.
constexpr int64_t kSignal = 48;
constexpr int64_t kSigaction = 67;
constexpr int64_t kOldMmap = 90;  // its arguments lie in memory
constexpr int64_t kIpc = 117;     // many calls in one

int64_t LongNumber(int64_t number) {
  if (number == kSignal) return kOldSignal;
  if (number == kSigaction) return kOldSigaction;
  return Renumbered(number, LinuxAbi::kI386, LinuxAbi::kX86_64).value_or(kOtherShortCall);
}

// Shared memory is the one part of it that matters.
int64_t LongNumberOfIpc(uint64_t what) {
  constexpr uint64_t kAttach = 21, kDetach = 22;
  switch (what & 0xffff) {
    case kAttach:
      return SYS_shmat;
    case kDetach:
      return SYS_shmdt;
    default:
      return kOtherShortCall;
  }
}

}  // namespace

GuestCall AsLongCall(const GuestCall& made, const GuestMemory& memory) {
  GuestCall call = made;
  // The emulator gives them as signed numbers.
  for (uint64_t& argument : call.arguments) argument = static_cast<uint32_t>(argument);
  call.number = LongNumber(made.number);
  if (made.number == kIpc) call.number = LongNumberOfIpc(call.arguments[0]);
  if (made.number != kOldMmap) return call;
  uint32_t words[6];
  if (!memory.Read(call.arguments[0], words, sizeof words)) return call;
  for (size_t i = 0; i < call.arguments.size(); ++i) call.arguments[i] = words[i];
  call.number = SYS_mmap;
  return call;
}

}  // namespace flowback::emulate
