// SPDX-License-Identifier: MIT
// Processor modes.  [SDM "MODE Packets"]
#pragma once

#include "decode/pt/packets/wire.h"
#include "flowback/model/instruction.h"

namespace flowback::pt {

// Execution mode and, with event trace, the interrupt flag. The TIP.PGE or TIP after it has the
// place.
struct ModeExec {
  static constexpr std::string_view kName = "MODE.Exec";
  static constexpr Opcode kOpcode{.page = Page::kMode, .value = 0x00, .mask = 0xe0};

  bool cs_l = false;   // CS.L and EFER.LMA
  bool cs_d = false;   // CS.D; never together with cs_l
  bool iflag = false;  // RFLAGS.IF; reserved as 0 on parts without event trace

  CodeMode Mode() const {
    if (cs_l) return CodeMode::kX86_64;
    return cs_d ? CodeMode::kX86_32 : CodeMode::kX86_16;
  }

  static ReadResult Parse(Bytes at, ModeExec& out) {
    const uint8_t payload = at[1];
    if ((payload & 3) == 3) return Unknown();
    out = {.cs_l = (payload & 1) != 0, .cs_d = (payload & 2) != 0, .iflag = (payload & 4) != 0};
    return 2;
  }
  void Encode(ByteSink sink) const {
    sink.Put(kModePrefix, static_cast<uint8_t>(cs_l | cs_d << 1 | iflag << 2));
  }
  std::string Text() const;
  bool operator==(const ModeExec&) const = default;
};

// A transaction begins, commits or aborts at the FUP after it.
struct ModeTsx {
  static constexpr std::string_view kName = "MODE.TSX";
  static constexpr Opcode kOpcode{.page = Page::kMode, .value = 0x20, .mask = 0xe0};

  bool in_transaction = false;  // InTX
  bool aborted = false;         // TXAbort; never together with in_transaction

  static ReadResult Parse(Bytes at, ModeTsx& out) {
    const uint8_t payload = at[1];
    if ((payload & 3) == 3) return Unknown();
    out = {.in_transaction = (payload & 1) != 0, .aborted = (payload & 2) != 0};
    return 2;
  }
  void Encode(ByteSink sink) const {
    sink.Put(kModePrefix, static_cast<uint8_t>(kOpcode.value | in_transaction | aborted << 1));
  }
  std::string Text() const;
  bool operator==(const ModeTsx&) const = default;
};

}  // namespace flowback::pt
