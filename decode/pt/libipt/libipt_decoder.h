// SPDX-License-Identifier: MIT
// The reference engine: the same flow as the native engine's, found by Intel's libipt.
#pragma once

#include <memory>

#include "flowback/decode/decoder.h"

namespace flowback {

// Slow and independent: its purpose is to be compared with. After an error it always goes on at the
// next PSB and ignores DecodeInput::resync. Packets that its libipt does not know are losses.
std::unique_ptr<Decoder> MakeLibiptDecoder();

}  // namespace flowback
