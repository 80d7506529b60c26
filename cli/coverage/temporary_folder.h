// SPDX-License-Identifier: MIT
// A folder that goes with the object, and all that is in it.
#pragma once

#include <string>

#include "flowback/base/error.h"

namespace flowback::cli {

class TemporaryFolder {
 public:
  // In $TMPDIR, else /tmp. Errors: kSystem.
  static Result<TemporaryFolder> Make();
  TemporaryFolder(TemporaryFolder&& other) noexcept;
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder();

  const std::string& path() const { return path_; }

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

}  // namespace flowback::cli
