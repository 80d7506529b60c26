// SPDX-License-Identifier: MIT
#include "decode/code/process_code.h"

#include <utility>

namespace flowback {
namespace {

bool IsMapped(const AddressSpace& space, const CodeMapping& mapping) {
  const CodeMapping* found = space.Find(mapping.address);
  return found != nullptr && found->address == mapping.address && found->size == mapping.size &&
         found->section == mapping.section && found->section_offset == mapping.section_offset;
}

// What `from` has in the range is put into `to`, which has nothing there.
void CopyRange(const AddressSpace& from, uint64_t address, uint64_t size, AddressSpace& to) {
  AddressSpace part = from;
  part.Unmap(0, address);
  if (const uint64_t end = address + size; end > address) part.Unmap(end, ~end + 1);
  for (const CodeMapping& mapping : part.mappings()) to.Map(mapping);
}

}  // namespace

void ProcessCode::Map(uint64_t time, const CodeMapping& mapping) {
  if (IsMapped(recorded_, mapping)) return;
  if (recorded_.Overlaps(mapping.address, mapping.size)) StartEpoch(time);
  recorded_.Map(mapping);
  space_.Map(mapping);
}

void ProcessCode::Hide(uint64_t time, uint64_t address, uint64_t size,
                       std::shared_ptr<const CodeSection> reason) {
  if (recorded_.Overlaps(address, size)) {
    StartEpoch(time);
    recorded_.Unmap(address, size);
    space_.Unmap(address, size);
    CopyRange(*given_, address, size, space_);
  }
  if (reason != nullptr) space_.Explain(address, size, std::move(reason));
}

void ProcessCode::Amend(const CodeMapping& mapping) {
  recorded_.Map(mapping);
  space_.Map(mapping);
}

void ProcessCode::Exec(uint64_t time) {
  if (recorded_.empty()) return;
  StartEpoch(time);
  recorded_ = {};
  space_ = *given_;
}

void ProcessCode::Fork(uint64_t time, const ProcessCode& parent) {
  if (!recorded_.empty()) StartEpoch(time);
  recorded_ = parent.recorded_;
  space_ = parent.space_;
}

void ProcessCode::StartEpoch(uint64_t time) {
  // A record without a time, or out of order, can only refine the epoch that is being built.
  if (time <= epoch_time_ || time <= trace_start_) return;
  CloseEpoch();
  epoch_time_ = time;
}

void ProcessCode::CloseEpoch() {
  history_.epochs.push_back(
      {.time = epoch_time_, .space = std::make_shared<const AddressSpace>(space_)});
}

std::shared_ptr<const AddressSpaceHistory> ProcessCode::Finish() {
  CloseEpoch();
  return std::make_shared<const AddressSpaceHistory>(std::move(history_));
}

}  // namespace flowback
