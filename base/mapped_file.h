// SPDX-License-Identifier: MIT
// A file's bytes, mapped read-only.
//
// Another process may cut the file meanwhile. Pages after the new end then cannot be read: the
// kernel sends SIGBUS. The rest of the last page reads as zeros. A library cannot handle either, so
// the program must: a handler for SIGBUS that maps zeros in place of the missing pages lets the
// reader go on, and CheckWhole reports afterwards that it read bytes that never existed. Without a
// handler the program ends.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
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

  // Checks that the bytes read so far were the file's content. Errors: kUnreadable when the file at
  // the path is the one that was opened and is shorter now. A copy, or a file that the path does
  // not name any more, is whole.
  Status CheckWhole() const;

 private:
  // Which file of the machine it is; 0: nobody can cut it.
  struct Identity {
    uint64_t device = 0;
    uint64_t inode = 0;
  };

  MappedFile(std::string path, Bytes bytes, Identity identity)
      : path_(std::move(path)), bytes_(bytes), identity_(identity) {}

  std::string path_;
  Bytes bytes_;
  Identity identity_;
};

// Returns the error for a file that ends at `end` now.
Error CutWhileRead(const std::string& path, uint64_t end);

// MappedFile::CheckWhole of all of them.
Status CheckWhole(std::span<const std::shared_ptr<const MappedFile>> files);

}  // namespace flowback
