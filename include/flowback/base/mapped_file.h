// SPDX-License-Identifier: MIT
// A file's bytes, mapped read-only.
#pragma once

#include <functional>
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

  // What can be read once only, such as a pipe: copies it to its end into a nameless file in the
  // folder for temporary files ($TMPDIR, else /tmp), which goes with the object. Waits for a FIFO's
  // writer. `check` sees the first bytes, at most kSpoolHead, and may refuse the rest. Errors: the
  // check's; kUnreadable and kPermission of the input; kSystem when the copy can't be written.
  using HeadCheck = std::function<Status(Bytes head)>;
  static Result<std::shared_ptr<const MappedFile>> Spool(const std::string& path,
                                                         const HeadCheck& check);
  static constexpr size_t kSpoolHead = 64 << 10;

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
