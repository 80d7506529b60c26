// SPDX-License-Identifier: MIT
// A file's bytes, mapped read-only.
#pragma once

#include <memory>
#include <string>

#include "flowback/base/bytes.h"
#include "flowback/base/error.h"

namespace flowback {

// Owns one mapping; immutable, so any thread may read it. The bytes live as long as the object.
class MappedFile {
 public:
  // Errors: kUnreadable (missing, a directory, not a regular file, I/O), kPermission. An empty file
  // is opened as zero bytes: whether that is an error is for the caller to say.
  static Result<std::shared_ptr<const MappedFile>> Open(const std::string& path);

  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  const std::string& path() const { return path_; }
  Bytes bytes() const { return bytes_; }

 private:
  MappedFile(std::string path, Bytes bytes) : path_(std::move(path)), bytes_(bytes) {}

  std::string path_;
  Bytes bytes_;
};

}  // namespace flowback
