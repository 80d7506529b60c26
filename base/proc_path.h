// SPDX-License-Identifier: MIT
// Where Linux tells about a process or thread.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

namespace flowback {

// Returns "/proc/ID", or "/proc/ID/REST" if `rest` is not empty.
inline std::string ProcPath(pid_t id, std::string_view rest = {}) {
  std::string path = "/proc/" + std::to_string(id);
  if (!rest.empty()) path.append("/").append(rest);
  return path;
}

}  // namespace flowback
