// SPDX-License-Identifier: MIT
#include "base/descriptor.h"

#include <unistd.h>

#include <cerrno>

namespace flowback {

bool WriteAll(int descriptor, Bytes bytes) {
  while (!bytes.empty()) {
    const ssize_t put = write(descriptor, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(put));
  }
  return true;
}

}  // namespace flowback
