// SPDX-License-Identifier: MIT
// The vDSO of this very process: right for a recording when the build-ids agree.
#pragma once

#include <cstdint>
#include <vector>

namespace flowback {

// A copy of its bytes; empty when this process has none.
std::vector<uint8_t> CopyOwnVdso();

}  // namespace flowback
