// SPDX-License-Identifier: MIT
#include "replay/calls/shadow_stack/call_bytes.h"

namespace flowback {
namespace {

// A call's first byte.
constexpr uint8_t kCall = 1;  // without it, no call is left
constexpr unsigned kEntryShift = 1;
constexpr uint8_t kEntryMask = 7;
constexpr uint8_t kViaStub = 1 << 4;
constexpr uint8_t kIsStub = 1 << 5;
constexpr uint8_t kResumes = 1 << 6;
constexpr uint8_t kRepeats = 1 << 7;

}  // namespace

void CallWriter::Space(const AddressSpace* space) {
  if (space == nullptr) return Number(0);
  ok_ &= spaces_.Has(space);
  if (ok_) Number(uint64_t{spaces_.Of(space)} + 1);
}

void CallWriter::Calls(const std::vector<Call>& calls) {
  Call before;
  for (const Call& call : calls) {
    Put(call, before);
    if (!ok_) return;
    before = call;
  }
  Number(0);
}

void CallWriter::Put(const Call& call, const Call& before) {
  ok_ &= functions_.Find(call.space, call.entry_ip).id == call.function;
  Number(uint64_t{kCall} | uint64_t{static_cast<uint8_t>(call.entry)} << kEntryShift |
         (call.via_stub ? kViaStub : 0U) | (call.is_stub ? kIsStub : 0U) |
         (call.resume != 0 ? kResumes : 0U) | (call.repeats ? kRepeats : 0U));
  Space(call.space);
  Distance(before.entry_ip, call.entry_ip);
  Distance(before.entry_ip, call.site);
  Distance(call.site, call.return_address);
  if (call.resume != 0) Number(call.resume);
  Distance(before.tsc, call.tsc);
  Bounds(call.tsc, call.bounds);
  Distance(before.instructions_before, call.instructions_before);
  Distance(before.elsewhere_before, call.elsewhere_before);
  Number(call.self);
  Number(call.stack_use);
  Number(call.kept_in);
}

const AddressSpace* CallReader::Space() {
  const uint64_t name = Number();
  if (name == 0) return nullptr;
  const AddressSpace* space =
      name <= UINT32_MAX ? spaces_.Find(static_cast<uint32_t>(name - 1)) : nullptr;
  if (space == nullptr) Fail();
  return space;
}

std::vector<Call> CallReader::Calls() {
  std::vector<Call> calls;
  Call before;
  for (;;) {
    const uint64_t head = Number();
    if (!ok() || head == 0) return calls;
    if ((head & kCall) == 0 || head > 0xff || calls.size() == CallStack::kMostCalls) {
      Fail();
      return calls;
    }
    before = Get(static_cast<uint8_t>(head), before);
    if (!ok()) return calls;
    calls.push_back(before);
  }
}

Call CallReader::Get(uint8_t head, const Call& before) {
  Call call;
  const uint8_t entry = head >> kEntryShift & kEntryMask;
  if (entry > static_cast<uint8_t>(CallEntry::kNewStack)) Fail();
  call.entry = static_cast<CallEntry>(entry);
  call.via_stub = (head & kViaStub) != 0;
  call.is_stub = (head & kIsStub) != 0;
  call.repeats = (head & kRepeats) != 0;
  call.space = Space();
  call.entry_ip = Distance(before.entry_ip);
  call.site = Distance(before.entry_ip);
  call.return_address = Distance(call.site);
  if ((head & kResumes) != 0) call.resume = Number();
  call.tsc = Distance(before.tsc);
  call.bounds = Bounds(call.tsc);
  call.instructions_before = Distance(before.instructions_before);
  call.elsewhere_before = Distance(before.elsewhere_before);
  call.self = Number();
  call.stack_use = static_cast<uint8_t>(Number());
  call.kept_in = static_cast<uint32_t>(Number());
  if (ok()) call.function = functions_.Find(call.space, call.entry_ip).id;
  return call;
}

}  // namespace flowback
