// SPDX-License-Identifier: MIT
// A command that is started in two steps: events are opened of its process before it execs.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/descriptor.h"
#include "capture/record/target/recorder_signals.h"
#include "flowback/base/error.h"

namespace flowback::record {

// A child of the thread that starts it. One that is not released is killed with its object.
class PausedCommand {
 public:
  // Errors: kCommandMissing, kCommandRefused (as far as visible before exec), kSystem.
  static Result<PausedCommand> Start(const std::vector<std::string>& command,
                                     const RecorderSignals& signals);
  PausedCommand(PausedCommand&& other) noexcept;
  PausedCommand& operator=(PausedCommand&&) = delete;
  ~PausedCommand();

  pid_t pid() const { return pid_; }
  // Lets it exec; returns once it did. Errors, after which the child is gone: as Start.
  Status Release();

 private:
  PausedCommand(std::string name, pid_t pid, Descriptor go, Descriptor failure)
      : name_(std::move(name)), pid_(pid), go_(std::move(go)), failure_(std::move(failure)) {}
  void Reap() const;

  std::string name_;
  pid_t pid_;
  bool released_ = false;
  Descriptor go_;
  Descriptor failure_;
};

}  // namespace flowback::record
