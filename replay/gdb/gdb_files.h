// SPDX-License-Identifier: MIT
// The files that gdb may read: those that the recording's code came from, under the paths that the
// recorded machine had them at, and debug files that lie under --symfs. No other file of this
// machine can be read.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/mapped_file.h"
#include "flowback/session.h"

namespace flowback::gdb {

class GdbFiles {
 public:
  // The session must outlive it.
  explicit GdbFiles(const Session& session) : session_(session) {}

  // The reply to vFile:REST.
  std::string Answer(std::string_view rest);

 private:
  static constexpr size_t kMostOpen = 64;

  // The recording's file of that path; null: there is none, or it is not usable.
  const ImageStatus* Find(const std::string& path) const;
  // Where a separate debug file of that path lies under --symfs; empty: the path is none of one.
  std::string DebugFileAt(const std::string& path) const;
  std::string Open(std::string_view rest);
  std::string Read(std::string_view rest) const;
  std::string Status(std::string_view rest) const;
  std::string Close(std::string_view rest);

  const Session& session_;
  struct OpenFile {
    std::shared_ptr<const MappedFile> bytes;
    uint64_t changed = 0;  // seconds since 1970; 0: not known
  };
  std::map<uint64_t, OpenFile> open_;
  uint64_t next_ = 3;
};

}  // namespace flowback::gdb
