// SPDX-License-Identifier: MIT
// `flowback record` as a process beside this one, which it records: how it is started, and asked.
//
// It is no child of this process's, whose own wait(2) would find it, with a SIGCHLD: a process in
// between makes it and ends at once. Its replies come through a socket, as `--control` has it; its
// messages go to a file in memory, so that they can say why it ended.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/descriptor.h"

namespace flowback::self {

// Used by one thread at a time. Movable.
class RecorderProcess {
 public:
  // The program's path and its arguments, but for --control, which is added behind "record".
  // Returns once the recording runs; else `why` is set.
  static std::optional<RecorderProcess> Start(const std::string& program,
                                              std::vector<std::string> arguments, std::string& why);

  // Asks, and waits for the answer. False: `why` is set. `lines`: what was answered before the
  // acknowledgement.
  bool Ask(const std::string& command, std::string& why, std::vector<std::string>* lines = nullptr);
  // Asks it to end and waits until it has. False: it failed, and `why` is set.
  bool End(std::string& why);
  // It has not ended, as far as is known.
  bool runs() const { return runs_; }

 private:
  RecorderProcess(Descriptor socket, Descriptor messages)
      : socket_(std::move(socket)), messages_(std::move(messages)) {}
  enum class Heard { kLine, kEnd, kTooLate };
  Heard ReadLine(std::string& line);
  std::string LastWords() const;

  Descriptor socket_;
  Descriptor messages_;
  std::string heard_;  // has no end yet
  bool runs_ = true;
};

}  // namespace flowback::self
