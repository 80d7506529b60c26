// SPDX-License-Identifier: MIT
#include "decode/pt/errata.h"

namespace flowback::pt {
namespace {

Errata Broadwell() {
  Errata e;
  e.psb_in_enable = e.abort_branch = true;
  return e;
}

// What all big cores from Skylake to Alder Lake share.
Errata SkylakeAndLater() {
  Errata e;
  e.psb_in_enable = e.vm_entry_fup = e.filter_exit_no_ip = true;
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

Errata AlderLake() {
  Errata e = SkylakeAndLater();
  e.overflow_extra_pgd = true;
  return e;
}

Errata Goldmont(bool first_steppings) {
  Errata e;
  e.overflow_extra_pgd = true;
  e.overflow_false_fup = first_steppings;
  return e;
}

}  // namespace

Errata ErrataOf(const CpuId& cpu) {
  if (!cpu.intel || cpu.family != 6) return {};
  switch (cpu.model) {
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
    case 0x55:  // Skylake-SP, Ice Lake-SP, Sapphire Rapids
    case 0x6a:
    case 0x6c:
    case 0x8f:
      return SkylakeServer();
    case 0x66:  // Cannon Lake, Ice Lake, Tiger Lake, Rocket Lake
    case 0x7d:
    case 0x7e:
    case 0x8c:
    case 0x8d:
    case 0xa7:
    case 0xa8:
      return SkylakeAndLater();
    case 0x97:  // Alder Lake
    case 0x9a:
    case 0xbf:
      return AlderLake();
    case 0x5c:  // Goldmont
    case 0x5f:
      return Goldmont(true);
    case 0x7a:  // Goldmont Plus, Tremont
    case 0x86:
    case 0x96:
    case 0x9c:
      return Goldmont(false);
    default:
      return {};
  }
}

}  // namespace flowback::pt
