// SPDX-License-Identifier: MIT
#include "capture/record/watch/function_watch.h"

#include "base/hex.h"

namespace flowback::record {

const FunctionWatch::Places& FunctionWatch::PlacesIn(const std::string& path) {
  const auto [found, added] = files_.try_emplace(path);
  if (added) {
    const auto look = [&](const FunctionName& function) {
      return !function.empty() && function.MayBeIn(path) ? FindFunction(path, function.name)
                                                         : FunctionPlaces{};
    };
    found->second = {look(watched_.from), look(watched_.until)};
  }
  return found->second;
}

std::vector<FunctionWatch::Found> FunctionWatch::OnMapping(uint64_t begin, uint64_t end,
                                                           uint64_t file_offset,
                                                           const std::string& path) {
  std::vector<Found> result;
  if (!watches()) return result;
  switches_.erase(switches_.lower_bound(begin), switches_.lower_bound(end));
  if (!path.starts_with("/") || path.starts_with("//")) return result;
  const Places& places = PlacesIn(path);
  const auto add = [&](const FunctionName& function, const FunctionPlaces& in,
                       RecordingSwitch turns) {
    if (in.indirect) result.push_back({0, turns, function.name + " in " + path});
    for (const uint64_t offset : in.offsets) {
      if (offset < file_offset || offset - file_offset >= end - begin) continue;
      const uint64_t address = begin + (offset - file_offset);
      switches_[address] = turns;
      result.push_back({address, turns, function.name + " in " + path + " at " + Hex(offset)});
    }
  };
  add(watched_.until, places.until, RecordingSwitch::kOff);
  add(watched_.from, places.from, RecordingSwitch::kOn);
  return result;
}

std::vector<uint64_t> FunctionWatch::Beginnings() const {
  std::vector<uint64_t> addresses;
  for (const auto& [address, turns] : switches_)
    if (turns == RecordingSwitch::kOn) addresses.push_back(address);
  return addresses;
}

uint64_t FunctionWatch::FirstIn(uint64_t begin, uint64_t end) const {
  const auto found = switches_.lower_bound(begin);
  return found == switches_.end() || found->first >= end ? 0 : found->first;
}

}  // namespace flowback::record
