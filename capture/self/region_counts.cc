// SPDX-License-Identifier: MIT
#include "capture/self/region_counts.h"

#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace flowback::self {
namespace {

using record::RegionEntry;
using record::RegionTable;

// FNV-1a, of as much of the name as is kept.
uint64_t HashOf(const char* name, size_t size) {
  uint64_t hash = 0xcbf29ce484222325;
  for (size_t i = 0; i < size; ++i) hash = (hash ^ static_cast<uint8_t>(name[i])) * 0x100000001b3;
  return hash;
}

// Whether the entry is the name's, which takes a free one. Another writer of an entry finishes in a
// moment.
bool IsOf(RegionEntry& entry, const char* name, size_t size) {
  uint32_t state = RegionEntry::kNone;
  if (entry.state.compare_exchange_strong(state, RegionEntry::kTaken)) {
    std::memcpy(entry.name, name, size);
    entry.state.store(RegionEntry::kNamed, std::memory_order_release);
    return true;
  }
  while (entry.state.load(std::memory_order_acquire) == RegionEntry::kTaken) sched_yield();
  return std::memcmp(entry.name, name, size) == 0 && entry.name[size] == 0;
}

}  // namespace

RegionCounts RegionCounts::Create() {
  RegionCounts counts;
  counts.file_ = Descriptor(memfd_create("flowback-regions", MFD_CLOEXEC));
  if (*counts.file_ < 0 || ftruncate(*counts.file_, sizeof(RegionTable)) != 0) return counts;
  void* mapped =
      mmap(nullptr, sizeof(RegionTable), PROT_READ | PROT_WRITE, MAP_SHARED, *counts.file_, 0);
  if (mapped == MAP_FAILED) return counts;
  counts.table_ = static_cast<RegionTable*>(mapped);  // the file's zeros are its initial state
  counts.table_->version = record::kRegionTableVersion;
  counts.table_->entry_count = RegionTable::kEntries;
  counts.table_->magic = record::kRegionTableMagic;
  return counts;
}

RegionCounts::RegionCounts(RegionCounts&& other) noexcept
    : file_(std::move(other.file_)), table_(std::exchange(other.table_, nullptr)) {}

RegionCounts::~RegionCounts() {
  if (table_ != nullptr) munmap(table_, sizeof(RegionTable));
}

// Names stay where they are: a thread may be at one.
void RegionCounts::Clear() {
  if (table_ == nullptr) return;
  table_->left_out = 0;
  for (RegionEntry& entry : table_->entries)
    entry.begun = entry.ended = entry.total_ns = entry.longest_ns = 0;
}

RegionEntry* RegionCounts::Begin(const char* name) {
  if (table_ == nullptr) return nullptr;
  const size_t size = strnlen(name, RegionEntry::kNameBytes - 1);
  const uint64_t hash = HashOf(name, size);
  for (size_t i = 0; i < RegionTable::kEntries; ++i) {
    RegionEntry& entry = table_->entries[(hash + i) % RegionTable::kEntries];
    if (!IsOf(entry, name, size)) continue;
    entry.begun.fetch_add(1, std::memory_order_relaxed);
    return &entry;
  }
  table_->left_out.fetch_add(1, std::memory_order_relaxed);
  return nullptr;
}

void RegionCounts::End(RegionEntry& entry, uint64_t nanoseconds) {
  entry.ended.fetch_add(1, std::memory_order_relaxed);
  entry.total_ns.fetch_add(nanoseconds, std::memory_order_relaxed);
  uint64_t longest = entry.longest_ns.load(std::memory_order_relaxed);
  while (longest < nanoseconds &&
         !entry.longest_ns.compare_exchange_weak(longest, nanoseconds, std::memory_order_relaxed)) {
  }
}

}  // namespace flowback::self
