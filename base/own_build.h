// SPDX-License-Identifier: MIT
// Which build of the program this is.
#pragma once

#include <cstdint>

namespace flowback {

// A number that differs between programs whose code differs: from the build-id that the linker gave
// the file in which this function lies. 0: it gave none.
uint64_t OwnBuild();

}  // namespace flowback
