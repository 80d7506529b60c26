// SPDX-License-Identifier: MIT
// The numbers of AArch64 programs: those of the header that most machines' kernels share.
#include <asm/bitsperlong.h>
// It goes by that.
#include <asm-generic/unistd.h>

#include <cstdint>

// Calls that it has not; this machine's header may have come before.
#undef __NR_fork
#undef __NR_vfork
#undef __NR_modify_ldt
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
