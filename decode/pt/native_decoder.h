// SPDX-License-Identifier: MIT
// flowback's own Intel PT decoder.
#pragma once

#include <memory>

#include "flowback/decode/decoder.h"

namespace flowback::pt {

std::unique_ptr<Decoder> MakeNativeDecoder();

}  // namespace flowback::pt
