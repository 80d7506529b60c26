// SPDX-License-Identifier: MIT
// `flowback coverage -- CMD`: a command and all of its processes, recorded for their counts only.
#pragma once

#include <string>

#include "cli/command.h"
#include "flowback/base/error.h"

namespace flowback::cli {

// The recording is there as long as this.
class RecordedCommand {
 public:
  // Runs it to its end. Errors: kSystem where there is no place for the recording.
  static Result<RecordedCommand> Run(const Arguments& command);
  RecordedCommand(RecordedCommand&& other) noexcept;
  RecordedCommand& operator=(RecordedCommand&&) = delete;
  ~RecordedCommand();

  std::string recording() const { return folder_ + "/coverage.data"; }
  // Its own exit status, as `record` gives it.
  int status() const { return status_; }
  // Whether it was recorded at all; if not, `record` has told why.
  bool was_recorded() const;

 private:
  RecordedCommand(std::string folder) : folder_(std::move(folder)) {}

  std::string folder_;
  int status_ = 0;
};

}  // namespace flowback::cli
