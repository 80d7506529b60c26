// SPDX-License-Identifier: MIT
#include "decode/code/cache/own_folder.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>

namespace flowback {
namespace {

constexpr mode_t kOthersMayWrite = S_IWGRP | S_IWOTH;

std::string UserText(uid_t user) { return "user " + std::to_string(user); }

// The user may make a folder in it that no other user can remove: in one of their own, or in one
// like /tmp. Not in another user's home, which sudo may leave in HOME.
bool MayHoldOwn(const struct stat& info) {
  return info.st_uid == geteuid() ? (info.st_mode & S_IWUSR) != 0 : (info.st_mode & S_ISVTX) != 0;
}

bool MakeFolders(const std::filesystem::path& folder) {
  struct stat info{};
  if (stat(folder.c_str(), &info) == 0) return S_ISDIR(info.st_mode) && MayHoldOwn(info);
  if (errno != ENOENT || folder == folder.parent_path()) return false;
  return MakeFolders(folder.has_parent_path() ? folder.parent_path() : ".") &&
         (mkdir(folder.c_str(), S_IRWXU) == 0 || errno == EEXIST);
}

}  // namespace

bool MakeOwnFolders(const std::string& folder) { return MakeFolders(folder); }

std::string WhyNotOwn(const struct stat& info) {
  if (info.st_uid != geteuid())
    return "it belongs to " + UserText(info.st_uid) + ", not to " + UserText(geteuid());
  return (info.st_mode & kOthersMayWrite) != 0 ? "others than its owner may write to it" : "";
}

std::string WhyFolderNotOwn(const std::string& folder, bool& exists) {
  struct stat info{};
  exists = !folder.empty() && lstat(folder.c_str(), &info) == 0;
  if (!exists) return {};
  if (S_ISLNK(info.st_mode) && info.st_uid != geteuid() && info.st_uid != 0)
    return "it is a link that belongs to " + UserText(info.st_uid);
  exists = stat(folder.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
  return exists ? WhyNotOwn(info) : "";
}

}  // namespace flowback
