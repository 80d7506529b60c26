// SPDX-License-Identifier: MIT
#include "decode/instruction/x86/full_decode.h"

#include "decode/instruction/x86/machine_modes.h"

namespace flowback::x86 {

bool DecodeFull(Bytes code, CodeMode mode, FullDecode& decoded) {
  static const std::array<ZydisDecoder, kModes> decoders = [] {
    std::array<ZydisDecoder, kModes> made{};
    for (size_t i = 0; i < kModes; ++i)
      ZydisDecoderInit(&made[i], kMachineModes[i].mode, kMachineModes[i].width);
    return made;
  }();
  return ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoders[IndexOf(mode)], code.data(), code.size(),
                                             &decoded.instruction, decoded.operands.data()));
}

}  // namespace flowback::x86
