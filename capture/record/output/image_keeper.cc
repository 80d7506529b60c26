// SPDX-License-Identifier: MIT
#include "capture/record/output/image_keeper.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <string_view>
#include <utility>

#include "capture/record/image/file_build_id.h"
#include "capture/record/image/mapped_image.h"
#include "capture/record/output/process_files.h"
#include "decode/code/images/image_search.h"
#include "decode/code/images/kept_images.h"

namespace flowback::record {
namespace {

constexpr uint64_t kMostBytes = uint64_t{4} << 30;  // of a file: a sparse one may claim anything
constexpr int kMostTries = 3;
constexpr size_t kLongestName = 64;
constexpr std::string_view kVdso = "[vdso]";

// Returns a file's name in characters that any shell takes, for any name in the recorded program.
std::string PlainName(const std::string& path) {
  std::string name(BaseName(path).substr(0, kLongestName));
  for (char& c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("._+-").find(c) != std::string_view::npos;
    if (!plain) c = '_';
  }
  return name;
}

bool IsJitDump(const std::string& path) {
  const std::string_view name = BaseName(path);
  return name.starts_with("jit-") && name.ends_with(".dump");
}

std::optional<int64_t> OffsetOfMonotonicClock(const TraceClock& clock) {
  timespec now{};
  if (clock.counts_instructions() || clock_gettime(CLOCK_MONOTONIC, &now) != 0) return std::nullopt;
  const int64_t own = static_cast<int64_t>(clock.ToNanoseconds(clock.Now()));
  return now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec - own;
}

bool IsElf(int file) {
  char magic[4] = {};
  return pread(file, magic, sizeof magic, 0) == sizeof magic &&
         std::memcmp(magic, "\177ELF", sizeof magic) == 0;
}

// Memory that has a name but is shared memory, and no program: its bytes change, and its executed
// pages are kept one by one.
bool IsOnlyMemory(const std::string& path, int file) { return IsPathless(path) && !IsElf(file); }

}  // namespace

bool KeepsImages(const RecordOptions& options) {
  return options.files.keep_images && options.files.pipe < 0 &&
         !(options.files.output.empty() && options.processes.folder.empty());
}

std::string ImagesFolderFor(const RecordOptions& options) {
  return options.files.output.empty() ? SharedImagesOf(options.processes.folder)
                                      : ImagesFolderOf(options.files.output);
}

bool RemoveImages(const std::string& folder) {
  DIR* const entries = opendir(folder.c_str());
  if (entries == nullptr) return errno == ENOENT;
  while (const dirent* entry = readdir(entries)) {
    const std::string_view name = entry->d_name;
    const bool ours = name == kImagesIndex || name.starts_with("new-") ||
                      (!name.empty() && name[0] >= '0' && name[0] <= '9');
    if (ours) unlink((folder + "/" + entry->d_name).c_str());
  }
  closedir(entries);
  return rmdir(folder.c_str()) == 0;
}

Status MoveImages(const std::string& from, const std::string& target) {
  // Removes the target even if `from` does not exist: it would count as the images of the recording
  // with that name.
  if (RemoveImages(target) && (rename(from.c_str(), target.c_str()) == 0 || errno == ENOENT))
    return {};
  return Fail(Error(errno == EACCES || errno == EPERM ? ErrorCode::kPermission : ErrorCode::kSystem,
                    "can't rename an older recording's images '" + from + "' to '" + target +
                        "': " + std::strerror(errno))
                  .Remedy("remove " + target + ", or give another file with -o FILE"));
}

ImageKeeper::ImageKeeper(const RecordOptions& options, const TraceClock& clock)
    : output_(options.files.output),
      clock_(clock),
      folder_(ImagesFolderFor(options)),
      began_(time(nullptr)),
      shared_(options.files.image_store, options.files.image_store_bytes) {}

void ImageKeeper::Problem(const std::string& path, const std::string& why) {
  constexpr size_t kMost = 20;
  if (kept_.problems.size() >= kMost) return;
  std::string text =
      "'" + path + "' is not kept with the recording: " + why + "; decode before it changes";
  if (std::ranges::find(kept_.problems, text) == kept_.problems.end())
    kept_.problems.push_back(std::move(text));
}

// Made late: a recording of nothing has no folder.
bool ImageKeeper::HasFolder() {
  if (index_ != nullptr || failed_) return !failed_;
  failed_ = true;
  struct stat info{};
  // Nothing is kept beside a device or another special file.
  if (!output_.empty() && (stat(output_.c_str(), &info) != 0 || !S_ISREG(info.st_mode))) {
    kept_.why_none = "'" + output_ + "' is no regular file, which others could stand beside";
    return false;
  }
  // The images of a recording that is gone, or was renamed alone.
  if (auto moved = MoveImages(folder_, folder_ + ".old"); !moved) {
    kept_.why_none = moved.error().message();
    return false;
  }
  if (mkdir(folder_.c_str(), S_IRWXU) != 0) {
    kept_.why_none = "can't make '" + folder_ + "': " + std::strerror(errno);
    return false;
  }
  auto index = OutputFile::Create(PathOf(kImagesIndex));
  if (!index) {
    kept_.why_none = index.error().message();
    return false;
  }
  index_ = std::make_unique<OutputFile>(std::move(*index));
  failed_ = false;
  AddLine("flowback-images 1\n");
  return !failed_;
}

void ImageKeeper::AddLine(const std::string& line) {
  if (failed_ || index_->Write(line)) return;
  failed_ = true;
  Problem(PathOf(kImagesIndex), "it can't be written");
}

std::string ImageKeeper::NewName(const std::string& path) {
  return std::to_string(++names_) + "-" + PlainName(path);
}

// A file that is written to meanwhile is read again. So is one that is unlinked meanwhile, whose
// version looks the same.
ImageKeeper::Entry ImageKeeper::Keep(const std::string& path, const MappedImage& image) {
  const std::string name = NewName(path);
  for (int tries = 1; tries <= kMostTries; ++tries) {
    const std::string version = image.Version();
    const auto copy = shared_.Put(*image.file, PathOf(name));
    if (!copy) {
      Problem(path, copy.error().message());
      return {};
    }
    const BuildId build_id = BuildIdOfFile(PathOf(name));
    if (build_id == image.build_id && version == image.Version()) {
      if (counted_.insert(version).second) Count(*copy);
      AddLine(KeptImage{name, copy->size, copy->hash, build_id, path}.Line());
      return {name, !build_id.empty()};
    }
    unlink(PathOf(name).c_str());
  }
  Problem(path, "it was written to while it was mapped");
  return {};
}

void ImageKeeper::AddImage(const MmapRecord& record, const MappedImage& image) {
  if (*image.file < 0) return Problem(record.path, image.problem);
  if (IsOnlyMemory(record.path, *image.file)) return;
  const std::string version = image.Version();
  if (IsJitDump(record.path)) {
    auto file = std::make_shared<Descriptor>(fcntl(*image.file, F_DUPFD_CLOEXEC, 3));
    if (**file >= 0) growing_.try_emplace(record.path, Growing{std::move(file), record.pid});
    return;
  }
  struct stat info{};
  if (fstat(*image.file, &info) != 0 || static_cast<uint64_t>(info.st_size) > kMostBytes)
    return Problem(record.path, "it is larger than 4 GiB");
  if (!HasFolder()) return;
  const auto [entry, is_new] = entries_.try_emplace({version, record.path});
  if (is_new) entry->second = Keep(record.path, image);
  if (entry->second.name.empty() || entry->second.has_build_id) return;
  AddLine(KeptMapping{entry->second.name, record.time, record.pid, record.address}.Line());
}

Status ImageKeeper::AddSideband(const SidebandRecord& record) {
  const auto& base = std::visit([](const auto& r) -> const SidebandBase& { return r; }, record);
  if (base.pid > 0) processes_.insert(base.pid);
  return {};
}

// The vDSO is in no file, and another kernel's is another.
Status ImageKeeper::AddCode(const MemoryCode& code) {
  if (code.name != kVdso || !HasFolder()) return {};
  const BuildId build_id = BuildIdOf(code.bytes);
  if (build_id.empty() || !vdsos_.insert(build_id.ToHex()).second) return {};
  MappedImage image;
  image.file = Descriptor(memfd_create("vdso", MFD_CLOEXEC));
  image.build_id = build_id;
  if (*image.file >= 0 && WriteAll(*image.file, code.bytes)) Keep(std::string(kVdso), image);
  return {};
}

void ImageKeeper::KeepScript(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat info{};
  char start[2] = {};
  if (*file < 0 || fstat(*file, &info) != 0 || !S_ISREG(info.st_mode) ||
      static_cast<uint64_t>(info.st_size) > kMostBytes ||
      pread(*file, start, sizeof start, 0) != sizeof start || start[0] != '#' || start[1] != '!' ||
      !HasFolder())
    return;
  const std::string name = NewName(path);
  const auto copy = shared_.Put(*file, PathOf(name));
  if (!copy) return Problem(path, copy.error().message());
  Count(*copy);
  AddLine(KeptImage{name, copy->size, copy->hash, {}, path}.Line());
}

void ImageKeeper::Count(const SharedImages::Copy& copy) {
  ++kept_.files;
  kept_.bytes += copy.size;
  if (copy.shared) kept_.shared_bytes += copy.size;
}

void ImageKeeper::KeepNames(int file, int32_t pid, const std::string& path) {
  struct stat info{};
  if (fstat(file, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size == 0) return;
  if (static_cast<uint64_t>(info.st_size) > kMostBytes)
    return Problem(path, "it is larger than 4 GiB");
  if (!HasFolder()) return;
  const std::string name = NewName(path);
  // Two recordings never have the same names: a store would be of no use.
  const auto copy = SharedImages("", 0).Put(file, PathOf(name));
  if (!copy) return Problem(path, copy.error().message());
  Count(*copy);
  AddLine(KeptNames{name, pid, OffsetOfMonotonicClock(clock_)}.Line());
}

// Anybody can put a file into /tmp, and a process's number is used again.
void ImageKeeper::KeepPerfMap(int32_t pid) {
  const std::string path = "/tmp/perf-" + std::to_string(pid) + ".map";
  const Descriptor file(
      open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  struct stat info{};
  if (*file < 0 || fstat(*file, &info) != 0 || info.st_mtime < began_) return;
  if (geteuid() != 0 && info.st_uid != geteuid() && info.st_uid != 0) return;
  KeepNames(*file, pid, path);
}

Status ImageKeeper::Finish(const RecordSummary&) {
  for (const int32_t pid : processes_) KeepPerfMap(pid);
  for (const auto& [path, dump] : growing_) KeepNames(**dump.file, dump.pid, path);
  growing_.clear();
  if (!shared_.refusal().empty())
    kept_.problems.push_back("images are not shared with other recordings: " + shared_.refusal());
  shared_.Trim();
  if (index_ != nullptr)
    if (const Status closed = index_->Close(); !closed) Problem(folder_, closed.error().message());
  return {};
}

}  // namespace flowback::record
