// SPDX-License-Identifier: MIT
#include "replay/coverage/coverage_objects.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/mapped_file.h"
#include "decode/code/images/image_search.h"
#include "decode/code/kernel_code.h"
#include "decode/code/remapped_text.h"

namespace flowback {
namespace {

constexpr std::string_view kCodeFile = ".code";  // a recorder's, for code that is in no file
constexpr const char* kAnonymous = "//anon";     // as perf calls memory without a file

}  // namespace

CoverageObjects::CoverageObjects(const Recording& recording, const RecordingCode& code)
    : recording_(recording) {
  for (const ImageStatus& status : code.images()) {
    if (status.path.empty()) continue;
    if (!status.file.empty()) status_of_file_.emplace(status.file, &status);
    status_of_path_.emplace(status.path, &status);
  }
  for (const SidebandRecord& any : recording.sideband) {
    if (const auto* map = std::get_if<MmapRecord>(&any); map != nullptr && map->kernel)
      kernel_.push_back({map->address, map->address + map->size, map->build_id});
    if (const auto* symbol = std::get_if<KsymbolRecord>(&any); symbol && !symbol->unregister)
      kernel_.push_back({symbol->address, symbol->address + symbol->size, {}});
  }
  std::ranges::stable_sort(kernel_, {}, &KernelRange::begin);
}

const ImageStatus* CoverageObjects::StatusOfFile(const std::string& file) const {
  const auto found = status_of_file_.find(file);
  return found == status_of_file_.end() ? nullptr : found->second;
}

// A path that had several builds has a status for each.
const ImageStatus* CoverageObjects::StatusOf(const MmapRecord& record) const {
  const auto [begin, end] = status_of_path_.equal_range(record.path);
  for (auto each = begin; each != end; ++each)
    if (each->second->recorded == record.build_id) return each->second;
  return begin == end ? nullptr : begin->second;
}

uint32_t CoverageObjects::Number(Object object) {
  const auto [number, is_new] =
      numbers_.try_emplace(object.id, static_cast<uint32_t>(objects_.size()));
  if (is_new) {
    objects_.push_back(std::move(object));
  } else {
    std::string& path = objects_[number->second].id.path;
    path = std::min(path, object.id.path);
  }
  return number->second;
}

uint32_t CoverageObjects::OfFile(const std::string& file) {
  if (const auto known = files_.find(file); known != files_.end()) return known->second;
  Object object;
  const ImageStatus* status = StatusOfFile(file);
  object.id.path = status == nullptr ? file : status->path;
  if (status != nullptr) object.id.build_id = status->found;
  if (const auto mapped = MappedFile::Open(file); mapped && LooksLikeElf((*mapped)->bytes())) {
    if (const Result<ElfFile> elf = ReadElf((*mapped)->bytes(), file)) {
      object.mode = elf->code_mode().value_or(CodeMode::kX86_64);
      object.id.build_id = elf->build_id;
      if (elf->build_id.empty()) object.id.checksum = CodeChecksum(*elf, (*mapped)->bytes());
    }
  }
  if (object.id.build_id.empty() && object.id.checksum == 0 && status != nullptr)
    object.id.build_id = status->recorded;
  return files_[file] = Number(std::move(object));
}

uint32_t CoverageObjects::Of(const MmapRecord& record) {
  if (record.kernel || IsMemoryWithoutFile(record.path)) return kNone;
  const auto [known, is_new] = records_.try_emplace({record.path, record.build_id.ToHex()}, kNone);
  if (!is_new) return known->second;
  const ImageStatus* status = StatusOf(record);
  const bool has_file = status != nullptr && status->usable && !status->file.empty() &&
                        status->source != CodeSource::kCore;
  if (has_file) return known->second = OfFile(status->file);
  Object object;
  object.id.path = record.path;
  object.id.build_id = status == nullptr ? record.build_id : status->recorded;
  return known->second = Number(std::move(object));
}

CoverageObjects::Place CoverageObjects::Of(const CodeMapping& mapping, int32_t pid) {
  if (mapping.address >= kKernelAddresses) return OfKernel(mapping);
  const CodeSection& section = *mapping.section;
  const ImageStatus* status = StatusOfFile(section.name());
  if (status != nullptr && status->source == CodeSource::kCore) return OfCore(mapping, pid);
  const std::string& name = status == nullptr ? section.name() : status->path;
  if (section.elf_bits() == 0 || IsMemoryWithoutFile(name)) return OfMemory(mapping, name);
  return {OfFile(section.name()), section.file_offset() + mapping.section_offset};
}

// A dump holds a process's memory: the records name the file of each part.
CoverageObjects::Place CoverageObjects::OfCore(const CodeMapping& mapping, int32_t pid) {
  const MmapRecord* found = nullptr;
  for (const SidebandRecord& any : recording_.sideband) {
    const auto* map = std::get_if<MmapRecord>(&any);
    if (map != nullptr && map->executable && (pid < 0 || map->pid == pid) &&
        mapping.address - map->address < map->size)
      found = map;
  }
  const uint32_t object = found == nullptr ? kNone : Of(*found);
  if (object == kNone)
    return OfMemory(mapping, found == nullptr ? mapping.section->name() : found->path);
  return {object, found->file_offset + (mapping.address - found->address)};
}

CoverageObjects::Place CoverageObjects::OfMemory(const CodeMapping& mapping,
                                                 const std::string& name) {
  const Memory memory{mapping.section.get(), mapping.section_offset, mapping.size};
  const auto [known, is_new] = memories_.try_emplace(memory, kNone);
  if (is_new) {
    const Bytes bytes = Slice(mapping.section->bytes(), mapping.section_offset, mapping.size);
    Object object;
    object.id = {.path = name.ends_with(kCodeFile) ? kAnonymous : name,
                 .build_id = {},
                 .checksum = CodeChecksum(bytes),
                 .made_at_run_time = true};
    known->second = Number(std::move(object));
  }
  return {known->second, 0};
}

// A kernel lies elsewhere after each boot, and its memory is no file: so counted is from where the
// records say that the kernel, a module or a program of it begins.
CoverageObjects::Place CoverageObjects::OfKernel(const CodeMapping& mapping) {
  const auto behind = std::ranges::upper_bound(kernel_, mapping.address, {}, &KernelRange::begin);
  const bool known = behind != kernel_.begin() && mapping.address < std::prev(behind)->end;
  const KernelRange range = known ? *std::prev(behind) : KernelRange();
  Object object;
  object.id = {.path = mapping.section->name(),
               .build_id = range.build_id,
               .checksum = 0,
               .made_at_run_time = true};
  object.of_kernel = true;
  return {Number(std::move(object)), mapping.address - range.begin};
}

CoverageObjects::Place CoverageObjects::Nowhere(uint64_t address) {
  Object object;
  object.id = {.path = "[unknown]", .build_id = {}, .checksum = 0, .made_at_run_time = true};
  return {Number(std::move(object)), address};
}

}  // namespace flowback
