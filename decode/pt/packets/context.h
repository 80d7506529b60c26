// SPDX-License-Identifier: MIT
// Which address space and which virtual machine runs.  [SDM "Paging Information (PIP) Packet",
// "VMCS Packet"]
#pragma once

#include "decode/pt/packets/wire.h"

namespace flowback::pt {

// CR3 was written, at a MOV CR3, a task switch or a VM transition.
struct Pip {
  static constexpr std::string_view kName = "PIP";
  static constexpr Opcode kOpcode{.page = Page::kExtended, .value = 0x43};

  uint64_t cr3 = 0;       // bits 51:5, the others 0
  bool non_root = false;  // VMX non-root operation

  static ReadResult Parse(Bytes at, Pip& out) {
    if (at.size() < 8) return Truncated();
    const uint64_t payload = Load(at, 2, 6);
    out = {.cr3 = (payload >> 1) << 5, .non_root = (payload & 1) != 0};
    return 8;
  }
  void Encode(ByteSink sink) const {
    sink.Put(kExtendedPrefix, kOpcode.value);
    sink.Little((cr3 >> 5) << 1 | (non_root ? 1 : 0), 6);
  }
  std::string Text() const { return "CR3 " + Hex(cr3) + (non_root ? ", non-root" : ""); }
  bool operator==(const Pip&) const = default;
};

// The virtual machine control structure in use.
struct Vmcs {
  static constexpr std::string_view kName = "VMCS";
  static constexpr Opcode kOpcode{.page = Page::kExtended, .value = 0xc8};

  uint64_t base = 0;  // bits 51:12, the others 0

  static ReadResult Parse(Bytes at, Vmcs& out) {
    if (at.size() < 7) return Truncated();
    out.base = Load(at, 2, 5) << 12;
    return 7;
  }
  void Encode(ByteSink sink) const {
    sink.Put(kExtendedPrefix, kOpcode.value);
    sink.Little(base >> 12, 5);
  }
  std::string Text() const { return Hex(base); }
  bool operator==(const Vmcs&) const = default;
};

}  // namespace flowback::pt
