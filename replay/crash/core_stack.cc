// SPDX-License-Identifier: MIT
#include "replay/crash/core_stack.h"

#include <algorithm>
#include <array>
#include <bit>
#include <span>
#include <string_view>

#include "flowback/base/bytes.h"
#include "replay/calls/stack_unwinder.h"

namespace flowback {
namespace {

using End = CoreStack::End;

constexpr size_t kMostFrames = 100'000;
constexpr uint64_t kWord = 8;
constexpr size_t kCounter = 8;  // the kernel's number of the program counter
constexpr size_t kStackPointer = 7;

// By the kernel's numbers of the registers in a sample. Segments and flags are of no use.
constexpr std::array<std::string_view, 24> kSampled = {
    "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp", "rip", "",    "",    "",
    "",    "",    "",    "",    "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};

class DumpUnwinder {
 public:
  DumpUnwinder(const EndCore& core, int32_t tid, CodeMode mode)
      : core_(core), tid_(tid), mode_(mode) {}

  // Empty: the dump lacks the registers.
  std::optional<UnwoundStack> Unwind(const AddressSpace& space, const LastTransfer& wild) {
    for (size_t number = 0; number < kSampled.size(); ++number) {
      if (kSampled[number].empty()) continue;
      const auto value = core_.Register(tid_, kSampled[number]);
      if (!value) return std::nullopt;
      registers_[number] = *value;
    }
    const uint64_t place = registers_[kCounter], stack = registers_[kStackPointer];
    if (wild.kind != LastTransfer::Kind::kOther) {
      const bool is_call = wild.kind == LastTransfer::Kind::kCall;
      registers_[kCounter] = wild.address;
      registers_[kStackPointer] = is_call ? stack + kWord : stack - kWord;
    }
    UnwoundStack unwound = UnwindRegisters(space);
    // A call has left where it returns to on the stack; the frame of what it called is the place.
    if (wild.kind == LastTransfer::Kind::kCall && !unwound.addresses.empty()) {
      std::array<uint8_t, kWord> bytes{};
      if (core_.Memory(stack, bytes) != kWord) return std::nullopt;
      unwound.addresses.front() = LoadLittleEndian(bytes.data(), kWord);
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
    for (size_t number = 0; number < kSampled.size(); ++number) {
      if (kSampled[number].empty()) continue;
      words.push_back(registers_[number]);
      mask |= uint64_t{1} << number;
    }
    const Bytes bytes(reinterpret_cast<const uint8_t*>(words.data()), words.size() * kWord);
    const bool is_swapped = std::endian::native == std::endian::big;
    const StackCopy copy{.registers = {bytes, is_swapped}, .mask = mask, .memory = {}};
    StackUnwinder unwinder(mode_);
    return unwinder.Unwind(
        copy, space,
        {.read = [this](uint64_t address,
                        std::span<uint8_t> to) { return core_.Memory(address, to); },
         .most_frames = kMostFrames});
  }

  const EndCore& core_;
  const int32_t tid_;
  const CodeMode mode_;
  std::array<uint64_t, kSampled.size()> registers_{};
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

void Compare(const ThreadStack& flow, End unwound, CoreStack& stack) {
  for (const uint64_t address : stack.addresses) {
    if (!IsKnown(flow, stack.compared)) {
      stack.end = End::kFlowEnds;
      return;
    }
    if (flow.frames[stack.compared].address != address) {
      stack.end = End::kDisagree;
      return;
    }
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
  if (space == nullptr || mode != CodeMode::kX86_64 || !IsKnown(flow, 0)) return std::nullopt;
  const auto unwound = DumpUnwinder(core, tid, mode).Unwind(*space, {});
  constexpr size_t kInterrupted = 2;  // behind the handler and what it returns to
  const bool is_it = unwound && unwound->addresses.size() > kInterrupted &&
                     unwound->exact[kInterrupted] && !unwound->exact[kInterrupted - 1] &&
                     unwound->addresses[kInterrupted] == flow.frames.front().address &&
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
  if (space == nullptr || mode != CodeMode::kX86_64) return stack;
  const auto unwound = DumpUnwinder(core, tid, mode).Unwind(*space, wild);
  if (!unwound) return stack;
  stack.addresses = WithoutTrampolines(*unwound);
  // Another place than the flow's: nothing of it can be compared.
  if (stack.addresses.empty() || !IsKnown(flow, 0) ||
      stack.addresses.front() != flow.frames.front().address)
    return stack;
  Compare(flow, EndOf(unwound->end), stack);
  return stack;
}

}  // namespace flowback
