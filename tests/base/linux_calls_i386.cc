// SPDX-License-Identifier: MIT
// The kernel's header for 32-bit programs gives its numbers the names that the one for 64-bit
// programs has: so it stands in a file of its own.
#include <asm/unistd_32.h>

#include <cstdint>

#include "tests/base/linux_call_numbers.h"

namespace flowback {

const std::vector<NamedNumber> kHeaderCallsI386 = {
#define LINUX_CALL_NAME(name, ...) {#name, __NR_##name},
#define LINUX_CALL_NAME_64(...)
#define LINUX_CALL_NAME_32(name, ...) {#name, __NR_##name},
#include "base/linux/linux_call_names.def"
};

}  // namespace flowback

#undef __NR_mmap
#define __NR_mmap __NR_mmap2  // mmap of a 64-bit program takes what mmap2 takes of a 32-bit one

namespace flowback {

extern const int64_t kHeaderNumbersI386[];
const int64_t kHeaderNumbersI386[] = {
#define LINUX_CALL(id, name, ...) __NR_##name,
#include "base/linux/linux_calls.def"
};

}  // namespace flowback
