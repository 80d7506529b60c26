// SPDX-License-Identifier: MIT
#include "decode/pt/stream/errata.h"

namespace flowback::pt {
namespace {

Errata Broadwell() {
  Errata e;
  e.abort_branch = true;
  return e;
}

// Returns the errata that all big cores from Skylake to Alder Lake share.
Errata SkylakeAndLater() {
  Errata e;
  e.vm_entry_fup = e.filter_exit_no_ip = true;
  return e;
}

Errata SkylakeClient() {
  Errata e = SkylakeAndLater();
  e.cyc_cut_by_ovf = e.overflow_no_fup = e.mtc_dropped_at_psb = true;
  return e;
}

Errata SkylakeServer() {
  Errata e = SkylakeAndLater();
  e.bad_tma = true;
  return e;
}

// From Sapphire Rapids and Alder Lake on, filter exits have their IP.
Errata SapphireRapids() {
  Errata e = SkylakeServer();
  e.filter_exit_no_ip = false;
  return e;
}

Errata AlderLake() {
  Errata e = SkylakeAndLater();
  e.filter_exit_no_ip = false;
  e.overflow_extra_pgd = true;
  return e;
}

Errata Goldmont(bool first_steppings) {
  Errata e;
  e.overflow_extra_pgd = true;
  e.overflow_false_fup = first_steppings;
  return e;
}

Errata Family6(uint8_t model) {
  switch (model) {
    case 0x3d:  // Broadwell
    case 0x47:
    case 0x4f:
    case 0x56:
      return Broadwell();
    case 0x4e:  // Skylake, Kaby Lake, Comet Lake
    case 0x5e:
    case 0x8e:
    case 0x9e:
    case 0xa5:
    case 0xa6:
      return SkylakeClient();
    case 0x55:  // Skylake-SP, Ice Lake-SP
    case 0x6a:
    case 0x6c:
      return SkylakeServer();
    case 0x8f:  // Sapphire Rapids, Emerald Rapids, Granite Rapids
    case 0xcf:
    case 0xad:
    case 0xae:
      return SapphireRapids();
    case 0x66:  // Cannon Lake, Ice Lake, Tiger Lake, Rocket Lake
    case 0x7d:
    case 0x7e:
    case 0x8c:
    case 0x8d:
    case 0xa7:
    case 0xa8:
      return SkylakeAndLater();
    case 0x97:  // Alder Lake, Raptor Lake, Meteor Lake, Arrow Lake, Lunar Lake, Panther Lake
    case 0x9a:
    case 0xba:
    case 0xb7:
    case 0xbf:
    case 0xc5:
    case 0xc6:
    case 0xb5:
    case 0xaa:
    case 0xac:
    case 0xbd:
    case 0xcc:
    case 0xd5:
      return AlderLake();
    case 0x5c:  // Goldmont
    case 0x5f:
      return Goldmont(true);
    case 0x7a:  // Goldmont Plus, Tremont, Gracemont, Crestmont
    case 0x86:
    case 0x96:
    case 0x9c:
    case 0xb6:
    case 0xaf:
    case 0xdd:
      return Goldmont(false);
    default:
      return {};
  }
}

}  // namespace

Errata ErrataOf(const CpuId& cpu) {
  if (!cpu.intel) return {};
  if (cpu.family == 6) return Family6(cpu.model);
  if (cpu.family == 0x12 && (cpu.model == 0x01 || cpu.model == 0x03)) return AlderLake();
  if (cpu.family == 0x13 && cpu.model == 0x01) return SapphireRapids();
  return {};
}

ReadResult ReadPacket(Bytes at, PebsState& pebs, Packet& out, const Errata& errata) {
  const ReadResult size = ReadPacket(at, pebs, out);
  constexpr unsigned kTmaSize = 7;
  const bool bad_tma =
      !size && errata.bad_tma && at.size() > kTmaSize && at[0] == kExtendedPrefix && at[1] == 0x73;
  if (bad_tma) {
    out.emplace<Cyc>();
    return kTmaSize + 1;
  }
  // The second byte of a CYC may be missing right before an OVF.
  const bool cut_cyc = size && *size == 2 && errata.cyc_cut_by_ovf &&
                       std::holds_alternative<Cyc>(out) && at[1] == kExtendedPrefix &&
                       at.size() > 2 && at[2] == Ovf::kOpcode.value;
  if (cut_cyc) {
    out.emplace<Cyc>();
    return 1;
  }
  return size;
}

}  // namespace flowback::pt
