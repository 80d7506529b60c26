// SPDX-License-Identifier: MIT
#include "replay/coverage/report/source_reader.h"

#include <filesystem>
#include <fstream>

#include "base/path_text.h"

namespace flowback {
namespace {

bool IsFile(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

}  // namespace

// A tree is seldom where it was built: of the recorded path ever fewer folders are looked for.
std::string SourceReader::Find(const std::string& path) const {
  if (root_.empty()) return IsFile(path) ? path : std::string();
  const std::string normal = NormalPath(path);
  std::string_view rest = normal;
  while (!rest.empty()) {
    while (rest.starts_with('/')) rest.remove_prefix(1);
    std::string candidate = root_ + "/" + std::string(rest);
    if (IsFile(candidate)) return candidate;
    const size_t slash = rest.find('/');
    if (slash == std::string_view::npos) break;
    rest.remove_prefix(slash + 1);
  }
  return IsFile(path) ? path : std::string();
}

const std::vector<std::string>& SourceReader::Lines(const std::string& path) {
  const auto known = files_.find(path);
  if (known != files_.end()) return known->second;
  if (files_.size() >= kMostFiles || bytes_ > kMostBytes) {
    files_.clear();
    bytes_ = 0;
  }
  return files_.emplace(path, Read(path)).first->second;
}

std::vector<std::string> SourceReader::Read(const std::string& path) {
  std::vector<std::string> lines;
  const std::string found = Find(path);
  std::error_code error;
  const auto size = found.empty() ? 0 : std::filesystem::file_size(found, error);
  if (size == 0 || error || size > kMostBytes) return lines;
  bytes_ += size;
  std::ifstream file(found, std::ios::binary);
  for (std::string line; std::getline(file, line);) {
    if (line.ends_with('\r')) line.pop_back();
    lines.push_back(line);
  }
  return lines;
}

bool IsNewer(const std::string& source, const std::string& binary) {
  std::error_code error;
  const auto of_source = std::filesystem::last_write_time(source, error);
  if (error) return false;
  const auto of_binary = std::filesystem::last_write_time(binary, error);
  return !error && of_source > of_binary;
}

}  // namespace flowback
