// SPDX-License-Identifier: MIT
// The sink of everything that a command prints.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "cli/text/colored.h"
#include "flowback/base/error.h"
#include "flowback/writers.h"

namespace flowback::cli {

// Writes text to a file, a pipe or a terminal, in large writes. A reader that goes away (`| head`)
// is no error: the output is closed() from then on, and the caller ends its work.
class Output final : public TextSink {
 public:
  // To standard output. From then on the process ignores SIGPIPE, so that a closed pipe shows up
  // as a failed write.
  Output();
  // To the file at `path`, created or overwritten; "-" and "" mean standard output. `check` is
  // asked about the file that was opened, by a name that no other file can take meanwhile, before
  // it is emptied. Where the file system can, the text goes to a file without a name, which takes
  // its place when the output ends: until then, and where writing fails, an older file stays as it
  // was, and no empty one is left. Without a check any file is overwritten. Errors: the check's;
  // kSystem.
  using FileCheck = std::function<Status(const std::string& opened)>;
  static Result<Output> Open(
      const std::string& path,
      const FileCheck& check = [](const std::string&) { return Status(); });

  Output(Output&& other) noexcept;
  ~Output() override;

  // Calls `check` before text is written. If the check fails, the text is dropped, the output is
  // closed, and Finish returns the error.
  void CheckWith(std::function<Status()> check) { check_ = std::move(check); }

  // Drops what was not written yet. A file that this output would have created does not appear, and
  // the older one stays. What went to a pipe or to a file that another name leads to stays there.
  void Discard();

  // Writes the rest. A command that did not succeed and wrote nothing leaves no file, or the older
  // one. Errors: kSystem for a failure other than a reader that went away; the check's.
  Status Finish(bool succeeded = true);

 private:
  static constexpr size_t kMostHeld = size_t{1} << 20;

  Output(int fd, std::string name);
  static Output Unnamed(const std::string& path, const std::optional<unsigned>& mode, Output named);
  void Publish();
  // Keeps text that has to wait for its check.
  void Take(std::string_view more) override;
  void WriteText(std::string_view text);
  void WriteAll(std::string_view text);
  // Writes the pending text, then `more`.
  void WriteOut(std::string_view more);
  bool HasToWait(size_t more);
  bool MayWrite();

  int fd_;
  std::string name_;
  std::string place_;  // that the file without a name takes; empty: it has one
  int error_ = 0;
  bool wrote_ = false;         // anything
  bool met_terminal_ = false;  // BeforeOutput was called
  std::optional<LineColors> colors_;
  std::function<Status()> check_;
  Status checked_;
  std::chrono::steady_clock::time_point next_check_;
};

// Writes `text`, which is all that the command prints, to standard output. Returns the exit status
// and reports a failure.
int Print(const std::string& text);

}  // namespace flowback::cli
