// SPDX-License-Identifier: MIT
// An older file of the output's name: it makes way for a recording, and comes back if that does not
// begin.
#pragma once

#include <string>

#include "flowback/base/error.h"

namespace flowback::record {

class OlderRecording {
 public:
  // Nothing is kept of it when it goes: it begins, or is taken back, before.
  explicit OlderRecording(std::string path) : path_(std::move(path)) {}

  // As KeepOlderFile; what was PATH.old until now waits as PATH.old.old. Returns a message for the
  // user.
  Result<std::string> Keep();
  // The recording does not begin: all is as before. If it has `made` a file at PATH, that is
  // removed.
  void BringBack(bool made);
  // The recording begins: the file that was PATH.old is removed.
  void LetGo();

 private:
  const std::string path_;
  bool kept_ = false;   // PATH is PATH.old now
  bool waits_ = false;  // PATH.old is PATH.old.old now
};

}  // namespace flowback::record
