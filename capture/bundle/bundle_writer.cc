// SPDX-License-Identifier: MIT
#include "capture/bundle/bundle_writer.h"

#include <archive.h>
#include <archive_entry.h>
#include <sys/stat.h>

#include <utility>
#include <vector>

#include "base/mapped_file.h"
#include "capture/bundle/bundle_json.h"

namespace flowback::bundle {
namespace {

constexpr mode_t kMemberMode = S_IRUSR | S_IWUSR;

Bytes BytesOf(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

int64_t TimeOf(const std::string& path) {
  struct stat info{};
  return stat(path.c_str(), &info) == 0 ? int64_t{info.st_mtim.tv_sec} : 0;
}

}  // namespace

class BundleWriter::Impl {
 public:
  explicit Impl(FrameWriter::Sink sink) : frames_(std::move(sink)), archive_(archive_write_new()) {
    archive_write_set_format_pax_restricted(archive_);
    archive_write_set_bytes_per_block(archive_,
                                      0);  // so that a member begins at the requested place
    archive_write_open(archive_, this, nullptr, Take, nullptr);
  }
  ~Impl() {
    archive_write_fail(archive_);  // whole members have been finished
    archive_write_free(archive_);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  Status Add(const std::string& name, std::span<const Bytes> pieces, int64_t seconds) {
    if (Status status = frames_.EndFrame(); !status) return status;
    uint64_t size = 0;
    for (const Bytes piece : pieces) size += piece.size();
    IndexedMember& member = members_.emplace_back();
    member.name = name;
    member.size = size;
    content_ += size;
    member.packed_offset = frames_.packed();
    member.tar_offset = frames_.unpacked();
    if (Status status = Begin(member, seconds); !status) return status;
    for (const Bytes piece : pieces)
      if (!piece.empty() && archive_write_data(archive_, piece.data(), piece.size()) < ARCHIVE_OK)
        return Failure();
    return archive_write_finish_entry(archive_) == ARCHIVE_OK ? Status() : Failure();
  }

  Status Finish() {
    const std::string index = IndexJson(members_);
    const Bytes piece = BytesOf(index);
    if (Status status = Add(std::string(kIndex), {&piece, 1}, 0); !status) return status;
    if (archive_write_close(archive_) != ARCHIVE_OK) return Failure();
    if (Status status = frames_.Finish(); !status) return status;
    if (frames_.unpacked() <= MostUnpacked(frames_.packed())) return {};
    return Fail(Error(ErrorCode::kUnsupported,
                      "the files are so empty that the bundle would be taken for one that is made "
                      "to fill the disk")
                    .Remedy("leave the core dump out: --no-core"));
  }

  const FrameWriter& frames() const { return frames_; }
  uint64_t content() const { return content_; }

 private:
  static la_ssize_t Take(archive*, void* self, const void* bytes, size_t size) {
    Impl& impl = *static_cast<Impl*>(self);
    impl.status_ = impl.frames_.Write({static_cast<const uint8_t*>(bytes), size});
    return impl.status_ ? static_cast<la_ssize_t>(size) : -1;
  }

  Status Begin(const Member& member, int64_t seconds) {
    archive_entry* const entry = archive_entry_new();
    archive_entry_set_pathname(entry, member.name.c_str());
    archive_entry_set_size(entry, static_cast<la_int64_t>(member.size));
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_entry_set_perm(entry, kMemberMode);
    archive_entry_set_mtime(entry, seconds, 0);
    const int written = archive_write_header(archive_, entry);
    archive_entry_free(entry);
    // A name that is no text in this locale is written all the same, with a warning.
    return written >= ARCHIVE_WARN ? Status() : Failure();
  }

  Status Failure() const {
    if (!status_) return status_;
    const char* const why = archive_error_string(archive_);
    return Fail(ErrorCode::kSystem,
                std::string("the archive cannot be written: ") + (why == nullptr ? "" : why));
  }

  FrameWriter frames_;
  archive* archive_;
  Status status_;  // the last of what went to the frames
  std::vector<IndexedMember> members_;
  uint64_t content_ = 0;
};

BundleWriter::BundleWriter(FrameWriter::Sink sink)
    : impl_(std::make_unique<Impl>(std::move(sink))) {}
BundleWriter::BundleWriter(BundleWriter&&) noexcept = default;
BundleWriter::~BundleWriter() = default;

Status BundleWriter::AddManifest(const Manifest& manifest) {
  const std::string text = ManifestJson(manifest);
  const Bytes piece = BytesOf(text);
  return impl_->Add(std::string(kManifest), {&piece, 1}, 0);
}

Status BundleWriter::Add(const std::string& name, std::span<const Bytes> pieces, int64_t seconds) {
  return impl_->Add(name, pieces, seconds);
}

Status BundleWriter::AddFile(const std::string& name, const std::string& path) {
  const auto file = MappedFile::Open(path);
  if (!file) return Fail(file.error());
  const Bytes content = (*file)->bytes();
  if (Status status = impl_->Add(name, {&content, 1}, TimeOf(path)); !status) return status;
  return (*file)->CheckWhole();
}

Status BundleWriter::Finish() { return impl_->Finish(); }
uint64_t BundleWriter::packed() const { return impl_->frames().packed(); }
uint64_t BundleWriter::content() const { return impl_->content(); }

}  // namespace flowback::bundle
