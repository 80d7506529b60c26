// SPDX-License-Identifier: MIT
// The files that gdb may read: those that the recording's code came from, under the paths that the
// recorded machine had them at, and debug files that lie under --symfs. No other file of this
// machine can be read.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/mapped_file.h"
#include "flowback/session.h"

namespace flowback::gdb {

class GdbFiles {
 public:
  // Files that only the recorded kernel had: their text by their path.
  using KernelFiles = std::function<std::map<std::string, std::string>()>;
  // The session must outlive it.
  GdbFiles(const Session& session, KernelFiles kernel_files)
      : session_(session), kernel_files_(std::move(kernel_files)) {}

  // The reply to vFile:REST.
  std::string Answer(std::string_view rest);

 private:
  static constexpr size_t kMostOpen = 64;
  struct OpenFile {
    std::shared_ptr<const MappedFile> file{};  // null: it has a text alone
    std::string text{};
    uint64_t changed = 0;  // seconds since 1970; 0: not known
    Bytes bytes() const;
  };

  // Returns the recording's file with that path; null: it has no such file, or none that is usable.
  const ImageStatus* Find(const std::string& path) const;
  // Where a separate debug file of that path lies under --symfs; empty: the path is none of one.
  std::string DebugFileAt(const std::string& path) const;
  std::string Open(std::string_view rest);
  std::string Read(std::string_view rest) const;
  std::string Status(std::string_view rest) const;
  std::string Close(std::string_view rest);

  std::string Keep(OpenFile file);

  const Session& session_;
  const KernelFiles kernel_files_;
  std::map<uint64_t, OpenFile> open_;
  uint64_t next_ = 3;
};

}  // namespace flowback::gdb
