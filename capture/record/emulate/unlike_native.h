// SPDX-License-Identifier: MIT
// What QEMU's user mode does otherwise than the kernel.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace flowback::record {

// A row of unlike_native.def, by its place there.
enum class UnlikeNativeCall : uint32_t {
#define UNLIKE_NATIVE(identifier, ...) identifier,
#include "capture/record/emulate/unlike_native.def"
  kCount
};
inline constexpr uint32_t kUnlikeNativeCalls = static_cast<uint32_t>(UnlikeNativeCall::kCount);

struct UnlikeNativeRow {
  const char* call;
  bool told;
  const char* natively;
  const char* emulated;
  const char* instead;
};
std::span<const UnlikeNativeRow> UnlikeNativeRows();

// Which row it is that the call with this first argument failed so; `result` as the kernel returns
// it. Empty: none that is reported.
std::optional<UnlikeNativeCall> FindUnlikeNative(int64_t number, uint64_t a, int64_t result);

}  // namespace flowback::record
