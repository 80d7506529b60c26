// SPDX-License-Identifier: MIT
#include "decode/pt/libipt/code_reader.h"

#include <cstring>

namespace flowback::libipt {

void CodeReader::Select(uint64_t retired, uint64_t tsc) {
  if (history_ == nullptr || history_->epochs.empty()) return;
  // Without a clock nothing tells the epochs apart; the last one knows most mappings.
  const uint64_t now = tsc != 0 && time_.known() ? time_.ToNanoseconds(tsc) : ~uint64_t{0};
  const AddressSpaceHistory::Epoch* chosen = &history_->epochs.front();
  for (const AddressSpaceHistory::Epoch& epoch : history_->epochs)
    if (HasBegun(epoch, retired, now)) chosen = &epoch;
  if (chosen->space.get() == space_) return;
  space_ = chosen->space.get();
  mapping_ = nullptr;
}

bool CodeReader::HasBegun(const AddressSpaceHistory::Epoch& epoch, uint64_t retired,
                          uint64_t now) const {
  return history_->key == AddressSpaceHistory::Key::kInstructions ? epoch.instructions <= retired
                                                                  : epoch.time <= now;
}

int CodeReader::Read(uint8_t* buffer, size_t size, const pt_asid*, uint64_t ip, void* context) {
  auto* reader = static_cast<CodeReader*>(context);
  if (reader->space_ == nullptr) return -pte_nomap;
  const CodeMapping* mapping = reader->mapping_;
  if (mapping == nullptr || ip < mapping->address || ip - mapping->address >= mapping->size)
    reader->mapping_ = mapping = reader->space_->Find(ip);
  if (mapping == nullptr) return -pte_nomap;
  const uint64_t into = ip - mapping->address;
  if (mapping->size - into < size) {
    const size_t read = reader->space_->Read(ip, buffer, size);
    return read != 0 ? static_cast<int>(read) : -pte_nomap;
  }
  const Bytes bytes = Slice(mapping->section->bytes(), mapping->section_offset + into, size);
  if (bytes.empty()) return -pte_nomap;
  std::memcpy(buffer, bytes.data(), bytes.size());
  return static_cast<int>(bytes.size());
}

}  // namespace flowback::libipt
