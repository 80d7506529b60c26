// SPDX-License-Identifier: MIT
// Turns a list of packet kinds into tables from opcode byte to kind, at compile time.
//
// A packet's kind shows in one byte: the first, or the one after a prefix (Page). So five tables of
// 256 entries cover every kind. They are filled by asking each kind of the list for each byte; a
// byte that two kinds claim is an error of the list, found by OpcodesAreDistinct.
#pragma once

#include <array>
#include <cstddef>
#include <type_traits>
#include <variant>

#include "decode/pt/packets/wire.h"

namespace flowback::pt {

template <class... P>
struct PacketList {
  using Variant = std::variant<P...>;
  static constexpr std::size_t kSize = sizeof...(P);
  static constexpr std::array<Opcode, kSize> kOpcodes = {P::kOpcode...};
};

inline constexpr uint8_t kNoPacket = 0xff;

// Whether `byte` on `page` introduces another page and so can't be a packet's own.
constexpr bool IsPrefix(Page page, uint8_t byte) {
  if (page == Page::kFirst) return byte == kExtendedPrefix || byte == kModePrefix;
  return page == Page::kExtended && byte == kThirdPrefix;
}

template <class... P>
constexpr bool OpcodesAreDistinct(PacketList<P...>) {
  for (unsigned page = 0; page < kPages; ++page) {
    for (unsigned byte = 0; byte < 256; ++byte) {
      unsigned claims = IsPrefix(Page(page), byte) ? 1 : 0;
      for (const Opcode& opcode : PacketList<P...>::kOpcodes)
        claims += opcode.page == Page(page) && opcode.Matches(byte);
      if (claims > 1) return false;
    }
  }
  return true;
}

// Position in the list of the kind that each byte of `page` means; kNoPacket where none does.
using OpcodePage = std::array<uint8_t, 256>;

template <class... P>
constexpr OpcodePage MakePage(PacketList<P...>, Page page) {
  static_assert(sizeof...(P) < kNoPacket);
  OpcodePage table{};
  table.fill(kNoPacket);
  for (std::size_t kind = 0; kind < sizeof...(P); ++kind) {
    const Opcode& opcode = PacketList<P...>::kOpcodes[kind];
    for (unsigned byte = 0; byte < 256; ++byte)
      if (opcode.page == page && opcode.Matches(byte)) table[byte] = kind;
  }
  return table;
}

// All pages, indexed by Page.
template <class... P>
constexpr std::array<OpcodePage, kPages> MakePages(PacketList<P...> list) {
  std::array<OpcodePage, kPages> pages{};
  for (unsigned page = 0; page < kPages; ++page) pages[page] = MakePage(list, Page(page));
  return pages;
}

}  // namespace flowback::pt
