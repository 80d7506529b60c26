// SPDX-License-Identifier: MIT
#include "cli/reading/written_files.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>

#include "cli/reading/file_head.h"
#include "decode/code/images/kept_images.h"

namespace flowback::cli {
namespace {

namespace fs = std::filesystem;

bool MeansStandardOutput(const std::string& path) { return path.empty() || path == "-"; }

// Returns the file's identity. Empty: nothing is lost if it is overwritten, because it is standard
// output, does not exist, has no content or is a pipe or device.
std::optional<SameFile> FindContent(const WrittenFile& file) {
  struct stat about{};
  if (MeansStandardOutput(file.path) || stat(file.path.c_str(), &about) != 0) return std::nullopt;
  if (!S_ISREG(about.st_mode) || about.st_size == 0) return std::nullopt;
  return SameFile(about);
}

// Whether bytes go to a file of the disk: one that exists, or will.
bool IsOnDisk(const std::string& path) {
  std::error_code failed;
  const fs::file_type kind = fs::status(path, failed).type();
  return kind == fs::file_type::regular || kind == fs::file_type::not_found;
}

bool AreOne(const std::string& one, const std::string& other) {
  if (MeansStandardOutput(one) || MeansStandardOutput(other))
    return MeansStandardOutput(one) && MeansStandardOutput(other);
  if (!IsOnDisk(one) || !IsOnDisk(other)) return false;
  std::error_code failed;
  if (fs::equivalent(one, other, failed)) return true;
  const fs::path path = fs::weakly_canonical(fs::absolute(one, failed), failed);
  return path == fs::weakly_canonical(fs::absolute(other, failed), failed);
}

}  // namespace

std::string AmongFilesBelow(const std::string& folder, const SameFile& is_same) {
  std::error_code failed;
  if (folder.empty() || !fs::is_directory(folder, failed)) return {};
  fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied,
                                      failed);
  for (; !failed && at != fs::recursive_directory_iterator(); at.increment(failed))
    if (is_same(at->path())) return at->path();
  return {};
}

std::string AmongFilesOf(const std::string& input, const SameFile& is_same) {
  if (input.empty()) return {};
  for (const std::string& path : {input, input + ".code"})
    if (is_same(path)) return path;
  for (const std::string& folder : {input, ImagesFolderOf(input)})
    if (std::string found = AmongFilesBelow(folder, is_same); !found.empty()) return found;
  return {};
}

Error WouldDestroy(const WrittenFile& file, const std::string& used) {
  const std::string name = file.option + ' ' + file.path;
  const std::string text =
      used == file.path
          ? fmt::format("{}: is read here: writing would destroy it", name)
          : fmt::format("{}: is the file {}, which is read here: writing would destroy it", name,
                        used);
  return Error(ErrorCode::kUsage, text)
      .Remedy(fmt::format("name another file with {} FILE", file.option));
}

Error IsValuable(const WrittenFile& file, std::string_view content) {
  return Error(ErrorCode::kUsage,
               fmt::format("{} {}: there is {} already", file.option, file.path, content))
      .Remedy("name another file, or overwrite it with --force");
}

Status CheckIsNotRead(const WrittenFile& file, std::span<const std::string> inputs) {
  const std::optional<SameFile> is_same = FindContent(file);
  if (!is_same) return {};
  for (const std::string& input : inputs)
    if (const std::string used = AmongFilesOf(input, *is_same); !used.empty())
      return Fail(WouldDestroy(file, used));
  return {};
}

Status CheckIsReplaceable(const WrittenFile& file, bool force) {
  if (force || !FindContent(file)) return {};
  const std::string_view content = KindOfValuableFile(file.path);
  return content.empty() ? Status() : Fail(IsValuable(file, content));
}

Status CheckWritten(std::span<const WrittenFile> files, std::span<const std::string> inputs,
                    bool force) {
  for (const WrittenFile& file : files) {
    if (Status status = CheckIsNotRead(file, inputs); !status) return status;
    if (Status status = CheckIsReplaceable(file, force); !status) return status;
  }
  return {};
}

Status CheckDiffer(const WrittenFile& one, const WrittenFile& other) {
  if (!AreOne(one.path, other.path)) return {};
  if (MeansStandardOutput(one.path))
    return Fail(Error(ErrorCode::kUsage, fmt::format("{} and {} cannot both write to standard "
                                                     "output",
                                                     one.option, other.option))
                    .Remedy(fmt::format("{} FILE", one.option)));
  return Fail(Error(ErrorCode::kUsage, fmt::format("{} and {} name the same file, {}", one.option,
                                                   other.option, one.path))
                  .Remedy(fmt::format("name another file with {} FILE", other.option)));
}

}  // namespace flowback::cli
