// SPDX-License-Identifier: MIT
#include "cli/coverage/recorded_command.h"

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

namespace flowback::cli {

Result<RecordedCommand> RecordedCommand::Run(const Arguments& command) {
  const char* const temporary = std::getenv("TMPDIR");
  const std::string parent = temporary == nullptr || *temporary == '\0' ? "/tmp" : temporary;
  std::string folder = parent + "/flowback-coverage-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr)
    return Fail(Error(ErrorCode::kSystem,
                      parent + ": can't make a folder for the recording: " + std::strerror(errno))
                    .Remedy("TMPDIR=FOLDER with one that you may write to"));
  RecordedCommand result(std::move(folder));
  // The only engine that records all of it wherever this runs.
  Arguments arguments = {"--engine", "emulate", "-o", result.recording(), "--"};
  arguments.insert(arguments.end(), command.begin(), command.end());
  result.status_ = RunRecord(arguments);
  return result;
}

RecordedCommand::RecordedCommand(RecordedCommand&& other) noexcept
    : folder_(std::exchange(other.folder_, {})), status_(other.status_) {}

RecordedCommand::~RecordedCommand() {
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

bool RecordedCommand::was_recorded() const {
  std::error_code ignored;
  return std::filesystem::exists(recording(), ignored);
}

}  // namespace flowback::cli
