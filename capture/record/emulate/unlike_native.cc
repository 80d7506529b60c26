// SPDX-License-Identifier: MIT
#include "capture/record/emulate/unlike_native.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

namespace flowback::record {
namespace {

constexpr UnlikeNativeRow kUnlikeNativeRows[] = {
#define UNLIKE_NATIVE(identifier, call, condition, error, told, natively, emulated, instead) \
  {call, told, natively, emulated, instead},
#include "capture/record/emulate/unlike_native.def"
};

}  // namespace

std::span<const UnlikeNativeRow> UnlikeNativeRows() { return kUnlikeNativeRows; }

std::optional<UnlikeNativeCall> FindUnlikeNative(int64_t number, uint64_t a, int64_t result) {
  if (result != -ENOSYS && result != -EINVAL) return std::nullopt;
#define UNLIKE_NATIVE(identifier, call, condition, error, told, natively, emulated, instead) \
  if (told && result == -error && (condition)) return UnlikeNativeCall::identifier;
#include "capture/record/emulate/unlike_native.def"
  return std::nullopt;
}

}  // namespace flowback::record
