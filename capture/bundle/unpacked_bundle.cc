// SPDX-License-Identifier: MIT
#include "capture/bundle/unpacked_bundle.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/hex.h"
#include "base/mapped_file.h"
#include "base/number_bytes.h"
#include "capture/bundle/bundle_folders.h"
#include "capture/bundle/bundle_json.h"
#include "capture/bundle/bundle_reader.h"
#include "capture/bundle/member_files.h"
#include "decode/code/cache/disk_cache.h"
#include "decode/code/cache/file_numbers.h"
#include "decode/code/cache/own_folder.h"

namespace flowback::bundle {
namespace {

namespace fs = std::filesystem;

constexpr size_t kHead = (size_t{128} << 10) + 64;  // what the largest block of a frame takes

std::vector<uint8_t> ContentOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<uint8_t> content;
  std::error_code failed;
  const uintmax_t size = fs::file_size(path, failed);
  if (!file || failed || size > kMostText) return content;
  content.assign(std::istreambuf_iterator<char>(file), {});
  return content;
}

// The folder's name among those of unpacked bundles; empty: the file could not be known again.
std::string NameOf(const MappedFile& file) {
  NumberWriter numbers;
  if (!PutFile(numbers, file.path())) return {};
  PutContent(numbers, file.bytes());
  const std::vector<uint8_t> all = numbers.Take();
  return Hex(ContentHash(all)).substr(2) + Hex(ContentHash(all, 1)).substr(2);
}

size_t CountFiles(const std::string& folder) {
  size_t count = 0;
  std::error_code failed;
  for (fs::recursive_directory_iterator at(folder, failed), end; !failed && at != end;
       at.increment(failed))
    count += at->is_regular_file(failed) ? 1 : 0;
  return count;
}

// As many files as an unpacked bundle has: also without an index of its own it gets one.
size_t FilesOf(const std::vector<Member>& members) {
  const bool has_index = std::ranges::find(members, kIndex, &Member::name) != members.end();
  return members.size() + (has_index ? 0 : 1);
}

}  // namespace

bool IsBundle(const std::string& path) {
  std::error_code failed;
  if (!fs::is_regular_file(path, failed)) return false;
  std::ifstream file(path, std::ios::binary);
  // The first bytes identify most inputs.
  std::string begin(kFrameMagic.size(), '\0');
  if (!file.read(begin.data(), static_cast<std::streamsize>(begin.size())) || begin != kFrameMagic)
    return false;
  file.seekg(0);
  std::vector<uint8_t> head(kHead);
  file.read(reinterpret_cast<char*>(head.data()), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  return IsPackedArchive(head);
}

Result<std::shared_ptr<const UnpackedBundle>> UnpackedBundle::Open(const std::string& path,
                                                                   const UnpackPlace& place) {
  const std::shared_ptr<UnpackedBundle> bundle(new UnpackedBundle);
  bundle->path_ = path;
  if (Status status = bundle->Unpack(place); !status) return Fail(status.error());
  if (Status status = bundle->ReadManifest(); !status) return Fail(status.error());
  return bundle;
}

UnpackedBundle::~UnpackedBundle() {
  std::error_code ignored;
  if (removes_) fs::remove_all(folder_, ignored);
}

bool UnpackedBundle::Has(const std::string& member) const {
  std::error_code failed;
  return !member.empty() && fs::exists(FileOf(member), failed);
}

Status UnpackedBundle::Unpack(const UnpackPlace& place) {
  const BundleFolders folders(place.cache, place.cache_bytes);
  const auto file = MappedFile::Open(path_);
  if (!file) return Fail(file.error());
  packed_bytes_ = (*file)->bytes().size();
  std::string kept;
  if (const std::string name = NameOf(**file); folders.IsUsable() && !name.empty())
    kept = folders.folder() + "/" + name;
  if (!kept.empty() && FindKept(kept)) return {};
  auto folder = kept.empty() ? BundleFolders::NewTemporary() : folders.New();
  if (!folder) return Fail(folder.error());
  lock_ = std::move(folder->lock);
  if (Status status = UnpackInto(folder->path, **file); !status) return status;
  if (!kept.empty() && !damage_) KeepAs(kept);
  folders.Trim(folder_);
  return {};
}

// It is whole if all files are there; the index is written last.
bool UnpackedBundle::FindKept(const std::string& folder) {
  Descriptor lock = BundleFolders::LockForUse(folder);
  if (*lock < 0) return false;
  const auto members = ParseIndex(ContentOf(folder + "/" + std::string(kIndex)), path_);
  if (!members) return false;
  members_.assign(members->begin(), members->end());
  if (CountFiles(folder) != FilesOf(members_)) return false;
  folder_ = folder;
  lock_ = std::move(lock);
  return true;
}

Status UnpackedBundle::UnpackInto(const std::string& folder, const MappedFile& file) {
  folder_ = folder;
  removes_ = true;
  MemberFiles files(folder);
  Result<std::optional<Error>> damage = ReadBundle(file.bytes(), path_, files);
  if (Status status = file.CheckWhole(); !status) return status;
  if (!damage) return Fail(damage.error());
  if (Status status = files.Finish(); !status) return status;
  damage_ = *std::move(damage);
  members_ = files.members();
  return {};
}

void UnpackedBundle::KeepAs(const std::string& folder) {
  std::vector<IndexedMember> members;
  for (const Member& member : members_) members.push_back({member});
  const std::string index = IndexJson(members);
  std::ofstream file(folder_ + "/" + std::string(kIndex), std::ios::binary | std::ios::trunc);
  file << index;
  file.close();
  if (!file || index.size() > kMostText || CountFiles(folder_) != FilesOf(members_) ||
      std::rename(folder_.c_str(), folder.c_str()) != 0)
    return;
  removes_ = false;
  folder_ = folder;
}

Status UnpackedBundle::ReadManifest() {
  const std::string text = folder_ + "/" + std::string(kManifest);
  std::error_code failed;
  if (!fs::exists(text, failed)) {
    if (damage_) return Fail(*damage_);
    return Fail(Error(ErrorCode::kUnreadable,
                      path_ + ": is a compressed archive, but no bundle: it has no " +
                          std::string(kManifest))
                    .Remedy("`flowback pack` makes bundles; of another archive name the recording "
                            "that was unpacked from it"));
  }
  Result<Manifest> manifest = ParseManifest(ContentOf(text), path_);
  if (!manifest) return Fail(manifest.error());
  manifest_ = *std::move(manifest);
  if (Has(manifest_.recording)) return {};
  if (damage_) return Fail(*damage_);
  return Fail(Error(ErrorCode::kUnreadable,
                    path_ + ": has no recording: its " + manifest_.recording + " is missing")
                  .Remedy("pack the recording again"));
}

}  // namespace flowback::bundle
