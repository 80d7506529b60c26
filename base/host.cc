// SPDX-License-Identifier: MIT
// What flowback assumes of the machine it is built for.
#include <bit>

static_assert(
    std::endian::native == std::endian::little,
    "Intel PT bytes are loaded with memcpy: a big-endian host needs byte swaps in bytes.h");
