// SPDX-License-Identifier: MIT
#include "tests/judge/byte_damage.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace flowback::judge {
namespace {

constexpr std::array<uint8_t, 2> kOverflow = {0x02, 0xf3};

void Replace(DamagedBytes& damaged, uint64_t begin, uint64_t removed,
             const std::vector<uint8_t>& inserted) {
  std::vector<uint8_t>& bytes = damaged.bytes;
  const auto at = bytes.begin() + static_cast<ptrdiff_t>(begin);
  bytes.erase(at, at + static_cast<ptrdiff_t>(removed));
  bytes.insert(bytes.begin() + static_cast<ptrdiff_t>(begin), inserted.begin(), inserted.end());
  damaged.damage = {.begin = begin, .removed = removed, .inserted = inserted.size()};
}

}  // namespace

uint64_t PlaceForOverflow(const std::vector<TrueFlow::Packet>& packets, uint64_t offset,
                          uint64_t size) {
  const auto fits = [offset](const TrueFlow::Packet& packet) {
    return packet.offset >= offset && packet.starts && !packet.header_part;
  };
  const auto found = std::ranges::find_if(packets, fits);
  return found == packets.end() ? size : found->offset;
}

DamagedBytes DamageBytes(const TrueFlow& truth, Bytes bytes, unsigned kind,
                         testing::Random& random) {
  DamagedBytes damaged;
  damaged.bytes.assign(bytes.begin(), bytes.end());
  const uint64_t first = truth.packets.empty() ? 0 : truth.packets.front().offset;
  const uint64_t place = first + random.Below(bytes.size() - first);
  const uint64_t most = bytes.size() - place;
  const uint64_t size = std::min(uint64_t{1} << random.Between(0, 12), most);
  const TrueFlow::Packet& packet = truth.packets[random.Below(truth.packets.size())];
  const std::string where = " at " + std::to_string(place);
  switch (kind) {
    case 0:
      Replace(damaged, place, size, {});
      damaged.gaps = {{.offset = place, .reason = "taken away"}};
      damaged.what = std::to_string(size) + " bytes taken away" + where + ", with a gap";
      break;
    case 2: {
      const uint64_t at = PlaceForOverflow(truth.packets, packet.offset, bytes.size());
      Replace(damaged, at, 0, {kOverflow.begin(), kOverflow.end()});
      damaged.what = "OVF inserted at " + std::to_string(at);
      break;
    }
    case 3: {
      const uint64_t few = std::min(1 + random.Below(16), size);
      Replace(damaged, place, few, {});
      damaged.damage.silent = true;
      damaged.what = std::to_string(few) + " bytes taken away in silence" + where;
      break;
    }
    case 4: {
      const unsigned bit = static_cast<unsigned>(random.Below(8));
      damaged.bytes[place] ^= static_cast<uint8_t>(1 << bit);
      damaged.damage = {.begin = place, .removed = 1, .inserted = 1, .silent = true};
      damaged.what = "bit " + std::to_string(bit) + " flipped" + where;
      break;
    }
    case 5: {
      const auto value = static_cast<uint8_t>(random.Next());
      Replace(damaged, place, 1, {value});
      damaged.damage.silent = true;
      damaged.what = "byte changed to " + std::to_string(value) + where;
      break;
    }
    case 6: {
      const uint64_t few = std::min(1 + random.Below(16), size);
      const Bytes copy = bytes.subspan(place, few);
      Replace(damaged, place, 0, {copy.begin(), copy.end()});
      damaged.damage.silent = true;
      damaged.what = std::to_string(few) + " bytes doubled" + where;
      break;
    }
    default: {
      // Up to the next sync point, which comes right behind the OVF.
      uint64_t end = bytes.size();
      for (const TrueFlow::Packet& later : truth.packets)
        if (later.psb && later.offset > packet.offset) end = std::min(end, later.offset);
      Replace(damaged, packet.offset, end - packet.offset, {kOverflow.begin(), kOverflow.end()});
      damaged.what = "OVF for " + std::to_string(end - packet.offset) + " bytes at " +
                     std::to_string(packet.offset);
    }
  }
  return damaged;
}

}  // namespace flowback::judge
