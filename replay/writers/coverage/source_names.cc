// SPDX-License-Identifier: MIT
#include "replay/writers/coverage/source_names.h"

#include <filesystem>

namespace flowback {
namespace {

std::string WithSlash(const std::string& folder) {
  if (folder.empty()) return folder;
  std::error_code failed;
  const std::filesystem::path whole = std::filesystem::absolute(folder, failed);
  return ((failed ? std::filesystem::path(folder) : whole) / "").lexically_normal().string();
}

}  // namespace

SourceNames::SourceNames(const std::string& root)
    : root_(WithSlash(root)), reader_(root_.empty() ? root_ : root_.substr(0, root_.size() - 1)) {}

std::string SourceNames::NameOf(const std::string& path) const {
  if (root_.empty()) return path;
  if (path.starts_with(root_)) return path.substr(root_.size());
  const std::string found = reader_.Find(path);
  return found.starts_with(root_) ? found.substr(root_.size()) : path;
}

bool SourceNames::NamesFile(const std::string& path) { return !path.starts_with("/rustc/"); }

}  // namespace flowback
