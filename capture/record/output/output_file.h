// SPDX-License-Identifier: MIT
// A file being written, with errors that name it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/descriptor.h"
#include "flowback/base/bytes.h"
#include "flowback/base/error.h"

namespace flowback::record {

// Movable, not copyable. Unbuffered: writers hand over whole records.
//
// The recorded program may write to the file, too. That it has another size than was written is
// seen before each write and at the end, and then nothing in it can be relied on: an error.
// Overwriting in place is not noticed.
class OutputFile {
 public:
  // Truncates an existing file. Errors: kPermission, kSystem; kUsage when it is a pipe or a
  // terminal, where nothing can be overwritten.
  static Result<OutputFile> Create(const std::string& path);
  // Takes over the open `descriptor`: bytes go where it stands. `name` is for messages. No WriteAt.
  static Result<OutputFile> OfPipe(const std::string& name, int descriptor);

  // Once one has failed, all fail in the same way.
  Status Write(Bytes bytes);
  Status Write(std::string_view text) {
    return Write(Bytes{reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  }
  // Overwrites at `offset`, which must have been written before.
  Status WriteAt(uint64_t offset, Bytes bytes);

  // Nothing more is written. Errors: also kSystem when the file is not as it was written, or not
  // where it was made.
  Status Close();

  uint64_t size() const { return size_; }
  const std::string& path() const { return path_; }

 private:
  OutputFile(std::string path, Descriptor fd, bool pipe)
      : path_(std::move(path)), fd_(std::move(fd)), pipe_(pipe) {}
  ssize_t WriteSome(uint64_t offset, Bytes bytes) const;
  Status WriteAll(uint64_t offset, Bytes bytes);
  Status CheckSize();

  std::string path_;
  Descriptor fd_;
  bool pipe_;
  uint64_t size_ = 0;
  std::optional<Error> failure_;  // the first one: nothing is written after it
};

// Where the code that is in no file stands: beside the recording, whose name it has.
std::string CodePathOf(const std::string& recording);

// Renames the file at `path` to PATH.old, as perf does, and its file of code with it; a recording
// may be a folder (recording_folder.h). Leaves empty files and other things that are no file.
// Returns a message for the user; empty when there was no file. Errors: kPermission, kSystem.
Result<std::string> KeepOlderFile(const std::string& path);
// Undoes KeepOlderFile, for a recording that did not begin: removes the file at `path`, and if
// `kept`, renames PATH.old to PATH.
void BringOlderFileBack(const std::string& path, bool kept);

}  // namespace flowback::record
