// SPDX-License-Identifier: MIT
#include "decode/pt/libipt/code_reader.h"

#include <cstring>

#include "decode/code/cache/block_cache.h"

namespace flowback::libipt {

void ImageReader::Select(uint64_t retired, uint64_t tsc) {
  const uint64_t now = tsc != 0 && time_.known() ? time_.ToNanoseconds(tsc) : 0;
  while (HasNext() && HasBegun(history_->epochs[epoch_ + 1], retired, now)) {
    const bool program = history_->epochs[epoch_ + 1].program;
    if (program && !program_.possible()) break;
    Use(epoch_ + 1);
    if (program) program_.Forget();
  }
}

void ImageReader::CheckProgram(uint64_t tsc) {
  if (tsc == 0 || !time_.known() || history_ == nullptr) return;
  const uint64_t now = time_.ToNanoseconds(tsc);
  for (size_t i = epoch_ + 1; i < history_->epochs.size() && history_->epochs[i].time <= now; ++i)
    if (history_->epochs[i].program) return program_.Allow();
  program_.Forget();
}

bool ImageReader::HasNext() const {
  return history_ != nullptr && epoch_ + 1 < history_->epochs.size();
}

bool ImageReader::HasBegun(const AddressSpaceHistory::Epoch& epoch, uint64_t retired,
                           uint64_t now) const {
  return history_->key == AddressSpaceHistory::Key::kInstructions ? epoch.instructions <= retired
                                                                  : epoch.time <= now;
}

void ImageReader::EnterStays(uint64_t offset) {
  for (; next_change_ < changes_->size() && (*changes_)[next_change_].offset <= offset;
       ++next_change_) {
    const ThreadStay& stay = *(*changes_)[next_change_].stay;
    UseHistory(stay.code.get());
    // Its process was there by then: an older one of the same number may have ended before.
    while (HasNext() && history_->key == AddressSpaceHistory::Key::kTime &&
           history_->epochs[epoch_ + 1].time <= stay.begin)
      Use(epoch_ + 1);
  }
}

void ImageReader::UseHistory(const AddressSpaceHistory* history) {
  if (history == history_) return;
  history_ = history;
  program_ = {};
  if (history_ != nullptr && !history_->epochs.empty()) Use(0);
}

void ImageReader::Rewind(const Place& place) {
  history_ = place.history;
  next_change_ = place.next_change;
  program_ = place.program;
  if (history_ != nullptr && !history_->epochs.empty()) Use(place.epoch);
}

void ImageReader::Use(size_t epoch) {
  epoch_ = epoch;
  space_ = history_->epochs[epoch].space.get();
  mapping_ = nullptr;
}

// The trace's clock may lag behind the kernel's: code that is mapped a moment later counts as
// mapped when it runs. That is not so if the current space explains what is missing there.
const CodeMapping* ImageReader::Find(uint64_t ip) {
  if (space_ == nullptr) return nullptr;
  if (const CodeMapping* mapping = space_->Find(ip)) return mapping;
  if (history_->key != AddressSpaceHistory::Key::kTime || !HasNext()) return nullptr;
  if (space_->WhyNothing(ip) != nullptr) return nullptr;
  const CodeMapping* next = history_->epochs[epoch_ + 1].space->Find(ip);
  if (next != nullptr) Use(epoch_ + 1);
  return next;
}

int ImageReader::Read(uint8_t* buffer, size_t size, const pt_asid*, uint64_t ip, void* context) {
  auto* reader = static_cast<ImageReader*>(context);
  const CodeMapping* mapping = reader->mapping_;
  if (mapping == nullptr || ip < mapping->address || ip - mapping->address >= mapping->size)
    reader->mapping_ = mapping = reader->Find(ip);
  if (mapping == nullptr) return -pte_nomap;
  const uint64_t into = ip - mapping->address;
  if (mapping->size - into < size) {
    const size_t read = reader->space_->Read(ip, buffer, size);
    return read != 0 ? static_cast<int>(read) : -pte_nomap;
  }
  const Bytes bytes = Slice(mapping->section->bytes(), mapping->section_offset + into, size);
  if (bytes.empty()) return -pte_nomap;
  std::memcpy(buffer, bytes.data(), bytes.size());
  mapping->section->blocks().NoteRead();
  return static_cast<int>(bytes.size());
}

}  // namespace flowback::libipt
