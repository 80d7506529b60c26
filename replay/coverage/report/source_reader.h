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

  // The file's lines, each without its end; empty where it can't be read, or is larger than any
  // source. Valid until the next call. The last few are kept: inlined code goes to and fro.
  const std::vector<std::string>& Lines(const std::string& path);
  // Where the file was found; empty: nowhere.
  std::string Find(const std::string& path) const;

 private:
  std::vector<std::string> Read(const std::string& path);

  static constexpr uint64_t kMostBytes = uint64_t{32} << 20;  // of a file, and of all that is kept
  static constexpr size_t kMostFiles = 64;

  std::string root_;
  std::unordered_map<std::string, std::vector<std::string>> files_;
  uint64_t bytes_ = 0;
};

// Whether the source was changed after the file that was compiled of it, so that its lines may be
// others. False where either can't be looked at.
bool IsNewer(const std::string& source, const std::string& binary);

}  // namespace flowback
