// SPDX-License-Identifier: MIT
// Recording between two functions. Where a block begins at one, its callback is a slow one; where
// one lies inside a block, that instruction gets a callback of its own.
#include "capture/emulate/emulated_process.h"
#include "capture/record/watch/region_log.h"

namespace flowback::emulate {

using record::MessageHeader;
using record::MessageKind;
using record::RecordingSwitch;

// Looks for the functions in a newly mapped file.
void EmulatedProcess::WatchFunctions(uint64_t tsc, const CodeRange& range) {
  for (const auto& found :
       watch_.OnMapping(range.begin, range.end, range.file_offset, range.path)) {
    MessageHeader message{.kind = MessageKind::kFunction};
    message.address = found.address;
    message.offset = static_cast<uint64_t>(found.turns);
    Broadcast(tsc, message, found.text);
  }
}

std::vector<std::pair<size_t, Block*>> EmulatedProcess::SwitchesInside(
    const Block& block, Bytes code, const std::vector<uint8_t>& lengths) {
  std::vector<std::pair<size_t, Block*>> result;
  if (!watch_.watches()) return result;
  const std::lock_guard lock(mutex_);
  if (watch_.FirstIn(block.start + 1, block.end) == 0) return result;
  uint64_t at = 0;
  for (size_t i = 0; i < block.lengths.size(); at += lengths[i++]) {
    if (i == 0 || watch_.At(block.start + at) == RecordingSwitch::kNone) continue;
    const auto rest = lengths.begin() + static_cast<std::ptrdiff_t>(i);
    result.push_back({i, &blocks_.Add(block.start + at, code.subspan(at), {rest, lengths.end()})});
  }
  return result;
}

RecordingSwitch EmulatedProcess::SwitchAt(uint64_t address) {
  const std::lock_guard lock(mutex_);
  return watch_.At(address);
}

// The function's argument: a text, by the convention of the instruction set. For AArch64 programs
// the register is not known.
std::string EmulatedProcess::RegionName(const GuestRegisters& registers) {
  const std::lock_guard lock(mutex_);
  const GuestRegisters read = ReadRegisters(&registers, setup_.mode);
  uint64_t address = 0;
  if (setup_.mode == CodeMode::kX86_64) address = read.rdi;
  if (setup_.mode == CodeMode::kX86_32)
    address = memory_.Word(read.rsp + memory_.word_size()).value_or(0);
  constexpr uint64_t kLongestText = 4096;
  return memory_.Text(address, kLongestText).value_or("").substr(0, record::kLongestRegionName);
}

// Writes the name of a region where it begins or ends, if only regions are recorded.
void EmulatedProcess::TellRegion(ThreadTracer& thread, RecordingSwitch turns,
                                 const GuestRegisters& registers) {
  const bool begins = turns == RecordingSwitch::kOn && thread.off();
  const bool ends = turns == RecordingSwitch::kOff && !thread.off();
  if (!(begins || ends) || !record::WatchesRegions(setup_.watched)) return;
  MessageHeader message{.kind = MessageKind::kRegion};
  message.offset = static_cast<uint64_t>(turns);
  thread.Send(message, begins ? RegionName(registers) : "");
}

// The thread is at the beginning of a block where a function begins.
void EmulatedProcess::EnterFunction(ThreadTracer& thread, const Block& block,
                                    const GuestRegisters& registers) {
  const RecordingSwitch turns = SwitchAt(block.start);
  TellRegion(thread, turns, registers);
  if (turns == RecordingSwitch::kOn) thread.SwitchOn();
  // Records the flow before it, and its end: a signal may have come.
  if (turns != RecordingSwitch::kOff || !thread.in_kernel()) EnterBlock(thread, block, registers);
  if (turns == RecordingSwitch::kOff) thread.SwitchOff();
}

void EmulatedProcess::OnSwitchInside(unsigned vcpu, const Block& rest) {
  ThreadTracer* thread = Thread(vcpu);
  if (thread == nullptr || !thread->open()) return;
  const RecordingSwitch turns = SwitchAt(rest.start);
  if (turns == RecordingSwitch::kOff) thread->SwitchOffInside(rest.start);
  if (turns != RecordingSwitch::kOn || !thread->off()) return;
  thread->SwitchOn();
  thread->Enter(rest);
}

}  // namespace flowback::emulate
