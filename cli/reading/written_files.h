// SPDX-License-Identifier: MIT
// Files that a command writes must not be those that it reads, and must differ from each other.
#pragma once

#include <sys/stat.h>

#include <span>
#include <string>
#include <string_view>

#include "flowback/base/error.h"

namespace flowback::cli {

// Compares files by device and inode: a file has many names, such as links and /proc/self/fd.
class SameFile {
 public:
  explicit SameFile(const struct stat& file) : file_(file) {}

  bool operator()(const std::string& path) const {
    struct stat other{};
    return !path.empty() && stat(path.c_str(), &other) == 0 && other.st_dev == file_.st_dev &&
           other.st_ino == file_.st_ino;
  }

 private:
  struct stat file_;
};

// A file to write, and the option that names it.
struct WrittenFile {
  std::string option;  // "-o"
  std::string path;    // empty or "-": standard output
};

// Returns the file of the recording `input` that `is_same` finds: the input itself, a file in its
// folder, or one that its recorder kept beside it. Empty: no file is the same.
std::string AmongFilesOf(const std::string& input, const SameFile& is_same);
// Returns the first file below the folder that `is_same` finds. Empty: no file is the same.
std::string AmongFilesBelow(const std::string& folder, const SameFile& is_same);

// Returns an error if `file` is `used`, which the command reads.
Error WouldDestroy(const WrittenFile& file, const std::string& used);
// Returns an error if `file` holds `content`, such as "a recording", which --force would overwrite.
Error IsValuable(const WrittenFile& file, std::string_view content);

// Call it before anything is read. Errors: kUsage if the file has content and belongs to one of the
// inputs, which are recordings, part files or any other files.
Status CheckIsNotRead(const WrittenFile& file, std::span<const std::string> inputs);
// Errors: kUsage if the file holds a recording or an ELF file, and `force` is false.
Status CheckIsReplaceable(const WrittenFile& file, bool force);
// Both checks for each of the files.
Status CheckWritten(std::span<const WrittenFile> files, std::span<const std::string> inputs,
                    bool force);
// Errors: kUsage if both are the same file or both are standard output.
Status CheckDiffer(const WrittenFile& one, const WrittenFile& other);

}  // namespace flowback::cli
