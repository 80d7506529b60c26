// SPDX-License-Identifier: MIT
// Reading packets from arbitrary bytes: never past the end, always forward, and what was read says
// the same when it is written and read again.
#include <cstdlib>
#include <vector>

#include "decode/pt/packets/packet.h"

namespace flowback::pt {
namespace {

void Check(bool holds) {
  if (!holds) std::abort();
}

void CheckWrittenAgain(const Packet& packet, PebsState before) {
  std::vector<uint8_t> bytes;
  Encode(packet, bytes);
  Packet again;
  const ReadResult size = ReadPacket(bytes, before, again);
  Check(size && *size == bytes.size() && again == packet);
  std::vector<uint8_t> twice;
  Encode(again, twice);
  Check(twice == bytes);
}

// Each step reads from a buffer that ends with the packet's last byte, so that the address
// sanitizer sees a byte too many.
void CheckReadsOnlyItself(Bytes at, unsigned size, PebsState before, const Packet& packet) {
  const std::vector<uint8_t> exact(at.begin(), at.begin() + size);
  Packet again;
  Check(ReadPacket(exact, before, again) == size && again == packet);
}

void Walk(Bytes bytes) {
  PebsState pebs;
  LastIp last_ip;
  while (!bytes.empty()) {
    const PebsState before = pebs;
    Packet packet;
    const ReadResult size = ReadPacket(bytes, pebs, packet);
    Check(!size || (*size > 0 && *size <= bytes.size()));
    if (size) {
      CheckReadsOnlyItself(bytes, *size, before, packet);
      CheckWrittenAgain(packet, before);
      Check(!NameOf(packet).empty());
      Describe(packet, &last_ip);
    }
    bytes = bytes.subspan(size.value_or(1));
  }
}

void CheckFindPsb(Bytes bytes) {
  for (size_t at = 0; at < bytes.size();) {
    const size_t found = FindPsb(bytes, at);
    Check(found >= at && found <= bytes.size());
    if (found == bytes.size()) return;
    PebsState pebs;
    Packet packet;
    Check(ReadPacket(bytes.subspan(found), pebs, packet).has_value());
    Check(std::holds_alternative<Psb>(packet));
    at = found + 1;
  }
}

}  // namespace
}  // namespace flowback::pt

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::vector<uint8_t> exact(data, data + size);
  flowback::pt::Walk(exact);
  flowback::pt::CheckFindPsb(exact);
  return 0;
}
