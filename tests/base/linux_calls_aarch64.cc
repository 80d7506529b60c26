// SPDX-License-Identifier: MIT
// The numbers of AArch64 programs: those of the header that most machines' kernels share.
#include <asm/bitsperlong.h>
// It goes by that, and by what a kernel says that it wants; these AArch64 does.
#define __ARCH_WANT_RENAMEAT
#define __ARCH_WANT_NEW_STAT
#define __ARCH_WANT_SET_GET_RLIMIT
#define __ARCH_WANT_TIME32_SYSCALLS
#define __ARCH_WANT_SYS_CLONE3
#define __ARCH_WANT_MEMFD_SECRET
#include <asm-generic/unistd.h>

#include <cstdint>

#include "tests/base/linux_call_numbers.h"

namespace flowback {

const std::vector<NamedNumber> kHeaderCallsAArch64 = {
#define LINUX_CALL_NAME(name, ...) {#name, __NR_##name},
#include "base/linux/linux_call_names_aarch64.def"
};

}  // namespace flowback

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
#include "base/linux/linux_calls.def"
};

}  // namespace flowback
