// SPDX-License-Identifier: MIT
#include "replay/crash/dump/core_stack.h"

#include <algorithm>
#include <array>
#include <bit>
#include <span>
#include <string_view>

#include "flowback/base/bytes.h"
#include "replay/calls/unwind/stack_unwinder.h"

namespace flowback {
namespace {

using End = CoreStack::End;

constexpr size_t kMostFrames = 100'000;

// Registers by the kernel's numbers of those in a sample. Segments and flags are of no use.
constexpr std::array<std::string_view, 24> kSampled64 = {
    "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp", "rip", "",    "",    "",
    "",    "",    "",    "",    "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};
constexpr std::array<std::string_view, 9> kSampled32 = {"eax", "ebx", "ecx", "edx", "esi",
                                                        "edi", "ebp", "esp", "eip"};
constexpr size_t kMostSampled = 33;  // of AArch64: x0 to x30, the stack pointer, the counter

std::span<const std::string_view> SampledOf(CodeMode mode) {
  switch (mode) {
    case CodeMode::kX86_64:
      return kSampled64;
    case CodeMode::kX86_32:
      return kSampled32;
    case CodeMode::kAArch64:
      return CoreLayoutOf(mode)->registers.first(kMostSampled);
    default:
      return {};
  }
}

struct SampledPlaces {
  size_t stack_pointer = 0;
  size_t counter = 0;
  // AArch64: where a call leaves the address that it returns to, which x86 has on the stack.
  std::optional<size_t> link{};
};
SampledPlaces PlacesOf(CodeMode mode) {
  if (mode == CodeMode::kAArch64) return {.stack_pointer = 31, .counter = 32, .link = 30};
  return {.stack_pointer = 7, .counter = 8};
}

class DumpUnwinder {
 public:
  DumpUnwinder(const EndCore& core, int32_t tid, CodeMode mode)
      : core_(core), tid_(tid), mode_(mode), names_(SampledOf(mode)), places_(PlacesOf(mode)) {}

  // Empty: the dump lacks the registers.
  std::optional<UnwoundStack> Unwind(const AddressSpace& space, const LastTransfer& wild) {
    if (names_.empty()) return std::nullopt;
    for (size_t number = 0; number < names_.size(); ++number) {
      if (names_[number].empty()) continue;
      const auto value = core_.Register(tid_, names_[number]);
      if (!value) return std::nullopt;
      registers_[number] = *value;
    }
    const uint64_t place = registers_[places_.counter];
    const bool is_call = wild.kind == LastTransfer::Kind::kCall;
    const auto back = is_call ? ReturnAddress() : std::nullopt;
    if (wild.kind != LastTransfer::Kind::kOther) {
      registers_[places_.counter] = wild.address;
      if (!places_.link) registers_[places_.stack_pointer] += is_call ? Word() : 0 - Word();
    }
    UnwoundStack unwound = UnwindRegisters(space);
    // A call has left where it returns to; the frame of what it called is the place.
    if (is_call && !unwound.addresses.empty()) {
      if (!back) return std::nullopt;
      unwound.addresses.front() = *back;
      unwound.exact.front() = false;
      unwound.addresses.insert(unwound.addresses.begin(), place);
      unwound.exact.insert(unwound.exact.begin(), true);
    }
    return unwound;
  }

 private:
  UnwoundStack UnwindRegisters(const AddressSpace& space) {
    std::vector<uint64_t> words;
    uint64_t mask = 0;
    for (size_t number = 0; number < names_.size(); ++number) {
      if (names_[number].empty()) continue;
      words.push_back(registers_[number]);
      mask |= uint64_t{1} << number;
    }
    const Bytes bytes(reinterpret_cast<const uint8_t*>(words.data()),
                      words.size() * sizeof(uint64_t));
    const bool is_swapped = std::endian::native == std::endian::big;
    const StackCopy copy{.registers = {bytes, is_swapped}, .mask = mask, .memory = {}};
    StackUnwinder unwinder(mode_);
    return unwinder.Unwind(
        copy, space,
        {.read = [this](uint64_t address,
                        std::span<uint8_t> to) { return core_.Memory(address, to); },
         .most_frames = kMostFrames});
  }

  uint64_t Word() const { return TraitsOf(mode_).bits / 8; }
  // Where the call that executed last returns to.
  std::optional<uint64_t> ReturnAddress() const {
    if (places_.link) return registers_[*places_.link];
    std::array<uint8_t, sizeof(uint64_t)> bytes{};
    const std::span<uint8_t> word = std::span(bytes).first(Word());
    if (core_.Memory(registers_[places_.stack_pointer], word) != Word()) return std::nullopt;
    return LoadLittleEndian(bytes.data(), static_cast<unsigned>(Word()));
  }

  const EndCore& core_;
  const int32_t tid_;
  const CodeMode mode_;
  const std::span<const std::string_view> names_;
  const SampledPlaces places_;
  std::array<uint64_t, kMostSampled> registers_{};
};

// What the kernel returns to from a signal's handler is a frame to the tables, and none to the
// flow.
std::vector<uint64_t> WithoutTrampolines(const UnwoundStack& unwound) {
  std::vector<uint64_t> addresses;
  for (size_t i = 0; i < unwound.addresses.size(); ++i) {
    const bool is_trampoline = i != 0 && i + 1 < unwound.exact.size() && unwound.exact[i + 1];
    if (!is_trampoline) addresses.push_back(unwound.addresses[i]);
  }
  return addresses;
}

End EndOf(UnwoundStack::End end) {
  switch (end) {
    case UnwoundStack::End::kOutermost:
      return End::kOutermost;
    case UnwoundStack::End::kNoRegisters:
      return End::kNoRegisters;
    case UnwoundStack::End::kNoTable:
      return End::kNoTable;
    case UnwoundStack::End::kCopyEnds:
      return End::kNoMemory;
    case UnwoundStack::End::kTooDeep:
      return End::kTooDeep;
  }
  return End::kNoTable;
}

// Where the flow knows every call, so that the other stack has no fewer frames.
bool IsKnown(const ThreadStack& flow, size_t frame) {
  return frame < flow.frames.size() && flow.frames[frame].address != 0 &&
         !flow.frames[frame].is_guess && !flow.frames[frame].repeats;
}

const AddressSpace* SpaceOf(const ThreadStack& flow) {
  const auto known = std::ranges::find_if(
      flow.frames, [](const StackFrame& frame) { return frame.space != nullptr; });
  return known == flow.frames.end() ? nullptr : known->space;
}

// Whether there is an INT 80h between the two addresses.
bool IsTrap(const AddressSpace& space, uint64_t address, uint64_t behind) {
  constexpr std::array<uint8_t, 2> kTrap = {0xcd, 0x80};
  std::array<uint8_t, kTrap.size()> code{};
  return behind == address + code.size() &&
         space.Read(address, code.data(), code.size()) == code.size() && code == kTrap;
}

// Whether the flow's frame is at the dump's address. The flow ends ahead of an INT 80h that has not
// returned, and the dump has it behind it.
bool IsAt(const AddressSpace& space, const StackFrame& frame, uint64_t address) {
  return frame.address == address || IsTrap(space, frame.address, address);
}

void Compare(const AddressSpace& space, const ThreadStack& flow, End unwound, CoreStack& stack) {
  for (uint64_t& address : stack.addresses) {
    if (!IsKnown(flow, stack.compared)) {
      stack.end = End::kFlowEnds;
      return;
    }
    if (!IsAt(space, flow.frames[stack.compared], address)) {
      stack.end = End::kDisagree;
      return;
    }
    address = flow.frames[stack.compared].address;
    ++stack.compared;
  }
  const bool goes_on = IsKnown(flow, stack.compared);
  stack.end = unwound == End::kOutermost && goes_on ? End::kDisagree : unwound;
}

}  // namespace

const char* Name(CoreStack::End end) {
  constexpr std::array<const char*, 7> kNames = {
      "disagree", "outermost", "no-memory", "no-table", "flow-ends", "too-deep", "no-registers"};
  return kNames[static_cast<size_t>(end)];
}

std::optional<StackFrame> UnseenHandlerOf(const EndCore& core, int32_t tid, const ThreadStack& flow,
                                          CodeMode mode) {
  const AddressSpace* const space = SpaceOf(flow);
  if (space == nullptr || core.mode() != mode || !IsKnown(flow, 0)) return std::nullopt;
  const auto unwound = DumpUnwinder(core, tid, mode).Unwind(*space, {});
  constexpr size_t kInterrupted = 2;  // behind the handler and what it returns to
  const bool is_it = unwound && unwound->addresses.size() > kInterrupted &&
                     unwound->exact[kInterrupted] && !unwound->exact[kInterrupted - 1] &&
                     IsAt(*space, flow.frames.front(), unwound->addresses[kInterrupted]) &&
                     unwound->addresses.front() != flow.frames.front().address;
  if (!is_it) return std::nullopt;
  const uint64_t place = unwound->addresses.front();
  return StackFrame{
      .address = place, .space = space, .entry_ip = place, .is_exact = true, .is_handler = true};
}

CoreStack CoreStackOf(const EndCore& core, int32_t tid, const ThreadStack& flow, CodeMode mode,
                      const LastTransfer& wild) {
  CoreStack stack;
  const AddressSpace* const space = SpaceOf(flow);
  if (space == nullptr || core.mode() != mode) return stack;
  const auto unwound = DumpUnwinder(core, tid, mode).Unwind(*space, wild);
  if (!unwound) return stack;
  stack.addresses = WithoutTrampolines(*unwound);
  // Another place than the flow's: nothing of it can be compared.
  if (stack.addresses.empty() || !IsKnown(flow, 0) ||
      !IsAt(*space, flow.frames.front(), stack.addresses.front()))
    return stack;
  Compare(*space, flow, EndOf(unwound->end), stack);
  return stack;
}

}  // namespace flowback
