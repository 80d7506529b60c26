// SPDX-License-Identifier: MIT
#include "capture/record/output/recording_folder.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "capture/formats/perf_records/perf_layout.h"

namespace flowback::record {
namespace {

constexpr mode_t kOwnerOnly = 0700;  // a trace may hold secrets

bool IsKind(const std::string& path, mode_t kind) {
  struct stat about{};
  return stat(path.c_str(), &about) == 0 && (about.st_mode & S_IFMT) == kind;
}

}  // namespace

std::string DataPathIn(const std::string& folder) { return folder + "/" + perf::kFolderData; }
std::string KernelFolderIn(const std::string& folder) { return folder + "/" + perf::kFolderKernel; }

bool IsRecordingFolder(const std::string& path) {
  return IsKind(path, S_IFDIR) && IsKind(DataPathIn(path), S_IFREG);
}

Status MakeRecordingFolder(const std::string& path) {
  if (mkdir(path.c_str(), kOwnerOnly) == 0) return {};
  std::error_code ignored;
  if (errno == EEXIST && IsKind(path, S_IFDIR) && std::filesystem::is_empty(path, ignored))
    return {};
  if (errno == EEXIST)
    return Fail(Error(ErrorCode::kUsage,
                      "can't make the folder '" + path + "': what is there is no recording")
                    .Remedy("give another name with -o FOLDER"));
  const bool forbidden = errno == EACCES || errno == EPERM || errno == EROFS;
  return Fail(Error(forbidden ? ErrorCode::kPermission : ErrorCode::kSystem,
                    "can't make the folder '" + path + "': " + std::strerror(errno))
                  .Remedy("give another name with -o FOLDER"));
}

void RemoveRecordingFolder(const std::string& path) {
  const std::string kernel = KernelFolderIn(path);
  for (const char* name : {"/kcore", "/kallsyms", "/modules"}) unlink((kernel + name).c_str());
  rmdir(kernel.c_str());
  unlink(DataPathIn(path).c_str());
  rmdir(path.c_str());
}

}  // namespace flowback::record
