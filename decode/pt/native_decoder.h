// SPDX-License-Identifier: MIT
// flowback's own Intel PT decoder.
#pragma once

#include <cstdint>
#include <memory>

#include "flowback/decode/decoder.h"

namespace flowback::pt {

// How Decode hands on the flow. Both ways deliver the same; tests compare them.
enum class Delivery : uint8_t {
  kBatches,   // ExecutionConsumer::OnBlocks, by the memo of walks
  kOneByOne,  // OnBlock only, branch by branch
};

std::unique_ptr<Decoder> MakeNativeDecoder(Delivery delivery);
// In batches.
std::unique_ptr<Decoder> MakeNativeDecoder();

}  // namespace flowback::pt
