// SPDX-License-Identifier: MIT
// One big buffered writer for everything a command prints on its output.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "cli/text/colored.h"
#include "flowback/base/error.h"

namespace flowback::cli {

// Collects text and writes it in large pieces. A reader that goes away (`| head`) is no error: the
// writer is `closed` from then on and swallows the rest; the caller ends its work. Not thread-safe.
class Output {
 public:
  // To standard output. From then on the process ignores SIGPIPE, so that a closed pipe shows up
  // as a failed write.
  Output();
  // To the file at `path`, created or overwritten; "-" and "" mean standard output. `check` is
  // asked about the file that was opened, by a name that no other file can take meanwhile, before
  // it is emptied. Errors: the check's; kSystem.
  using FileCheck = std::function<Status(const std::string& opened)>;
  static Result<Output> Open(const std::string& path, const FileCheck& check);

  Output(Output&& other) noexcept;
  Output& operator=(Output&&) = delete;
  ~Output();

  // Asks `check` before text is written: where that fails the text is dropped, the writer is
  // closed, and Finish returns the error.
  void CheckWith(std::function<Status()> check) { check_ = std::move(check); }

  // The pending text: append to it, then call Commit.
  std::string& buffer() { return buffer_; }
  // Writes the buffer out once it is large, or has waited for long.
  void Commit() {
    if (buffer_.size() >= write_size_ || IsOld()) Flush();
  }
  void Write(std::string_view text) {
    if (text.size() >= write_size_) return WriteThrough(text);
    buffer_ += text;
    Commit();
  }
  // Writes it out, but for what has to wait for its check.
  void Flush();

  // True once the reader has gone, or writing or the check failed: nothing more needs to be
  // produced.
  bool closed() const { return closed_; }
  // Writes the rest. Errors: kSystem for a failure other than a reader that went away; the check's.
  Status Finish();

 private:
  // The first lines go out soon: somebody may be waiting for them.
  static constexpr size_t kFirstWriteSize = 4 * 1024;
  static constexpr size_t kWriteSize = 256 * 1024;
  static constexpr size_t kMostHeld = size_t{1} << 20;
  static constexpr unsigned kCommits = 64;

  Output(int fd, std::string name);
  // Looks at the clock after so many commits only: it costs as much as a short line.
  bool IsOld() { return ++commits_ % kCommits == 0 && Waited(); }
  bool Waited() const;
  // Much text is not copied once more.
  void WriteThrough(std::string_view text);
  void WriteText(std::string_view text);
  void WriteAll(std::string_view text);
  // The pending text, and `more` behind it.
  void WriteOut(std::string_view more);
  bool HasToWait(size_t more) const;
  bool MayWrite();

  int fd_;
  std::string name_;
  std::string buffer_;
  size_t write_size_ = kFirstWriteSize;
  unsigned commits_ = 0;
  std::chrono::steady_clock::time_point written_ = std::chrono::steady_clock::now();
  bool closed_ = false;
  int error_ = 0;
  bool met_terminal_ = false;  // BeforeOutput was called
  std::optional<LineColors> colors_;
  std::function<Status()> check_;
  Status checked_;
  std::chrono::steady_clock::time_point next_check_;
};

// Writes a text that is all there is to stdout; returns the exit status, a failure told.
int Print(const std::string& text);

}  // namespace flowback::cli
