// SPDX-License-Identifier: MIT
#include "replay/locks/lock_sites.h"

#include <algorithm>

#include "base/linux/kernel_address.h"
#include "flowback/decode/code_image.h"

namespace flowback {
namespace {

uint64_t PlaceInFile(const AddressSpace* space, uint64_t address) {
  const CodeMapping* mapping = space == nullptr || address == 0 ? nullptr : space->Find(address);
  return mapping == nullptr ? address : address - mapping->FileBase();
}

}  // namespace

size_t LockSites::Hash::operator()(const Key& key) const {
  uint64_t hash = (key.call ^ uint64_t{key.function} << 40) * 0x9e3779b97f4a7c15;
  return hash ^ hash >> 32;
}

LockFunction LockSites::UseOf(uint32_t function, FunctionTable& functions) {
  if (function == CallPath::kNoFunction) return {};
  if (function >= uses_.size()) uses_.resize(function + size_t{1});
  std::optional<LockFunction>& use = uses_[function];
  if (!use) {
    const TimelineFunction& named = functions.all()[function];
    use = LockFunctionOf(named.name, IsKernelAddress(named.entry_ip));
  }
  return *use;
}

uint32_t LockSites::Find(const LockSite& site, uint64_t end) {
  std::vector<Range>& ranges =
      ranges_[{.function = site.function, .call = PlaceInFile(site.space, site.call)}];
  Range wanted{.begin = PlaceInFile(site.space, site.address), .end = end, .site = 0};
  wanted.end = wanted.begin + (end - site.address);
  for (Range& range : ranges) {
    const bool overlaps = wanted.begin < range.end && range.begin < wanted.end;
    if (!site.is_library && !overlaps) continue;
    LockSite& known = sites_[range.site];
    if (known.address == 0 || (site.address != 0 && wanted.begin < range.begin))
      known.address = site.address;
    range.begin = std::min(range.begin, wanted.begin);
    range.end = std::max(range.end, wanted.end);
    known.end = known.address + (range.end - range.begin);
    return range.site;
  }
  wanted.site = static_cast<uint32_t>(sites_.size());
  ranges.push_back(wanted);
  sites_.push_back(site);
  sites_.back().end = end;
  return wanted.site;
}

}  // namespace flowback
