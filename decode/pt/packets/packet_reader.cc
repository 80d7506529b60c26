// SPDX-License-Identifier: MIT
// Which kind a byte sequence is: one table look-up for each byte of the opcode.
#include "decode/pt/packets/packet.h"

namespace flowback::pt {
namespace {

constexpr std::array<OpcodePage, kPages> kTables = MakePages(Packets{});

constexpr uint8_t Look(Page page, uint8_t byte) {
  return kTables[static_cast<unsigned>(page)][byte];
}

using Reader = ReadResult (*)(Bytes, PebsState&, Packet&);

template <class P>
ReadResult ReadAs(Bytes at, PebsState& pebs, Packet& out) {
  P& packet = out.emplace<P>();
  if constexpr (requires { P::Parse(at, packet, pebs); })
    return P::Parse(at, packet, pebs);
  else
    return P::Parse(at, packet);
}

template <class... P>
constexpr std::array<Reader, sizeof...(P)> MakeReaders(PacketList<P...>) {
  return {&ReadAs<P>...};
}
constexpr auto kReaders = MakeReaders(Packets{});

// The kind's position in the list; kNoPacket when unknown. Opcode bytes are all inside `at`.
std::expected<uint8_t, ReadError> KindAt(Bytes at, const PebsState& pebs) {
  if (pebs.item_bytes != 0) {
    const uint8_t kind = Look(Page::kBlock, at[0]);
    if (kind != kNoPacket) return kind;
  }
  const bool mode = at[0] == kModePrefix;
  if (!mode && at[0] != kExtendedPrefix) return Look(Page::kFirst, at[0]);
  if (at.size() < 2) return Truncated();
  if (mode) return Look(Page::kMode, at[1]);
  if (at[1] != kThirdPrefix) return Look(Page::kExtended, at[1]);
  if (at.size() < 3) return Truncated();
  return Look(Page::kThird, at[2]);
}

}  // namespace

ReadResult ReadAnyPacket(Bytes at, PebsState& pebs, Packet& out) {
  if (at.empty()) return std::unexpected(ReadError::kEnd);
  const auto kind = KindAt(at, pebs);
  if (!kind) return std::unexpected(kind.error());
  if (*kind == kNoPacket) return Unknown();
  return kReaders[*kind](at, pebs, out);
}

}  // namespace flowback::pt
