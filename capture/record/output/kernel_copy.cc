// SPDX-License-Identifier: MIT
#include "capture/record/output/kernel_copy.h"

#include <elf.h>
#include <errno.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "capture/record/image/kernel_ranges.h"
#include "capture/record/output/output_file.h"

namespace flowback::record {
namespace {

constexpr const char* kMemory = "/proc/kcore";
constexpr const char* kSymbols = "/proc/kallsyms";
constexpr const char* kModules = "/proc/modules";

constexpr size_t kReadAtOnce = size_t{1} << 20;
constexpr uint64_t kMostNotes = uint64_t{1} << 20;
// The kernel has some ten segments.
constexpr uint16_t kMostSegments = 4096;

Error Unreadable(const std::string& path, int error) {
  const std::string what = "can't read '" + path + "': " + std::strerror(error);
  if (error == EPERM || error == EACCES)
    return Error(ErrorCode::kPermission, "--kcore: " + what)
        .Remedy("run it as root, on a kernel that is not locked down; or leave --kcore out");
  Error unreadable = NoKernelCode(what);
  if (error == ENOENT)
    unreadable.Remedy("a kernel with CONFIG_PROC_KCORE has it; or leave --kcore out");
  return unreadable;
}

std::string MemoryThat(const std::string& does) { return std::string("'") + kMemory + "' " + does; }

// A part of the memory, and where it lies in /proc/kcore.
struct Segment {
  Elf64_Phdr header;
  uint64_t offset;
};

class Copier {
 public:
  Copier(const kernel::SystemKernel& kernel, std::string folder)
      : kernel_(kernel), folder_(std::move(folder)) {}

  // False: what the kernel's code is changed meanwhile.
  Result<bool> Copy() {
    const std::optional<std::string> symbols = kernel_.ReadFile(kSymbols);
    if (!symbols) return Fail(Unreadable(kSymbols, ENOENT));
    const std::string modules = kernel_.ReadFile(kModules).value_or("");
    const auto ranges = KernelCodeRanges(*symbols, modules);
    if (!ranges) return Fail(ranges.error());
    if (Status found = FindSegments(*ranges); !found) return Fail(found.error());
    if (Status written = WriteMemory(); !written) return Fail(written.error());
    if (kernel_.ReadFile(kModules).value_or("") != modules || kernel_.ReadFile(kSymbols) != symbols)
      return false;
    for (const auto& [name, text] : {std::pair("kallsyms", &*symbols), {"modules", &modules}})
      if (Status written = WriteText(name, *text); !written) return Fail(written.error());
    return true;
  }

 private:
  Status Read(uint64_t offset, std::span<uint8_t> into) const {
    while (!into.empty()) {
      const auto got = kernel_.ReadPart(kMemory, offset, into);
      if (!got) return Fail(Unreadable(kMemory, got.error()));
      if (*got == 0)
        return Fail(NoKernelCode(MemoryThat("ends before what its headers promise")).At(offset));
      offset += *got;
      into = into.subspan(*got);
    }
    return {};
  }
  template <class T>
  Status ReadValue(uint64_t offset, T& value) const {
    return Read(offset, {reinterpret_cast<uint8_t*>(&value), sizeof value});
  }

  Status ReadHeader() {
    if (Status read = ReadValue(0, header_); !read) return read;
    const bool fits = std::memcmp(header_.e_ident, ELFMAG, SELFMAG) == 0 &&
                      header_.e_ident[EI_CLASS] == ELFCLASS64 && header_.e_type == ET_CORE &&
                      header_.e_phentsize == sizeof(Elf64_Phdr) && header_.e_phnum <= kMostSegments;
    if (fits) return {};
    return Fail(NoKernelCode(MemoryThat("is no memory of a 64-bit kernel")).At(0));
  }

  Status TakeNotes(const Elf64_Phdr& header) {
    if (header.p_filesz > kMostNotes - notes_.size()) return {};
    const size_t before = notes_.size();
    notes_.resize(before + header.p_filesz);
    return Read(header.p_offset, std::span(notes_).subspan(before));
  }

  void TakeParts(const Elf64_Phdr& header, const std::vector<AddressRange>& ranges) {
    for (const AddressRange& range : ranges) {
      const uint64_t begin = std::max(range.begin, header.p_vaddr);
      const uint64_t end = std::min(range.end, header.p_vaddr + header.p_memsz);
      if (begin >= end) continue;
      Elf64_Phdr part = header;
      part.p_vaddr = begin;
      part.p_paddr = header.p_paddr + (begin - header.p_vaddr);
      part.p_filesz = part.p_memsz = end - begin;
      segments_.push_back({part, header.p_offset + (begin - header.p_vaddr)});
    }
  }

  Status FindSegments(const std::vector<AddressRange>& ranges) {
    segments_.clear();
    notes_.clear();
    if (Status read = ReadHeader(); !read) return read;
    for (uint16_t i = 0; i < header_.e_phnum; ++i) {
      Elf64_Phdr header;
      if (Status read = ReadValue(header_.e_phoff + i * sizeof header, header); !read) return read;
      if (header.p_type == PT_NOTE)
        if (Status taken = TakeNotes(header); !taken) return taken;
      if (header.p_type == PT_LOAD) TakeParts(header, ranges);
    }
    if (!segments_.empty()) return {};
    return Fail(
        NoKernelCode(MemoryThat(std::string("does not have the kernel's text, which is at ") +
                                "the addresses that '" + kSymbols + "' tells")));
  }

  // Header, a header for the notes and for each part, notes, parts, each from a page's begin on.
  Status WriteMemory() {
    auto file = OutputFile::Create(folder_ + "/kcore");
    if (!file) return Fail(std::move(file.error()));
    Elf64_Ehdr header = header_;
    header.e_phoff = sizeof header;
    header.e_phnum = static_cast<uint16_t>(segments_.size() + 1);
    header.e_shoff = header.e_shnum = header.e_shstrndx = 0;
    Elf64_Phdr notes{};
    notes.p_type = PT_NOTE;
    notes.p_offset = sizeof header + header.e_phnum * sizeof notes;
    notes.p_filesz = notes_.size();
    std::vector<uint8_t> head;
    const auto append = [&](const auto& value) {
      const auto* bytes = reinterpret_cast<const uint8_t*>(&value);
      head.insert(head.end(), bytes, bytes + sizeof value);
    };
    append(header);
    append(notes);
    uint64_t offset = ToPage(notes.p_offset + notes.p_filesz);
    for (Segment& segment : segments_) {
      segment.header.p_offset = offset;
      offset = ToPage(offset + segment.header.p_filesz);
      append(segment.header);
    }
    head.insert(head.end(), notes_.begin(), notes_.end());
    head.resize(ToPage(head.size()));
    if (Status written = file->Write(head); !written) return written;
    for (const Segment& segment : segments_)
      if (Status written = WritePart(segment, *file); !written) return written;
    return file->Close();
  }

  // The parts are whole pages.
  Status WritePart(const Segment& segment, OutputFile& file) const {
    std::vector<uint8_t> bytes;
    for (uint64_t done = 0; done < segment.header.p_filesz; done += bytes.size()) {
      bytes.resize(std::min<uint64_t>(kReadAtOnce, segment.header.p_filesz - done));
      if (Status read = Read(segment.offset + done, bytes); !read) return read;
      if (Status written = file.Write(bytes); !written) return written;
    }
    return {};
  }

  Status WriteText(const std::string& name, const std::string& text) const {
    auto file = OutputFile::Create(folder_ + "/" + name);
    if (!file) return Fail(std::move(file.error()));
    const Status written = file->Write(text);
    return written ? file->Close() : written;
  }

  const kernel::SystemKernel& kernel_;
  const std::string folder_;
  Elf64_Ehdr header_{};
  std::vector<uint8_t> notes_;
  std::vector<Segment> segments_;
};

}  // namespace

Status CopyKernel(const kernel::SystemKernel& kernel, const std::string& folder) {
  constexpr int kTries = 5;
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
    return Fail(
        Error(ErrorCode::kSystem, "--kcore: can't make '" + folder + "': " + std::strerror(errno))
            .Remedy("give another place with -o FOLDER"));
  Copier copier(kernel, folder);
  for (int i = 0; i < kTries; ++i) {
    const auto copied = copier.Copy();
    if (!copied) return Fail(copied.error());
    if (*copied) return {};
  }
  return Fail(Error(ErrorCode::kSystem,
                    "--kcore: modules come and go, so that no copy of the "
                    "kernel's code is of one moment")
                  .Remedy("record again once what loads modules has ended"));
}

}  // namespace flowback::record
