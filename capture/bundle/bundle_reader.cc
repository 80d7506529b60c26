// SPDX-License-Identifier: MIT
#include "capture/bundle/bundle_reader.h"

#include <archive.h>
#include <archive_entry.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <set>
#include <string_view>
#include <utility>

#include "capture/bundle/frame_reader.h"

namespace flowback::bundle {
namespace {

constexpr size_t kTarHeader = 512;
constexpr size_t kArchiveEnd = 1024;
constexpr size_t kTarMagicAt = 257;
constexpr std::string_view kTarMagic = "ustar";

std::string NameOf(archive_entry* entry) {
  const char* name = archive_entry_pathname(entry);
  if (name == nullptr) name = archive_entry_pathname_utf8(entry);
  std::string_view text = name == nullptr ? "" : name;
  while (text.starts_with("./")) text.remove_prefix(2);  // as `tar -C FOLDER .` writes it
  return std::string(text);
}

class BundleWalk {
 public:
  BundleWalk(Bytes packed, const std::string& path, MemberVisitor& visitor)
      : path_(path),
        visitor_(visitor),
        frames_(packed, path),
        most_(MostUnpacked(packed.size())),
        archive_(archive_read_new()) {
    archive_read_support_format_tar(archive_);
    archive_read_open(archive_, this, nullptr, Give, nullptr);
  }
  ~BundleWalk() { archive_read_free(archive_); }
  BundleWalk(const BundleWalk&) = delete;
  BundleWalk& operator=(const BundleWalk&) = delete;

  Result<std::optional<Error>> Read() {
    archive_entry* entry = nullptr;
    for (;;) {
      const int got = archive_read_next_header(archive_, &entry);
      if (got == ARCHIVE_EOF && !refused_ && !damage_ && zeros_ < kArchiveEnd)
        return Error(ErrorCode::kUnreadable, path_ + ": was cut: its end is missing")
            .Remedy("copy the bundle again, or pack the recording again");
      if (got == ARCHIVE_EOF && !refused_) return damage_;
      if (got < ARCHIVE_WARN) return End();
      if (Status status = Take(entry); !status) return Fail(status.error());
      if (stopped_) return End();
    }
  }

 private:
  static la_ssize_t Give(archive* reader, void* self, const void** bytes) {
    BundleWalk& walk = *static_cast<BundleWalk*>(self);
    const Result<Bytes> next = walk.frames_.Next();
    if (!next) {
      walk.damage_ = next.error();
    } else if (walk.unpacked_ += next->size(); walk.unpacked_ > walk.most_) {
      walk.refused_ = walk.Refused("unpacks to more than " + std::to_string(walk.most_) +
                                   " bytes, which no recording of its size does");
    } else {
      walk.CountZeros(*next);
      *bytes = next->data();
      return static_cast<la_ssize_t>(next->size());
    }
    archive_set_error(reader, EIO, "the bundle cannot be read on");
    return -1;
  }

  // An archive ends with two blocks of zeros.
  void CountZeros(Bytes bytes) {
    const auto last = std::find_if(bytes.rbegin(), bytes.rend(), [](uint8_t b) { return b != 0; });
    const auto zeros = static_cast<size_t>(last - bytes.rbegin());
    zeros_ = zeros == bytes.size() ? zeros_ + zeros : zeros;
  }

  Error Refused(const std::string& problem) const {
    return Error(ErrorCode::kUnreadable, path_ + ": " + problem)
        .Remedy("it is no bundle that `flowback pack` made; `tar --zstd -tvf` lists what it has");
  }

  // Nothing more can be read.
  Result<std::optional<Error>> End() {
    if (refused_) return Fail(*refused_);
    if (damage_) return damage_;
    const char* const why = archive_error_string(archive_);
    return Error(ErrorCode::kUnreadable, path_ + ": is damaged behind " + Behind() + ": " +
                                             (why == nullptr ? "no archive goes on there" : why))
        .Remedy("copy the bundle again, or pack the recording again");
  }
  std::string Behind() const {
    return names_.empty() ? "its begin" : "the begin of its member " + last_;
  }

  Status Take(archive_entry* entry) {
    if (archive_entry_filetype(entry) == AE_IFDIR && archive_entry_hardlink(entry) == nullptr)
      return {};
    Member member{
        .name = NameOf(entry),
        .size = static_cast<uint64_t>(std::max<la_int64_t>(archive_entry_size(entry), 0))};
    if (Status status = Check(entry, member); !status) return status;
    last_ = member.name;
    if (Status status = visitor_.OnMember(member, archive_entry_mtime(entry)); !status)
      return status;
    return TakeContent(member);
  }

  Status Check(archive_entry* entry, const Member& member) {
    if (archive_entry_filetype(entry) != AE_IFREG || archive_entry_hardlink(entry) != nullptr)
      return Fail(Refused("its member '" + member.name + "' is a link or a device, not a file"));
    if (!IsMemberName(member.name))
      return Fail(Refused("has a member named '" + member.name + "', which no bundle has"));
    if (member.size > most_)
      return Fail(Refused("its member '" + member.name + "' claims " + std::to_string(member.size) +
                          " bytes, more than a bundle of its size"));
    if (names_.size() >= kMostMembers)
      return Fail(Refused("has more than " + std::to_string(kMostMembers) + " members"));
    name_bytes_ += member.name.size();
    if (name_bytes_ > kMostNames)
      return Fail(Refused("has names of more than " + std::to_string(kMostNames) + " bytes"));
    if (!names_.insert(member.name).second)
      return Fail(Refused("has two members named '" + member.name + "'"));
    return CheckFolders(member.name);
  }
  // None of the folders that it lies in is a file, and it is not a folder.
  Status CheckFolders(const std::string& name) {
    if (folders_.contains(name))
      return Fail(Refused("its member '" + name + "' is a file and a folder"));
    for (size_t end = name.find('/'); end != std::string::npos; end = name.find('/', end + 1)) {
      const std::string folder = name.substr(0, end);
      if (names_.contains(folder))
        return Fail(Refused("its member '" + folder + "' is a file and a folder"));
      folders_.insert(folder);
    }
    if (folders_.size() <= kMostMembers) return {};
    return Fail(Refused("has more than " + std::to_string(kMostMembers) + " folders"));
  }

  Status TakeContent(const Member& member) {
    for (;;) {
      const void* bytes = nullptr;
      size_t size = 0;
      la_int64_t offset = 0;
      const int got = archive_read_data_block(archive_, &bytes, &size, &offset);
      if (got == ARCHIVE_EOF) return visitor_.OnContent(member.size, {});
      if (got < ARCHIVE_WARN) {
        stopped_ = true;
        return {};
      }
      const Status status = visitor_.OnContent(static_cast<uint64_t>(offset),
                                               {static_cast<const uint8_t*>(bytes), size});
      if (!status) return status;
    }
  }

  const std::string& path_;
  MemberVisitor& visitor_;
  FrameReader frames_;
  const uint64_t most_;
  uint64_t unpacked_ = 0;
  size_t zeros_ = 0;  // at the end of what has been unpacked
  archive* archive_;
  std::set<std::string> names_;
  std::set<std::string> folders_;
  uint64_t name_bytes_ = 0;
  std::string last_;
  bool stopped_ = false;
  std::optional<Error> damage_;   // of the compressed bytes
  std::optional<Error> refused_;  // there is more than may be
};

}  // namespace

bool IsPackedArchive(Bytes head) {
  const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
  if (!text.starts_with(kFrameMagic)) return false;
  std::array<uint8_t, kTarHeader> begin{};
  ZSTD_DCtx* const context = ZSTD_createDCtx();
  ZSTD_inBuffer in{head.data(), head.size(), 0};
  ZSTD_outBuffer out{begin.data(), begin.size(), 0};
  while (out.pos < out.size && in.pos < in.size)
    if (ZSTD_isError(ZSTD_decompressStream(context, &out, &in)) != 0) break;
  ZSTD_freeDCtx(context);
  return std::string_view(reinterpret_cast<const char*>(begin.data()), out.pos)
      .substr(std::min(out.pos, kTarMagicAt))
      .starts_with(kTarMagic);
}

Result<std::optional<Error>> ReadBundle(Bytes packed, const std::string& path,
                                        MemberVisitor& visitor) {
  return BundleWalk(packed, path, visitor).Read();
}

}  // namespace flowback::bundle
