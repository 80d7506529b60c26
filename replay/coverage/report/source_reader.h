// SPDX-License-Identifier: MIT
// The text of source files, for reports that show it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace flowback {

class SourceReader {
 public:
  // `root`: a folder under which sources lie; empty: where the debug information says.
  explicit SourceReader(std::string root) : root_(std::move(root)) {}

  // Returns the file's lines without their ends, valid until the next call. Returns none if the
  // file cannot be read or is too large to be source. Keeps the last few files, since inlined code
  // alternates between them.
  const std::vector<std::string>& Lines(const std::string& path);
  // Returns where the file was found; empty if it was not.
  std::string Find(const std::string& path) const;

 private:
  std::vector<std::string> Read(const std::string& path);

  static constexpr uint64_t kMostBytes = uint64_t{32} << 20;  // of a file, and of all that is kept
  static constexpr size_t kMostFiles = 64;

  std::string root_;
  std::unordered_map<std::string, std::vector<std::string>> files_;
  uint64_t bytes_ = 0;
};

// Returns whether the source was changed after `binary` was compiled from it, so that its lines may
// have moved. Returns false if the date of either is not known.
bool IsNewer(const std::string& source, const std::string& binary);

}  // namespace flowback
