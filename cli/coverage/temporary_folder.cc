// SPDX-License-Identifier: MIT
#include "cli/coverage/temporary_folder.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

namespace flowback::cli {

Result<TemporaryFolder> TemporaryFolder::Make() {
  const char* const temporary = std::getenv("TMPDIR");
  const std::string parent = temporary == nullptr || *temporary == '\0' ? "/tmp" : temporary;
  std::string path = parent + "/flowback-coverage-XXXXXX";
  if (mkdtemp(path.data()) != nullptr) return TemporaryFolder(std::move(path));
  return Fail(Error(ErrorCode::kSystem,
                    parent + ": can't make a folder for the recording: " + std::strerror(errno))
                  .Remedy("TMPDIR=FOLDER with one that you may write to"));
}

TemporaryFolder::TemporaryFolder(TemporaryFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})) {}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace flowback::cli
