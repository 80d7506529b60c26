// SPDX-License-Identifier: MIT
#include "decode/code/process_code.h"

#include <utility>

namespace flowback {
namespace {

// Whether the space has all of the mapping, be it as a part of a larger one.
bool IsMapped(const AddressSpace& space, const CodeMapping& mapping) {
  const CodeMapping* found = space.Find(mapping.address);
  if (found == nullptr || found->section != mapping.section) return false;
  const uint64_t skipped = mapping.address - found->address;
  return found->section_offset + skipped == mapping.section_offset &&
         mapping.size <= found->size - skipped;
}

}  // namespace

void CopyRange(const AddressSpace& from, uint64_t address, uint64_t size, AddressSpace& to) {
  AddressSpace part = from;
  part.Unmap(0, address);
  if (const uint64_t end = address + size; end > address) part.Unmap(end, ~end + 1);
  for (const CodeMapping& mapping : part.mappings()) to.Map(mapping);
}

void ProcessCode::Map(uint64_t time, const CodeMapping& mapping) {
  if (IsMapped(recorded_, mapping)) return;
  const bool replaces = recorded_.Overlaps(mapping.address, mapping.size);
  recorded_.Map(mapping);
  if (!replaces && lost_ && !StartsEpoch(mapping)) {
    waiting_time_ = time;
    return;
  }
  if (replaces || lost_) StartEpoch(time);
  space_.Map(mapping);
}

void ProcessCode::MapFile(uint64_t time, const CodeMapping& mapping) {
  Map(time, mapping);
  text_.Map(mapping);
}

// Whether a mapping begins an epoch at once where records were lost before it. One that does not
// waits for the next one that does.
bool ProcessCode::StartsEpoch(const CodeMapping& mapping) {
  constexpr size_t kMost = 64;  // then one for a quarter more mappings
  ++lost_mappings_;
  if (lost_epochs_ < kMost || waiting_.size() * 4 >= lost_mappings_) {
    ++lost_epochs_;
    return true;
  }
  waiting_.push_back(mapping);
  return false;
}

void ProcessCode::MapWaiting() {
  for (const CodeMapping& mapping : waiting_)
    if (IsMapped(recorded_, mapping)) space_.Map(mapping);
  waiting_.clear();
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
  if (recorded_.empty() && !lost_) return;
  StartEpoch(time);
  program_ = epoch_time_ == time && !history_.epochs.empty();
  lost_ = false;
  lost_epochs_ = lost_mappings_ = 0;
  waiting_.clear();
  recorded_ = {};
  text_ = {};
  space_ = *given_;
}

void ProcessCode::Fork(uint64_t time, const ProcessCode& parent) {
  if (!recorded_.empty() || lost_) StartEpoch(time);
  lost_ = parent.lost_;
  recorded_ = parent.recorded_;
  text_ = parent.text_;
  space_ = parent.space_;
  waiting_ = parent.waiting_;
  MapWaiting();
}

void ProcessCode::StartEpoch(uint64_t time) {
  // A record without a time, or out of order, can only refine the epoch that is being built.
  if (time <= epoch_time_ || time <= trace_start_) return;
  CloseEpoch();
  epoch_time_ = time;
  program_ = false;
  began_lost_ = lost_;
  MapWaiting();
}

void ProcessCode::CloseEpoch() {
  history_.epochs.push_back({.time = epoch_time_,
                             .space = std::make_shared<const AddressSpace>(space_),
                             .records_lost = began_lost_ || lost_,
                             .program = program_});
}

std::shared_ptr<const AddressSpaceHistory> ProcessCode::Finish() {
  if (!waiting_.empty()) StartEpoch(waiting_time_);
  CloseEpoch();
  return std::make_shared<const AddressSpaceHistory>(std::move(history_));
}

}  // namespace flowback
