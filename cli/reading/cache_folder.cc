// SPDX-License-Identifier: MIT
#include "cli/reading/cache_folder.h"

#include <unistd.h>

#include <cstdlib>

#include "cli/text/quantity.h"

namespace flowback::cli {
namespace {

// Empty: it is not set.
std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Relative ones mean nothing.
std::string FolderIn(const std::string& base, const char* below) {
  return base.starts_with('/') ? base + below : "";
}

std::string Folder() {
  if (std::string folder = Variable("FLOWBACK_CACHE"); !folder.empty()) return folder;
  if (std::string folder = FolderIn(Variable("XDG_CACHE_HOME"), "/flowback"); !folder.empty())
    return folder;
  const std::string home = Variable("HOME");
  // A home that does not exist, as services have, is not made.
  return access(home.c_str(), F_OK) == 0 ? FolderIn(home, "/.cache/flowback") : "";
}

}  // namespace

Status FindCache(const std::string& given, ImageSearch& search) {
  search.cache = given.empty() ? Folder() : given;
  const std::string size = Variable("FLOWBACK_CACHE_SIZE");
  if (size.empty()) return {};
  if (size == "0") {
    search.cache.clear();
    return {};
  }
  const Result<uint64_t> bytes = ParseSize(size, "FLOWBACK_CACHE_SIZE");
  if (!bytes) return Fail(bytes.error());
  search.cache_bytes = *bytes;
  return {};
}

Status FindImageStore(RecordOptions& options) {
  ImageSearch search;
  if (Status found = FindCache({}, search); !found) return found;
  if (search.cache.empty()) return {};
  options.files.image_store = search.cache + "/images";
  options.files.image_store_bytes = search.cache_bytes;
  return {};
}

}  // namespace flowback::cli
