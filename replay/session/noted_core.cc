// SPDX-License-Identifier: MIT
#include "replay/session/noted_core.h"

#include <filesystem>

#include "base/mapped_file.h"
#include "decode/code/core_file.h"

namespace flowback {

bool HasNotedCore(const ProcessEnd& end) {
  std::error_code failed;
  if (!std::filesystem::is_regular_file(end.core, failed)) return false;
  const auto file = MappedFile::Open(end.core);
  if (!file) return false;
  const Result<CoreFile> core = ReadCore((*file)->bytes(), end.core);
  return core && core->pid == end.pid;
}

}  // namespace flowback
