// SPDX-License-Identifier: MIT
#include "replay/session/noted_core.h"

#include <filesystem>

#include "base/mapped_file.h"
#include "decode/code/core/core_file.h"

namespace flowback {

bool IsCoreOf(const std::string& path, const ProcessEnd& end) {
  std::error_code failed;
  if (!std::filesystem::is_regular_file(path, failed)) return false;
  const auto file = MappedFile::Open(path);
  if (!file) return false;
  const Result<CoreFile> core = ReadCore((*file)->bytes(), path);
  return core && core->pid == end.pid;
}

bool HasNotedCore(const ProcessEnd& end) { return IsCoreOf(end.core, end); }

}  // namespace flowback
