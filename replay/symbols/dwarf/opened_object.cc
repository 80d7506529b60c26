// SPDX-License-Identifier: MIT
#include "replay/symbols/dwarf/opened_object.h"

#include <llvm/Support/Compression.h>
#include <llvm/Support/Endian.h>

#include <cstring>
#include <optional>
#include <utility>

namespace flowback::symbols {
namespace {

using llvm::Expected;
using llvm::StringRef;
using llvm::object::ELFSectionRef;
using Object = llvm::object::ELFObjectFileBase;

// In front of an old section's bytes: "ZLIB", and the size that it unpacks to, big-endian.
constexpr StringRef kOldMagic = "ZLIB";
constexpr size_t kOldHeader = 12;

uint64_t LittleEndian(const char* data, size_t width) {
  uint64_t value = 0;
  std::memcpy(&value, data, width);
  return value;
}

StringRef NameOf(const ELFSectionRef& section) {
  Expected<StringRef> name = section.getName();
  if (name) return *name;
  llvm::consumeError(name.takeError());
  return {};
}

std::optional<StringRef> ContentsOf(const ELFSectionRef& section) {
  Expected<StringRef> contents = section.getContents();
  if (contents) return *contents;
  llvm::consumeError(contents.takeError());
  return std::nullopt;
}

bool IsOld(const ELFSectionRef& section) { return NameOf(section).starts_with(".zdebug_"); }

// What a section unpacks to, by its header; 0: it is not compressed.
std::optional<uint64_t> UnpackedSize(const ELFSectionRef& section, bool is_64_bit) {
  const bool is_old = IsOld(section);
  if (!is_old && (section.getFlags() & llvm::ELF::SHF_COMPRESSED) == 0) return 0;
  const std::optional<StringRef> contents = ContentsOf(section);
  if (!contents) return std::nullopt;
  if (is_old) {
    if (contents->size() < kOldHeader || !contents->starts_with(kOldMagic)) return std::nullopt;
    return llvm::support::endian::read64be(contents->data() + kOldMagic.size());
  }
  if (contents->size() < (is_64_bit ? 24U : 12U)) return std::nullopt;
  return LittleEndian(contents->data() + (is_64_bit ? 8 : 4), is_64_bit ? 8 : 4);
}

bool SectionsAreSane(const Object& elf, std::string& problem) {
  uint64_t rest = kFreeUnpacked + kMostUnpackedPerByte * elf.getData().size();
  for (const ELFSectionRef section : elf.sections()) {
    const std::optional<uint64_t> size = UnpackedSize(section, elf.getBytesInAddress() == 8);
    if (!size) {
      problem = "a compressed section's header is damaged";
      return false;
    }
    if (*size > rest) {
      problem = "its compressed sections unpack to more than " +
                std::to_string(kMostUnpackedPerByte) +
                " times the file's size: it is damaged or made to fill the memory, and not read";
      return false;
    }
    rest -= *size;
  }
  return true;
}

std::unique_ptr<llvm::MemoryBuffer> UnpackOld(StringRef contents) {
  const uint64_t size = llvm::support::endian::read64be(contents.data() + kOldMagic.size());
  llvm::SmallVector<uint8_t, 0> bytes;
  if (llvm::Error error = llvm::compression::zlib::decompress(
          llvm::arrayRefFromStringRef(contents.drop_front(kOldHeader)), bytes, size)) {
    llvm::consumeError(std::move(error));
    return nullptr;
  }
  return llvm::MemoryBuffer::getMemBufferCopy(llvm::toStringRef(bytes));
}

// Where one section is old, LLVM is given all of them.
bool UnpackOldSections(OpenedObject& opened, std::string& problem) {
  bool any = false;
  for (const ELFSectionRef section : opened.elf->sections()) any = any || IsOld(section);
  if (!any) return true;
  for (const ELFSectionRef section : opened.elf->sections()) {
    const StringRef name = NameOf(section);
    const std::optional<StringRef> contents = ContentsOf(section);
    if (!contents || (!name.starts_with(".debug_") && !IsOld(section))) continue;
    auto bytes = IsOld(section) ? UnpackOld(*contents)
                                : llvm::MemoryBuffer::getMemBuffer(*contents, "", false);
    if (bytes == nullptr) {
      problem = "its section " + name.str() + " cannot be unpacked: it is damaged";
      return false;
    }
    opened.sections[name.drop_front(IsOld(section) ? 2 : 1)] = std::move(bytes);
  }
  return true;
}

}  // namespace

bool OpenObject(const std::string& path, OpenedObject& opened, std::string& problem) {
  auto bytes = llvm::MemoryBuffer::getFile(path, false, false);
  if (!bytes) {
    problem = bytes.getError().message();
    return false;
  }
  opened.bytes = std::move(*bytes);
  auto file = llvm::object::ObjectFile::createELFObjectFile(opened.bytes->getMemBufferRef());
  if (!file) {
    problem = llvm::toString(file.takeError());
    return false;
  }
  opened.file = std::move(*file);
  opened.elf = llvm::dyn_cast<Object>(opened.file.get());
  if (opened.elf == nullptr || !opened.elf->isLittleEndian()) {
    problem = "not a little-endian ELF file";
    return false;
  }
  return SectionsAreSane(*opened.elf, problem) && UnpackOldSections(opened, problem);
}

}  // namespace flowback::symbols
