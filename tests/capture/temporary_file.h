// SPDX-License-Identifier: MIT
// Inputs for one test: in memory where the content is tried, on disk where the opening is.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "capture/formats/input/format.h"

namespace flowback::support {

// A folder that is removed with all it holds when the object goes.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  // Writes a file and returns its path.
  std::string Write(const std::string& name, const std::vector<uint8_t>& bytes) const;
  std::string Write(const std::string& name, const std::string& text) const;

 private:
  std::filesystem::path path_;
};

// Reads the bytes as the file "test.data". They are copied to a block of their own size first, so
// that the address sanitizer sees a read past the end.
Result<Recording> ReadBytes(const std::vector<uint8_t>& bytes);

// True when one of the recording's warnings contains `text`.
bool Warns(const Recording& recording, const std::string& text);

}  // namespace flowback::support
