// SPDX-License-Identifier: MIT
// Runs the built program as a user does and collects what it prints.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace flowback::test {

struct ProgramResult {
  int status = -1;  // exit status; -N when signal N ended it
  std::string out;
  std::string err;
  bool timed_out = false;  // it was killed because it ran too long
};

struct RunOptions {
  // Closes the reading end of its output after so many bytes, as `| head` does; 0: reads all.
  size_t close_output_after = 0;
  // Bound on its address space in MiB; 0: none. Not applied under sanitizers, which map terabytes.
  size_t memory_mib = 0;
  // Without the privilege to read files whatever their permissions say, which root has.
  bool obey_permissions = false;
  std::string folder{};  // working directory; empty: the caller's
};

// `words` follow the program's name. Ends the program after a minute, sanitized
// ones after five.
ProgramResult RunFlowback(const std::vector<std::string>& words, const RunOptions& options = {});

// The lines of `text`, without their ends; `comments` keeps those that begin with '#'.
std::vector<std::string> Lines(const std::string& text, bool comments = false);
// The words of a line, split at spaces.
std::vector<std::string> Words(const std::string& line);
// Removes the commas that group the digits of numbers: "1,234 calls" becomes "1234 calls".
std::string WithoutGroups(const std::string& text);

// A folder that is removed with the object.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string File(const std::string& name) const { return path_ + "/" + name; }
  // Writes the file, with the folders above it, and returns its path.
  std::string Write(const std::string& name, const std::string& content) const;

 private:
  std::string path_;
};

std::string ReadFile(const std::string& path);

// `line` as bash takes it, where $F is the program, in the folder. Ends it after as long.
ProgramResult RunShell(const ScratchFolder& folder, const std::string& line);

}  // namespace flowback::test
