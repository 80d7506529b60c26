// SPDX-License-Identifier: MIT
#include "capture/emulate/stale_code.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <utility>

#include "capture/record/target/process_maps.h"

namespace flowback::emulate {
namespace {

using record::ExecutableMapping;

// The place where a byte of memory is kept, whichever addresses map it.
using Backing = std::pair<std::string, uint64_t>;

constexpr uint64_t PageOf(uint64_t address) {
  return address / StaleCode::kPage * StaleCode::kPage;
}

}  // namespace

void StaleCode::Keep(uint64_t start, Bytes code, uint64_t base) {
  bool is_new = false;
  for (size_t i = 0; i < code.size(); ++i) {
    const auto [found, added] = pages_.try_emplace(PageOf(start + i));
    is_new = is_new || added;
    found->second.bytes[(start + i) % kPage] = code[i];
    found->second.is_code[(start + i) % kPage] = true;
  }
  // A fault takes the protection off.
  if (is_new) all_armed_ = false;
  Arm(base);
}

void StaleCode::Arm(uint64_t base) {
  if (pages_.empty() || all_armed_) return;
  all_armed_ = true;
  const std::vector<ExecutableMapping> mappings = record::ReadMappings(getpid());
  std::set<Backing> kept;
  std::set<uint64_t> own;
  for (const ExecutableMapping& mapping : mappings) {
    if (!mapping.shared) continue;
    for (uint64_t host = mapping.begin; host < mapping.end; host += kPage) {
      if (!pages_.contains(host - base)) continue;
      kept.insert({mapping.identity, mapping.file_offset + (host - mapping.begin)});
      own.insert(host);
    }
  }
  // Where its own page is writable, the emulator protects that itself.
  for (const ExecutableMapping& mapping : mappings) {
    if (!mapping.shared || !mapping.writable) continue;
    for (uint64_t host = mapping.begin; host < mapping.end; host += kPage)
      if (!own.contains(host) &&
          kept.contains({mapping.identity, mapping.file_offset + (host - mapping.begin)}))
        ArmPage(host);
  }
}

// If the table is full, the page stays writable: writes to it are found later.
void StaleCode::ArmPage(uint64_t host_page) {
  if (armed_count_ >= kMostArmed / 2) return;
  size_t at = host_page / kPage % kMostArmed;
  while (armed_[at] > 1) at = (at + 1) % kMostArmed;
  armed_[at] = host_page;
  ++armed_count_;
  mprotect(reinterpret_cast<void*>(host_page), kPage, PROT_READ);
}

void StaleCode::Disarm() {
  if (armed_count_ == 0) return;
  all_armed_ = false;
  for (std::atomic<uint64_t>& entry : armed_)
    if (const uint64_t page = entry.exchange(0); page > 1)
      mprotect(reinterpret_cast<void*>(page), kPage, PROT_READ | PROT_WRITE);
  armed_count_ = 0;
}

bool StaleCode::OnWriteFault(uint64_t address) {
  const uint64_t page = PageOf(address);
  if (armed_count_ == 0) return false;
  for (size_t i = 0, at = page / kPage % kMostArmed; i < kMostArmed; ++i) {
    uint64_t expected = page;
    if (armed_[at].compare_exchange_strong(expected, 1)) {
      --armed_count_;
      all_armed_ = false;
      return mprotect(reinterpret_cast<void*>(page), kPage, PROT_READ | PROT_WRITE) == 0;
    }
    if (expected == 0) return false;
    at = (at + 1) % kMostArmed;
  }
  return false;
}

void StaleCode::Forget(uint64_t begin, uint64_t end) {
  pages_.erase(pages_.lower_bound(PageOf(begin)), pages_.lower_bound(end));
}

bool StaleCode::HasChanged(uint64_t begin, uint64_t end, const GuestMemory& memory) const {
  for (auto it = pages_.lower_bound(PageOf(begin)); it != pages_.end() && it->first < end; ++it) {
    const auto& [address, page] = *it;
    std::array<uint8_t, kPage> now;
    if (!memory.Read(address, now.data(), kPage) || now == page.bytes) continue;
    for (uint64_t i = address < begin ? begin - address : 0; i < kPage && address + i < end; ++i)
      if (page.is_code[i] && now[i] != page.bytes[i]) return true;
  }
  return false;
}

}  // namespace flowback::emulate
