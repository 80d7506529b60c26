// SPDX-License-Identifier: MIT
#include "replay/coverage/report/used_files.h"

#include <filesystem>
#include <system_error>

namespace flowback {

std::vector<std::string> UsedFiles(const RecordingCode& code) {
  std::vector<std::string> files;
  for (const ImageStatus& image : code.images()) {
    if (!image.usable) continue;
    std::error_code error;
    const std::string file = std::filesystem::canonical(image.file, error).string();
    files.push_back(error ? image.file : file);
  }
  return files;
}

}  // namespace flowback
