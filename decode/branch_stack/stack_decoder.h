// SPDX-License-Identifier: MIT
// The one engine of branch stacks.
#pragma once

#include <memory>

#include "flowback/decode/decoder.h"

namespace flowback::branch_stack {

std::unique_ptr<Decoder> NewStackDecoder();

}  // namespace flowback::branch_stack
