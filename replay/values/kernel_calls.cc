// SPDX-License-Identifier: MIT
#include "replay/values/kernel_calls.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "base/linux/linux_call_names.h"

namespace flowback::values {
namespace {

constexpr uint8_t kResult = CallValues::kArguments;
constexpr uint64_t kMostNumber = 511;

// One buffer of a row: as many bytes as its size argument times `each`, and `more`.
struct CallBuffer {
  uint8_t pointer = 0;
  uint8_t size = kResult;  // kResult: `more` is all
  uint64_t each = 0;
  uint64_t more = 0;
  bool pages = false;
};

constexpr CallBuffer Fixed(uint8_t pointer, uint64_t bytes) {
  return {.pointer = pointer, .more = bytes};
}
constexpr CallBuffer Sized(uint8_t pointer, uint8_t size, uint64_t each = 1, uint64_t more = 0) {
  return {.pointer = pointer, .size = size, .each = each, .more = more};
}
constexpr CallBuffer Pages(uint8_t pointer, uint8_t size) {
  return {.pointer = pointer, .size = size, .each = 1, .pages = true};
}

struct CallRow {
  std::string_view name;
  std::array<CallBuffer, KernelWrites::kMost> buffers{};
  size_t count = 0;

  constexpr CallRow(std::string_view its_name, std::initializer_list<CallBuffer> its_buffers)
      : name(its_name), count(its_buffers.size()) {
    std::ranges::copy(its_buffers, buffers.begin());
  }
};

constexpr CallRow kRows[] = {
#define FLOWBACK_CALL_WRITES(name, ...) CallRow(#name, {__VA_ARGS__}),
#include "replay/values/call_writes.def"
};

LinuxAbi AbiOf(CodeMode mode) {
  if (mode == CodeMode::kAArch64) return LinuxAbi::kAArch64;
  return mode == CodeMode::kX86_32 ? LinuxAbi::kI386 : LinuxAbi::kX86_64;
}

// By the number of a call; null: it has no row.
std::vector<const CallRow*> RowsOf(CodeMode mode) {
  std::vector<const CallRow*> rows(kMostNumber + 1);
  for (uint32_t number = 0; number <= kMostNumber; ++number) {
    const std::string_view name = LinuxCallName(number, AbiOf(mode));
    // On 32-bit x86 these take one argument, which points to theirs.
    if (mode == CodeMode::kX86_32 && (name == "mmap" || name == "select")) continue;
    const auto* const row = std::ranges::find(kRows, name, &CallRow::name);
    if (row != std::end(kRows) && !name.empty()) rows[number] = row;
  }
  return rows;
}

const CallRow* RowOf(uint64_t number, CodeMode mode) {
  static const std::vector<const CallRow*> of_64 = RowsOf(CodeMode::kX86_64);
  static const std::vector<const CallRow*> of_32 = RowsOf(CodeMode::kX86_32);
  static const std::vector<const CallRow*> of_arm = RowsOf(CodeMode::kAArch64);
  if (number > kMostNumber) return nullptr;
  if (mode == CodeMode::kAArch64) return of_arm[number];
  return mode == CodeMode::kX86_32 ? of_32[number] : of_64[number];
}

KernelWrites Anywhere() { return {.anywhere = true}; }

// Works out where one call writes.
class CallBounds {
 public:
  explicit CallBounds(const CallValues& call) : call_(call) {}

  KernelWrites Of(const CallRow& row) {
    for (size_t i = 0; i < row.count; ++i) Add(row.buffers[i]);
    return writes_;
  }
  KernelWrites Of(std::initializer_list<CallBuffer> buffers) {
    for (const CallBuffer& buffer : buffers) Add(buffer);
    return writes_;
  }
  // The kernel takes these as numbers of 32 bits.
  bool IsOneOf(size_t argument, std::initializer_list<uint64_t> values) const {
    const KnownBits low = call_.arguments[argument].ZeroExtended(kIntBits);
    return low.all() && std::ranges::find(values, low.value) != values.end();
  }

 private:
  static constexpr unsigned kIntBits = 32;

  void Add(const CallBuffer& buffer) {
    constexpr uint64_t kMostBytes = uint64_t{1} << 47, kLargestPage = 0x10000;
    const KnownBits& pointer =
        buffer.pointer == kResult ? call_.result : call_.arguments[buffer.pointer];
    if (pointer == Proven(0) && !buffer.pages) return;
    const KnownBits size = buffer.size == kResult ? Proven(0) : call_.arguments[buffer.size];
    if (!pointer.all() || !size.all() || size.value > kMostBytes) {
      writes_ = Anywhere();
      return;
    }
    uint64_t bytes = size.value * buffer.each + buffer.more;
    if (buffer.pages) bytes = (bytes + kLargestPage - 1) / kLargestPage * kLargestPage;
    if (!writes_.anywhere) writes_.ranges[writes_.count++] = {pointer.value, bytes};
  }

  const CallValues& call_;
  KernelWrites writes_;
};

// Calls whose other arguments say what they do. Empty: the call is none of them, or may write
// anywhere.
KernelWrites OfOperation(const CallValues& call, std::string_view name, CodeMode mode) {
  CallBounds bounds(call);
  if (name == "futex" || name == "futex_time64") {
    constexpr uint64_t kFlags = 128 | 256;  // FUTEX_PRIVATE_FLAG, FUTEX_CLOCK_REALTIME
    CallValues plain = call;
    plain.arguments[1] = {.known = call.arguments[1].known | kFlags,
                          .value = call.arguments[1].value & ~kFlags};
    const CallBounds operation(plain);
    // Waiting, waking and moving of those that wait; then what changes the second or first word.
    if (operation.IsOneOf(1, {0, 1, 3, 4, 9, 10})) return {};
    if (operation.IsOneOf(1, {5})) return bounds.Of({Fixed(4, 4)});
    if (operation.IsOneOf(1, {6, 7, 8, 13})) return bounds.Of({Fixed(0, 4)});
    if (operation.IsOneOf(1, {11, 12})) return bounds.Of({Fixed(0, 4), Fixed(4, 4)});
  } else if (name == "ioctl") {
    if (bounds.IsOneOf(1, {0x5401})) return bounds.Of({Fixed(2, 64)});  // TCGETS
    if (bounds.IsOneOf(1, {0x5413})) return bounds.Of({Fixed(2, 8)});   // TIOCGWINSZ
    if (bounds.IsOneOf(1, {0x541b})) return bounds.Of({Fixed(2, 4)});   // FIONREAD
  } else if (name == "fcntl" || name == "fcntl64") {
    // Descriptors' numbers and flags, locks that are set, owners, signals, pipes' sizes.
    if (bounds.IsOneOf(1, {0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 13, 14, 37, 38, 1030, 1031, 1032}))
      return {};
  } else if (name == "prctl") {
    // Names, what the kernel may dump, signals at a parent's end, privileges, filters.
    if (bounds.IsOneOf(0, {1, 3, 4, 15, 22, 38})) return {};
    if (bounds.IsOneOf(0, {16})) return bounds.Of({Fixed(1, 16)});  // PR_GET_NAME
  } else if (name == "arch_prctl") {
    if (bounds.IsOneOf(0, {0x1001, 0x1002})) return {};                        // sets GS, FS
    if (bounds.IsOneOf(0, {0x1003, 0x1004})) return bounds.Of({Fixed(1, 8)});  // gets them
  } else if (name == "setsockopt") {
    if (bounds.IsOneOf(1, {1, 6})) return {};  // SOL_SOCKET, IPPROTO_TCP
  } else if (name == "brk") {
    if (call.arguments[0] == Proven(0)) return {};  // it asks where the end is
  } else if (name == "clone" && call.arguments[0].all()) {
    // A child of its own memory, or a thread: what that one does is its own flow.
    constexpr uint64_t kMemory = 0x100, kThread = 0x10000;
    const bool shares = (call.arguments[0].value & kMemory) != 0;
    const bool is_thread = (call.arguments[0].value & kThread) != 0;
    const uint8_t child = mode == CodeMode::kX86_64 ? 3 : 4;
    if (!shares || is_thread) return bounds.Of({Fixed(2, 4), Fixed(child, 4)});
  }
  return Anywhere();
}

}  // namespace

KernelWrites WritesOf(const CallValues& call, CodeMode mode) {
  if (!call.number.all()) return Anywhere();
  if (const CallRow* row = RowOf(call.number.value, mode)) return CallBounds(call).Of(*row);
  if (call.number.value > kMostNumber) return Anywhere();
  return OfOperation(call, LinuxCallName(static_cast<uint32_t>(call.number.value), AbiOf(mode)),
                     mode);
}

bool EndsThread(uint64_t number, CodeMode mode) {
  return number <= kMostNumber &&
         LinuxCallName(static_cast<uint32_t>(number), AbiOf(mode)) == "exit";
}

std::span<const uint8_t> CallArguments(CodeMode mode) {
  using Registers = std::array<uint8_t, CallValues::kArguments>;
  static constexpr Registers k64 = {7, 6, 2, 10, 8, 9};  // RDI, RSI, RDX, R10, R8, R9
  static constexpr Registers k32 = {3, 1, 2, 6, 7, 5};   // EBX, ECX, EDX, ESI, EDI, EBP
  static constexpr Registers kArm = {0, 1, 2, 3, 4, 5};
  switch (mode) {
    case CodeMode::kX86_64:
      return k64;
    case CodeMode::kX86_32:
      return k32;
    case CodeMode::kAArch64:
      return kArm;
    default:
      return {};
  }
}

uint8_t CallNumber(CodeMode mode) {
  constexpr uint8_t kArm = 8;
  return mode == CodeMode::kAArch64 ? kArm : 0;
}

bool MaySetBases(uint64_t number, CodeMode mode) {
  switch (mode) {
    case CodeMode::kX86_64:
      return number == 158;  // arch_prctl
    case CodeMode::kAArch64:
      return false;
    default:
      // modify_ldt, set_thread_area, arch_prctl
      return number == 123 || number == 243 || number == 384;
  }
}

}  // namespace flowback::values
