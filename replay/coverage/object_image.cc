// SPDX-License-Identifier: MIT
#include "flowback/replay/object_image.h"

#include <algorithm>
#include <utility>

#include "decode/code/images/image_search.h"
#include "decode/code/images/image_store.h"
#include "decode/code/images/kept_images.h"
#include "decode/code/images/own_vdso.h"
#include "replay/coverage/object_id.h"
#include "replay/symbols/lines/line_map.h"

namespace flowback {
namespace {

std::string HowToGet(const BuildId& build_id) {
  const std::string copy =
      "copy it from the recorded machine and name its root folder with --symfs";
  return build_id.empty()
             ? copy
             : "get it with `debuginfod-find executable " + build_id.ToHex() + "`, or " + copy;
}

Error Missing(const ObjectId& id, const std::string& why) {
  return Error(ErrorCode::kUnreadable, id.path + ": " + why).Remedy(HowToGet(id.build_id));
}

// Why the file is not the object's; empty: it is.
std::string Misfit(const ObjectId& id, const ObjectImage& image) {
  const BuildId own = image.build_id();
  if (!id.build_id.empty())
    return own == id.build_id ? ""
           : own.empty()      ? "has no build-id"
                              : "has build-id " + own.ToHex();
  return id.checksum == 0 || image.Checksum() == id.checksum ? "" : "has other code";
}

}  // namespace

Result<ObjectImage> ObjectImage::Find(const ObjectId& id, const ImageSearch& search) {
  if (id.made_at_run_time)
    return Fail(ErrorCode::kUnreadable, id.path + ": was made at run time: there is no file of it");
  std::vector<std::string> files = search.files;
  // A file that only its name supports must have that name.
  if (id.build_id.empty() && id.checksum == 0)
    std::erase_if(files, [&](const auto& file) { return BaseName(file) != BaseName(id.path); });
  std::ranges::move(CandidateFiles(search, id.path, id.build_id), std::back_inserter(files));
  std::string misfit;
  for (const std::string& file : files) {
    auto image = Open(id, file);
    const std::string why = image ? Misfit(id, *image) : std::string();
    if (image && why.empty()) return image;
    if (image && misfit.empty()) misfit = file + " " + why;
  }
  if (id.path == kVdso && !id.build_id.empty()) {
    auto image = Of(id, ImageStore().Adopt(std::string(kVdso), CopyOwnVdso()));
    if (image && Misfit(id, *image).empty()) return image;
  }
  if (!misfit.empty())
    return Fail(Missing(id, misfit + ", not " +
                                (id.build_id.empty() ? "what was executed" : id.build_id.ToHex()) +
                                ": it is another build"));
  return Fail(
      Missing(id, "no such file was found, in " + std::to_string(files.size()) + " places"));
}

Result<ObjectImage> ObjectImage::Open(const ObjectId& id, const std::string& file) {
  ImageStore store;
  auto content = store.Open(file);
  if (!content) return Fail(ErrorCode::kUnreadable, content.error().message());
  return Of(id, *content);
}

Result<ObjectImage> ObjectImage::Of(const ObjectId& id, std::shared_ptr<const ImageFile> content) {
  if (content->damage) return Fail(*content->damage);
  if (!content->elf)
    return Fail(Error(ErrorCode::kUnreadable, content->path + ": not an ELF file").At(0));
  const ElfFile& elf = *content->elf;
  if (const std::string foreign = elf.WhyForeign(""); !foreign.empty())
    return Fail(ErrorCode::kUnreadable, content->path + ": " + foreign);
  if (elf.only_debug_info)
    return Fail(ErrorCode::kUnreadable, content->path + ": holds debug information only, no code");
  // A segment may take a page more at each end than it says.
  constexpr uint64_t kPages = 8192;
  uint64_t code = 0;
  for (const ElfSegment& segment : elf.code) code += segment.size;
  if (code > content->bytes.size() + kPages * elf.code.size())
    return Fail(Error(ErrorCode::kUnreadable,
                      content->path + ": damaged ELF file: its program headers map " +
                          std::to_string(code) + " bytes of code, the file has " +
                          std::to_string(content->bytes.size()))
                    .Remedy("get an undamaged copy of the file"));
  ObjectImage image;
  image.id_ = id;
  image.file_ = content->path;
  image.mode_ = *elf.code_mode();
  image.content_ = std::move(content);
  image.AddParts();
  return image;
}

void ObjectImage::AddParts() {
  ImageStore store;
  AddressSpace space;
  const uint64_t last = TraitsOf(mode_).address_mask;
  for (const ElfSegment& segment : content_->elf->code) {
    if (segment.address > last || segment.size - 1 > last - segment.address) continue;
    space.Map(store.MapFile(content_, segment.file_offset, segment.size, segment.address,
                            Verification::kBuildId));
  }
  std::vector<symbols::OwnedRange> by_offset;
  for (const CodeMapping& mapping : space.mappings()) {
    const uint64_t offset = mapping.section->file_offset() + mapping.section_offset;
    by_offset.push_back({offset, offset + mapping.size, static_cast<uint32_t>(parts_.size())});
    parts_.push_back({mapping.address, offset, mapping.size});
  }
  for (const symbols::OwnedRange& range : symbols::Disjoint(std::move(by_offset))) {
    const Part& part = parts_[range.owner];
    by_offset_.push_back(
        {part.address + (range.begin - part.file_offset), range.begin, range.end - range.begin});
  }
  space_ = std::make_shared<const AddressSpace>(std::move(space));
}

std::optional<uint64_t> ObjectImage::AddressOf(uint64_t file_offset) const {
  const auto after = std::ranges::upper_bound(by_offset_, file_offset, {}, &Part::file_offset);
  if (after == by_offset_.begin()) return std::nullopt;
  const uint64_t inside = file_offset - after[-1].file_offset;
  if (inside >= after[-1].size) return std::nullopt;
  return after[-1].address + inside;
}

const ObjectImage::Part* ObjectImage::PartAt(uint64_t address) const {
  const auto after = std::ranges::upper_bound(parts_, address, {}, &Part::address);
  if (after == parts_.begin() || address - after[-1].address >= after[-1].size) return nullptr;
  return &after[-1];
}

std::optional<uint64_t> ObjectImage::OffsetOf(uint64_t address) const {
  const Part* part = PartAt(address);
  if (part == nullptr) return std::nullopt;
  return address - part->address + part->file_offset;
}

Bytes ObjectImage::CodeAt(uint64_t address) const {
  const Part* part = PartAt(address);
  if (part == nullptr) return {};
  const uint64_t inside = address - part->address;
  return Slice(content_->bytes, part->file_offset + inside, part->size - inside);
}

uint64_t ObjectImage::Checksum() const { return CodeChecksum(*content_->elf, content_->bytes); }

BuildId ObjectImage::build_id() const { return content_->build_id(); }

Bytes ObjectImage::bytes() const { return content_->bytes; }

}  // namespace flowback
