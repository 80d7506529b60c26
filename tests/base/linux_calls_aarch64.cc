// SPDX-License-Identifier: MIT
// The numbers of AArch64 programs: those of the header that most machines' kernels share.
#define __BITS_PER_LONG 64  // NOLINT: the header asks for it
#include <asm-generic/unistd.h>

#include <cstdint>

// Calls that it has not.
#define __NR_fork (-1)
#define __NR_vfork (-1)
#define __NR_modify_ldt (-1)

namespace flowback {

extern const int64_t kHeaderNumbersAArch64[];
const int64_t kHeaderNumbersAArch64[] = {
#define LINUX_CALL(id, name, ...) __NR_##name,
#include "base/linux_calls.def"
};

}  // namespace flowback
