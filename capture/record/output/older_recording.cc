// SPDX-License-Identifier: MIT
#include "capture/record/output/older_recording.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/record/output/image_keeper.h"
#include "capture/record/output/output_file.h"
#include "capture/record/output/recording_folder.h"
#include "decode/code/images/kept_images.h"

namespace flowback::record {
namespace {

bool IsFile(const std::string& path) {
  struct stat about{};
  return lstat(path.c_str(), &about) == 0 && S_ISREG(about.st_mode);
}

// With what stands beside it. Where it fails the file is still there, by its first name.
bool Move(const std::string& from, const std::string& to) {
  if (rename(from.c_str(), to.c_str()) != 0) return false;
  static_cast<void>(MoveImages(ImagesFolderOf(from), ImagesFolderOf(to)));
  if (IsFile(CodePathOf(from))) rename(CodePathOf(from).c_str(), CodePathOf(to).c_str());
  return true;
}

// With what stands beside it, a file has that.
void Remove(const std::string& path) {
  if (IsRecordingFolder(path)) return RemoveRecordingFolder(path);
  if (unlink(path.c_str()) != 0) return;
  RemoveImages(ImagesFolderOf(path));
  unlink(CodePathOf(path).c_str());
}

}  // namespace

Result<std::string> OlderRecording::Keep() {
  const std::string older = path_ + ".old";
  struct stat about{};
  const bool makes_way = stat(path_.c_str(), &about) == 0 && about.st_size != 0;
  waits_ = makes_way && (IsFile(older) || IsRecordingFolder(older)) && Move(older, older + ".old");
  auto told = KeepOlderFile(path_);
  kept_ = told && !told->empty();
  return told;
}

void OlderRecording::BringBack(bool made) {
  const std::string older = path_ + ".old";
  if (made || kept_) BringOlderFileBack(path_, kept_);
  if (waits_) Move(older + ".old", older);
  kept_ = waits_ = false;
}

void OlderRecording::LetGo() {
  if (waits_) Remove(path_ + ".old.old");
  kept_ = waits_ = false;
}

}  // namespace flowback::record
