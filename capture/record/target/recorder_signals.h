// SPDX-License-Identifier: MIT
// What signals mean while a program is being recorded.
//
// A terminal's Ctrl-C goes to the program and to the recorder, for they are one job. It is the
// program's: when the program ends of it, the recording is complete. Only a signal to the recorder
// alone, or a second one, ends the recording. SIGQUIT is the program's always. A file size limit is
// an error of the write that exceeds it, and not the recorder's death; so is a reader that left.
#pragma once

#include <signal.h>

#include <memory>
#include <optional>

namespace flowback::record {

// Lives while a recording runs, in the thread that controls it and that starts the others. A SIGHUP
// that the caller ignores stays ignored; the others are heeded all the same. Other threads of the
// caller should block SIGTERM and SIGHUP: what they take is not seen here.
class RecorderSignals {
 public:
  RecorderSignals();
  ~RecorderSignals();
  RecorderSignals(const RecorderSignals&) = delete;
  RecorderSignals& operator=(const RecorderSignals&) = delete;

  // In the child, before exec: what the caller had, so that it ignores what it would natively.
  void Restore() const;

  // Becomes readable when Take has something; -1: it could not be opened (no descriptors left).
  int descriptor() const;
  struct Request {
    int signal = 0;              // SIGINT, SIGTERM or SIGHUP
    bool from_terminal = false;  // the program got it as well
  };
  // The next signal that came; empty when none is there.
  std::optional<Request> Take() const;

 private:
  struct Saved;
  std::unique_ptr<Saved> saved_;
};

}  // namespace flowback::record
