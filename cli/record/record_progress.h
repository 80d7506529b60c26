// SPDX-License-Identifier: MIT
// The line on the terminal that says how far a recording is.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "flowback/base/error.h"
#include "flowback/capture/record.h"

namespace flowback::cli {

// "recording: 12 s, 3.4 MB/s, 705.3 million instructions, 0 lost".
std::string ProgressText(const RecordProgress& progress, double bytes_per_second);

// Messages printed at once, while the program runs, on a terminal or not; each once.
class RecordAnnouncements {
 public:
  RecordAnnouncements() = default;
  explicit RecordAnnouncements(const RecordOptions& options)
      : kills_(options.files.kill_on_failure && !options.target.command.empty()),
        attached_(options.target.command.empty()) {}

  // Returns the new messages.
  std::vector<std::string> About(const RecordProgress& progress);

 private:
  std::string AfterLimit() const;

  bool kills_ = false;     // the program is to end with the recording
  bool attached_ = false;  // it was not started by the recorder
  bool at_limit_ = false;
  bool left_running_ = false;
  bool failed_ = false;
};

// Draws on stderr, if that is a terminal, from the first second on, and erases what it drew when it
// ends. Where the program writes to the terminal as well, the line stands below the cursor; a
// program that draws the screen itself is left alone.
class RecordProgressLine {
 public:
  RecordProgressLine();
  ~RecordProgressLine() { Erase(); }
  RecordProgressLine(const RecordProgressLine&) = delete;
  RecordProgressLine& operator=(const RecordProgressLine&) = delete;

  void Update(const RecordProgress& progress);
  // Erases the line, so that other text can be printed: the next update draws it again.
  void Erase();

 private:
  void Draw(const std::string& text);

  const bool on_;     // stderr is a terminal
  const bool below_;  // the program's output goes there too
  bool drawn_ = false;
  std::chrono::nanoseconds last_time_{0};
  uint64_t last_bytes_ = 0;
};

// Records, with that line and these messages.
Result<RecordSummary> RecordWithProgress(RecordOptions& options);

}  // namespace flowback::cli
