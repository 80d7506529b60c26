// SPDX-License-Identifier: MIT
#include "capture/emulate/short_calls.h"

#include <sys/syscall.h>

namespace flowback::emulate {
namespace {

constexpr int64_t kOldMmap = 90;     // its arguments lie in memory
constexpr int64_t kIpc = 117;        // many calls in one
constexpr int64_t kFirstSame = 424;  // from here on both kinds have the same numbers

int64_t LongNumber(int64_t number) {
  switch (number) {
#define SHORT_CALL(short_number, long_number) \
  case short_number:                          \
    return long_number;
#include "capture/emulate/short_calls.def"
    default:
      return number >= kFirstSame ? number : kOtherShortCall;
  }
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

SystemCall AsLongCall(const SystemCall& made, const GuestMemory& memory) {
  SystemCall call = made;
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
