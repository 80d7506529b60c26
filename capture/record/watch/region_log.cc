// SPDX-License-Identifier: MIT
#include "capture/record/watch/region_log.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "capture/record/watch/region_table.h"

namespace flowback::record {
namespace {

constexpr const char* kOthers = "(others)";
// Threads that ended in a region never leave it.
constexpr size_t kMostOpenRegions = 65536;

// One entry of the table, as it is in the file now.
struct TableEntry {
  uint32_t state;
  char name[RegionEntry::kNameBytes];
  uint64_t begun, ended, total_ns, longest_ns, unused;
};
static_assert(sizeof(TableEntry) == sizeof(RegionEntry));

bool ReadAt(int file, void* bytes, size_t size, size_t at) {
  return pread(file, bytes, size, static_cast<off_t>(at)) == static_cast<ssize_t>(size);
}

Error NoTable(const char* why) {
  return Error(ErrorCode::kUnreadable, std::string("no table of regions: ") + why);
}

}  // namespace

void RegionLog::Begin(pid_t thread, const std::string& name, uint64_t nanoseconds) {
  auto found = regions_.find(name);
  if (found == regions_.end()) {
    const std::string& kept = regions_.size() < kMostNames ? name : kOthers;
    found = regions_.try_emplace(kept, NamedRegion{.name = kept}).first;
  }
  ++found->second.begun;
  if (open_.size() >= kMostOpenRegions) open_.clear();
  open_[thread] = {&found->second, nanoseconds};
}

void RegionLog::End(pid_t thread, uint64_t nanoseconds) {
  const auto open = open_.find(thread);
  if (open == open_.end()) return;
  NamedRegion& region = *open->second.region;
  const uint64_t took = nanoseconds - std::min(nanoseconds, open->second.begin);
  ++region.ended;
  region.total_ns += took;
  region.longest_ns = std::max(region.longest_ns, took);
  open_.erase(open);
}

std::vector<NamedRegion> RegionLog::Regions() const {
  std::vector<NamedRegion> regions;
  for (const auto& [name, region] : regions_) regions.push_back(region);
  return regions;
}

// The program writes while we read: what it is about to write is not there yet.
Result<std::vector<NamedRegion>> ReadRegionTable(int file) {
  struct Head {
    uint64_t magic;
    uint32_t version, entry_count;
    uint64_t left_out;
  } head{};
  if (!ReadAt(file, &head, sizeof head, 0)) return Fail(NoTable("the file is too short"));
  if (head.magic != kRegionTableMagic) return Fail(NoTable("it does not begin as one"));
  if (head.version != kRegionTableVersion || head.entry_count != RegionTable::kEntries)
    return Fail(NoTable("it is another version's"));
  std::vector<TableEntry> entries(RegionTable::kEntries);
  if (!ReadAt(file, entries.data(), sizeof(TableEntry) * entries.size(),
              offsetof(RegionTable, entries)))
    return Fail(NoTable("it is cut"));
  std::vector<NamedRegion> regions;
  for (const TableEntry& entry : entries) {
    if (entry.state != RegionEntry::kNamed || entry.begun == 0) continue;
    regions.push_back({.name = {entry.name, strnlen(entry.name, sizeof entry.name)},
                       .begun = entry.begun,
                       .ended = entry.ended,
                       .total_ns = entry.total_ns,
                       .longest_ns = entry.longest_ns});
  }
  std::ranges::sort(regions, {}, &NamedRegion::name);
  if (head.left_out != 0) regions.push_back({.name = kOthers, .begun = head.left_out});
  return regions;
}

}  // namespace flowback::record
