// SPDX-License-Identifier: MIT
// A recording that is a folder, as perf makes it where a copy of the kernel's code goes with it:
// the records are the file `data` in it, the copy is in kcore_dir.
#pragma once

#include <string>

#include "flowback/base/error.h"

namespace flowback::record {

std::string DataPathIn(const std::string& folder);
std::string KernelFolderIn(const std::string& folder);

bool IsRecordingFolder(const std::string& path);
// An empty folder may be there. Errors: kUsage where something else is; kPermission, kSystem.
Status MakeRecordingFolder(const std::string& path);
// Removes what such a recording has, and the folder, unless something else is in it, too.
void RemoveRecordingFolder(const std::string& path);

}  // namespace flowback::record
