// SPDX-License-Identifier: MIT
// System calls as one of the kernel's headers has them.
#pragma once

#include <cstdint>
#include <vector>

namespace flowback {

struct NamedNumber {
  const char* name;
  uint32_t number;
};
extern const std::vector<NamedNumber> kHeaderCallsI386;     // of base/linux/linux_call_names.def
extern const std::vector<NamedNumber> kHeaderCallsAArch64;  // of its own file

}  // namespace flowback
