// SPDX-License-Identifier: MIT
// Folders whose content is trusted because only the user can have put it there.
#pragma once

#include <sys/stat.h>

#include <string>

namespace flowback {

// Makes the folder, for the user alone, and those above it, where they are absent: below folders of
// the user's own, or ones like /tmp, only. False: it is not there.
bool MakeOwnFolders(const std::string& folder);

// Returns why the file of `info` is not the user's alone: it has another owner, or others may write
// to it. Empty: it is.
std::string WhyNotOwn(const struct stat& info);

// The same for a folder, or for a link to one that no other user made. Also empty where there is no
// such folder: then `exists` is false.
std::string WhyFolderNotOwn(const std::string& folder, bool& exists);

}  // namespace flowback
