// SPDX-License-Identifier: MIT
#include "capture/bundle/bundle_format.h"

#include <algorithm>
#include <array>

namespace flowback::bundle {
namespace {

constexpr size_t kLongestPart = 255;
constexpr size_t kLongestName = 4096;
constexpr size_t kMostParts = 64;

bool IsPart(std::string_view part) {
  return !part.empty() && part.size() <= kLongestPart && part != "." && part != ".." &&
         part.find('\0') == std::string_view::npos;
}

}  // namespace

bool IsMemberName(std::string_view name) {
  if (name == kManifest || name == kIndex) return true;
  if (name.size() > kLongestName) return false;
  constexpr std::array kFolders = {kRecordingFolder, kRootFolder, kCoreFolder, kKernelFolder};
  const size_t first = name.find('/');
  if (first == std::string_view::npos ||
      std::ranges::find(kFolders, name.substr(0, first)) == kFolders.end())
    return false;
  for (size_t parts = 1; !name.empty(); ++parts) {
    const size_t end = std::min(name.find('/'), name.size());
    if (parts > kMostParts || !IsPart(name.substr(0, end)) || end + 1 == name.size()) return false;
    name.remove_prefix(std::min(end + 1, name.size()));
  }
  return true;
}

}  // namespace flowback::bundle
