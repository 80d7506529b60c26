// SPDX-License-Identifier: MIT
#include "capture/emulate/code_versions.h"

#include <algorithm>
#include <utility>

namespace flowback::emulate {

void CodeVersions::NoteWritable(uint64_t begin, uint64_t end) {
  uint64_t& known = writable_[begin];
  known = std::max(known, end);
}

bool CodeVersions::IsWritable(uint64_t address) const {
  return std::ranges::any_of(writable_, [address](const auto& range) {
    return address >= range.first && address < range.second;
  });
}

void CodeVersions::Forget(uint64_t begin, uint64_t end) {
  pages_.erase(pages_.lower_bound(begin), pages_.lower_bound(end));
  std::erase_if(writable_, [begin, end](const auto& range) {
    return range.first >= begin && range.second <= end;
  });
}

void CodeVersions::Update(uint64_t start, Bytes code, const GuestMemory& memory, const Tell& tell) {
  if (code.empty()) return;
  for (uint64_t page = start / kPage * kPage; page < start + code.size(); page += kPage)
    if (UpdatePage(page, start, code, memory)) tell(page, pages_[page]);
}

// Whether there is something new. The translated bytes count, even if memory has changed since.
bool CodeVersions::UpdatePage(uint64_t page, uint64_t start, Bytes code,
                              const GuestMemory& memory) {
  const uint64_t begin = std::max(start, page);
  const uint64_t end = std::min(start + code.size(), page + kPage);
  const Bytes part = code.subspan(begin - start, end - begin);
  const auto at = static_cast<std::ptrdiff_t>(begin - page);
  if (const auto known = pages_.find(page);
      known != pages_.end() && std::equal(part.begin(), part.end(), known->second.begin() + at))
    return false;
  std::vector<uint8_t> bytes(kPage);
  // Should it not be readable any more, the instructions are all that is known.
  if (!memory.Read(page, bytes.data(), kPage)) bytes.assign(kPage, 0);
  std::copy(part.begin(), part.end(), bytes.begin() + at);
  pages_[page] = std::move(bytes);
  return true;
}

void CodeVersions::Repeat(uint64_t begin, uint64_t end, const Tell& tell) const {
  for (auto it = pages_.lower_bound(begin / kPage * kPage); it != pages_.end() && it->first < end;
       ++it)
    tell(it->first, it->second);
}

}  // namespace flowback::emulate
