// SPDX-License-Identifier: MIT
// gdb as a child of `flowback replay`, with what it needs in a folder of its own.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/descriptor.h"
#include "flowback/base/error.h"

namespace flowback::cli {

// A folder that only this user may use, with the text for gdb; removed with the object.
class GdbFolder {
 public:
  // Errors: kSystem.
  static Result<GdbFolder> Make();
  GdbFolder(GdbFolder&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
  GdbFolder& operator=(GdbFolder&&) = delete;
  ~GdbFolder();

  std::string SocketPath() const { return path_ + "/socket"; }
  std::string InitFile() const { return path_ + "/flow_frames.py"; }

 private:
  explicit GdbFolder(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

class GdbProgram {
 public:
  // Starts that gdb on the socket. `words` are the user's. Ctrl-C is gdb's from now on. Errors:
  // kCommandMissing where there is no such gdb; kSystem.
  static Result<GdbProgram> Start(const std::string& gdb, const GdbFolder& folder,
                                  const std::vector<std::string>& words);

  // Becomes readable when gdb has ended.
  int descriptor() const { return *ended_; }
  // Waits for its end and returns its exit status.
  int Wait();
  // Ends it by that signal, or by SIGKILL if it does not end soon, and returns its exit status.
  int End(int signal);

 private:
  GdbProgram(pid_t pid, Descriptor ended) : pid_(pid), ended_(std::move(ended)) {}

  pid_t pid_;
  Descriptor ended_;
};

}  // namespace flowback::cli
