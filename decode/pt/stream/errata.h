// SPDX-License-Identifier: MIT
// Processor errata that change how packets are to be read, by CPU.
#pragma once

#include "base/recorded/pt_config.h"
#include "decode/pt/packets/packet.h"
#include "flowback/model/machine.h"

namespace flowback::pt {

// One flag per row of errata.def.
struct Errata {
#define FLOWBACK_ERRATUM(field, name, meaning) bool field = false;
#include "decode/pt/stream/errata.def"
#undef FLOWBACK_ERRATUM
};

// None for a CPU that is unknown or has none of them.
Errata ErrataOf(const CpuId& cpu);

// ReadPacket, for the bytes that a CPU with `errata` writes. What an erratum makes meaningless is
// read as a CYC of no cycles, which says nothing.
ReadResult ReadPacket(Bytes at, PebsState& pebs, Packet& out, const Errata& errata);

}  // namespace flowback::pt
