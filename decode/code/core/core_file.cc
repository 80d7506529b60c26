// SPDX-License-Identifier: MIT
// The dump's headers say what was mapped, its notes which process and which files. Everything is
// checked against the file's size before it is used, because a dump that was cut (`ulimit -c`, a
// full disk) still has headers that promise all of it.
#include "decode/code/core/core_file.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string_view>

#include "base/hex.h"
#include "base/text_words.h"
#include "decode/code/core/core_layout.h"

namespace flowback {
namespace {

template <class T>
std::optional<T> Load(Bytes bytes, uint64_t offset) {
  T value;
  const Bytes range = Slice(bytes, offset, sizeof value);
  if (range.size() != sizeof value) return std::nullopt;
  std::memcpy(&value, range.data(), sizeof value);
  return value;
}

// What a compressed dump begins with, and what unpacks it.
struct Compression {
  std::string_view magic;
  const char* name;
  const char* command;  // before and after the file's name
  const char* rest;
};
constexpr Compression kCompressions[] = {
    {"\x28\xb5\x2f\xfd", "zstd", "zstd -d ", " -o core"},
    {"\x04\x22\x4d\x18", "lz4", "lz4 -d ", " core"},
    {std::string_view("\xfd"
                      "7zXZ\0",
                      6),
     "xz", "xz -dc ", " > core"},
    {"\x1f\x8b", "gzip", "gzip -dc ", " > core"},
};

class Reader {
 public:
  Reader(Bytes bytes, const std::string& name, bool headers_only)
      : bytes_(bytes), name_(name), headers_only_(headers_only) {}

  Result<CoreFile> Read() {
    if (Status status = CheckKind(); !status) return Fail(std::move(status.error()));
    if (Status status = ReadProgramHeaders(); !status) return Fail(std::move(status.error()));
    std::ranges::stable_sort(core_.segments, {}, &CoreSegment::address);
    std::ranges::stable_sort(core_.files, {}, &CoreMappedFile::address);
    return std::move(core_);
  }

 private:
  std::unexpected<Error> Damaged(const std::string& what, uint64_t offset) const {
    return Fail(Error(ErrorCode::kUnreadable, name_ + ": damaged core dump: " + what)
                    .At(offset)
                    .Remedy("get an undamaged copy of the dump, or decode without --core"));
  }
  std::unexpected<Error> Unfit(const std::string& what, const std::string& remedy) const {
    return Fail(Error(ErrorCode::kUnreadable, name_ + ": " + what).At(0).Remedy(remedy));
  }
  std::unexpected<Error> Cut(const std::string& what, uint64_t end) const {
    return Fail(Error(ErrorCode::kUnreadable,
                      name_ + ": the core dump is cut: its headers promise " + what +
                          " up to offset " + Hex(end) + ", the file ends at " + Hex(bytes_.size()))
                    .At(bytes_.size())
                    .Remedy("get the whole dump (`ulimit -c unlimited` before the program starts), "
                            "or decode without --core"));
  }

  bool is_32() const { return header_.e_ident[EI_CLASS] == ELFCLASS32; }
  uint64_t program_size() const { return is_32() ? sizeof(Elf32_Phdr) : sizeof(Elf64_Phdr); }

  Status CheckKind() {
    const std::string_view text(reinterpret_cast<const char*>(bytes_.data()), bytes_.size());
    for (const Compression& packed : kCompressions)
      if (text.starts_with(packed.magic))
        return Unfit(std::string("is compressed with ") + packed.name,
                     packed.command + name_ + packed.rest + ", then --core core");
    if (!text.starts_with(std::string_view(ELFMAG, SELFMAG)))
      return Unfit("not a core dump: it does not start with the bytes 7f 45 4c 46",
                   "name an ELF core dump, as the kernel or gcore writes it");
    if (bytes_.size() <= EI_DATA) return Cut("an ELF header", sizeof(Elf64_Ehdr));
    const uint8_t kind = bytes_[EI_CLASS];
    if ((kind != ELFCLASS64 && kind != ELFCLASS32) || bytes_[EI_DATA] != ELFDATA2LSB)
      return Unfit("is neither a 32-bit nor a 64-bit little-endian ELF file",
                   "name a core dump of the machine that was traced");
    const auto header = CoreHeader(bytes_);
    if (!header)
      return Cut("an ELF header", kind == ELFCLASS32 ? sizeof(Elf32_Ehdr) : sizeof(Elf64_Ehdr));
    header_ = *header;
    if (header_.e_type != ET_CORE)
      return Unfit(
          "is an ELF file, but not a core dump (type " + std::to_string(header_.e_type) + ")",
          "a program or library is given with --image");
    layout_ = CoreLayoutOf(kind, header_.e_machine);
    if (layout_ == nullptr)
      return Unfit("is the core dump of another kind of machine (ELF machine " +
                       std::to_string(header_.e_machine) + ")",
                   "name a core dump of the machine that was traced");
    core_.mode = layout_->mode;
    return {};
  }

  Result<uint64_t> HeaderCount() {
    if (const auto count = CoreProgramCount(bytes_)) return *count;
    const size_t size = is_32() ? sizeof(Elf32_Shdr) : sizeof(Elf64_Shdr);
    return Cut("a section header", header_.e_shoff + size);
  }

  Status ReadProgramHeaders() {
    const Result<uint64_t> count = HeaderCount();
    if (!count) return Fail(count.error());
    if (header_.e_phentsize != program_size())
      return Damaged(
          "program headers of " + std::to_string(header_.e_phentsize) + " bytes",
          is_32() ? offsetof(Elf32_Ehdr, e_phentsize) : offsetof(Elf64_Ehdr, e_phentsize));
    if (header_.e_phoff > bytes_.size() ||
        *count > (bytes_.size() - header_.e_phoff) / program_size())
      return Cut("program headers", header_.e_phoff + *count * program_size());
    for (uint64_t i = 0; i < *count; ++i) {
      const uint64_t at = header_.e_phoff + i * program_size();
      const auto header = CoreProgram(bytes_, at, is_32());
      Status status = header->p_type == PT_LOAD   ? AddSegment(*header, at)
                      : header->p_type == PT_NOTE ? ReadNotes(*header, at)
                                                  : Status();
      if (!status) return status;
    }
    return {};
  }

  // Whether the bytes a header promises are there.
  Status CheckRange(const Elf64_Phdr& header, uint64_t at, const char* what) {
    if (header.p_filesz == 0) return {};
    const uint64_t end = header.p_offset + header.p_filesz;
    if (end < header.p_offset) return Damaged("a program header whose bytes wrap", at);
    if (end > bytes_.size()) return Cut(what, end);
    return {};
  }

  Status AddSegment(const Elf64_Phdr& header, uint64_t at) {
    if (!headers_only_)
      if (Status status = CheckRange(header, at, "memory"); !status) return status;
    const uint64_t size = std::max(header.p_memsz, header.p_filesz);
    if (size == 0) return {};
    if (header.p_vaddr + (size - 1) < header.p_vaddr)
      return Damaged("memory at " + Hex(header.p_vaddr) + " that wraps around", at);
    core_.segments.push_back({.address = header.p_vaddr,
                              .size = size,
                              .writable = (header.p_flags & PF_W) != 0,
                              .executable = (header.p_flags & PF_X) != 0,
                              .bytes = Slice(bytes_, header.p_offset, header.p_filesz),
                              .file_offset = header.p_offset});
    return {};
  }

  Status ReadNotes(const Elf64_Phdr& header, uint64_t at) {
    if (Status status = CheckRange(header, at, "notes"); !status) return status;
    if (header.p_filesz > notes_left_)
      return Damaged("notes that overlap: more of them than there are bytes", at);
    notes_left_ -= header.p_filesz;
    const Bytes notes = Slice(bytes_, header.p_offset, header.p_filesz);
    for (uint64_t offset = 0; notes.size() - offset >= sizeof(Elf64_Nhdr);) {
      const auto note = *Load<Elf64_Nhdr>(notes, offset);
      const uint64_t name = offset + sizeof note;
      const uint64_t content = name + ((uint64_t{note.n_namesz} + 3) & ~uint64_t{3});
      const uint64_t end = content + note.n_descsz;
      if (end > notes.size())
        return Damaged("a note that is longer than its segment", header.p_offset + offset);
      Status status = ReadNote(note.n_type, Slice(notes, name, note.n_namesz),
                               Slice(notes, content, note.n_descsz), header.p_offset + content);
      if (!status) return status;
      offset = std::min<uint64_t>((end + 3) & ~uint64_t{3}, notes.size());
    }
    return {};
  }

  Status ReadNote(uint32_t type, Bytes name, Bytes content, uint64_t at) {
    constexpr std::string_view kCore("CORE", 5);
    constexpr std::string_view kKernel("VMCOREINFO");
    const std::string_view owner(reinterpret_cast<const char*>(name.data()), name.size());
    if (owner.starts_with(kKernel)) ReadKernelInfo(content);
    if (owner != kCore) return {};
    switch (type) {
      case NT_PRSTATUS:
        return ReadThread(content, at);
      case NT_PRPSINFO:
        return ReadProcess(content, at);
      case NT_AUXV:
        ReadAuxiliaryVector(content);
        return {};
      case NT_FILE:
        return ReadFiles(content, at);
      default:
        return {};
    }
  }

  // struct elf_prstatus: signal numbers and masks, then the thread.
  Status ReadThread(Bytes content, uint64_t at) {
    const auto tid = Load<int32_t>(content, layout_->thread_at);
    if (!tid) return Damaged("an NT_PRSTATUS note that is too short", at);
    core_.tids.push_back(*tid);
    return {};
  }

  // struct elf_prpsinfo: state, flags, user and group, then process, ..., its name.
  Status ReadProcess(Bytes content, uint64_t at) {
    constexpr uint64_t kNameSize = 16;
    const auto pid = Load<int32_t>(content, layout_->process_at);
    const auto text = Load<std::array<char, kNameSize>>(content, layout_->name_at);
    if (!pid || !text) return Damaged("an NT_PRPSINFO note that is too short", at);
    core_.pid = *pid;
    core_.comm.assign(text->begin(), std::find(text->begin(), text->end(), '\0'));
    return {};
  }

  void ReadAuxiliaryVector(Bytes content) {
    const size_t word = layout_->word;
    for (uint64_t at = 0; at + 2 * word <= content.size(); at += 2 * word)
      if (CoreNumber(content, at, word) == uint64_t{AT_SYSINFO_EHDR})
        core_.vdso = *CoreNumber(content, at + word, word);
  }

  // Empty where no line begins so.
  static std::string_view ValueOf(std::string_view text, std::string_view key) {
    std::string_view value;
    ForEachLine(text, [&](std::string_view line, uint64_t) {
      if (line.starts_with(key)) value = line.substr(key.size());
      return value.empty();
    });
    return value;
  }

  // Lines of KEY=VALUE that the kernel writes about itself.
  void ReadKernelInfo(Bytes content) {
    const std::string_view text(reinterpret_cast<const char*>(content.data()), content.size());
    core_.kernel_text = Number(ValueOf(text, "SYMBOL(_stext)="), 16).value_or(0);
    const std::string_view value = ValueOf(text, "BUILD-ID=");
    BuildId found;
    for (size_t at = 0; at + 2 <= value.size(); at += 2) {
      uint8_t byte = 0;
      const auto [end, error] = std::from_chars(value.data() + at, value.data() + at + 2, byte, 16);
      if (error != std::errc() || end != value.data() + at + 2) return;
      found.bytes.push_back(byte);
    }
    core_.kernel_build_id = std::move(found);
  }

  // Number of rows and unit of their offsets; each row: begin, end, offset; then the names.
  Status ReadFiles(Bytes content, uint64_t at) {
    const size_t word = layout_->word;
    const auto number = [&](uint64_t offset) { return CoreNumber(content, offset, word); };
    const uint64_t row_size = 3 * word, table = 2 * word;
    const auto count = number(0);
    const auto unit = number(word);
    if (!count || !unit || *count > (content.size() - table) / row_size)
      return Damaged("an NT_FILE note that is shorter than its table", at);
    uint64_t name = table + *count * row_size;
    for (uint64_t i = 0; i < *count; ++i) {
      const uint64_t row = table + i * row_size;
      CoreMappedFile file;
      file.address = *number(row);
      const uint64_t end = *number(row + word);
      if (__builtin_mul_overflow(*number(row + 2 * word), *unit, &file.file_offset) ||
          end <= file.address)
        return Damaged("an impossible row in its NT_FILE note", at + row);
      file.size = end - file.address;
      const Bytes rest = Slice(content, name, content.size());
      const auto stop = std::ranges::find(rest, uint8_t{0});
      if (stop == rest.end()) return Damaged("an NT_FILE note that ends inside a name", at + name);
      file.path.assign(rest.begin(), stop);
      name += file.path.size() + 1;
      core_.files.push_back(std::move(file));
    }
    return {};
  }

  Bytes bytes_;
  uint64_t notes_left_ = bytes_.size();  // tens of thousands of headers may name the same ones
  const std::string& name_;
  bool headers_only_;
  Elf64_Ehdr header_{};  // also of a 32-bit file
  const CoreLayout* layout_ = nullptr;
  CoreFile core_;
};

// The last of `list`, sorted by address, that begins at or before `address`.
template <class T>
const T* LastBefore(const std::vector<T>& list, uint64_t address) {
  const auto after = std::ranges::upper_bound(list, address, {}, &T::address);
  return after == list.begin() ? nullptr : &*std::prev(after);
}

}  // namespace

BuildId FindBuildId(Bytes notes) {
  constexpr uint32_t kMaxBuildId = 64;
  for (uint64_t offset = 0; notes.size() - offset >= sizeof(Elf64_Nhdr);) {
    const auto note = *Load<Elf64_Nhdr>(notes, offset);
    const uint64_t name = offset + sizeof note;
    const uint64_t content = name + ((uint64_t{note.n_namesz} + 3) & ~uint64_t{3});
    const uint64_t end = content + note.n_descsz;
    if (end > notes.size()) return {};
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && note.n_descsz <= kMaxBuildId &&
        std::memcmp(notes.data() + name, "GNU", 4) == 0)
      return BuildId{{notes.begin() + static_cast<ptrdiff_t>(content),
                      notes.begin() + static_cast<ptrdiff_t>(end)}};
    offset = std::min<uint64_t>((end + 3) & ~uint64_t{3}, notes.size());
  }
  return {};
}

const CoreMappedFile* CoreFile::FileAt(uint64_t address) const {
  const CoreMappedFile* file = LastBefore(files, address);
  return file != nullptr && address - file->address < file->size ? file : nullptr;
}

const CoreSegment* CoreFile::SegmentAt(uint64_t address) const {
  const CoreSegment* segment = LastBefore(segments, address);
  return segment != nullptr && address - segment->address < segment->size ? segment : nullptr;
}

size_t CoreFile::Read(uint64_t address, uint8_t* buffer, size_t size) const {
  size_t done = 0;
  while (done < size) {
    const uint64_t at = address + done;
    const CoreSegment* segment = LastBefore(segments, at);
    if (segment == nullptr || at < address) break;
    const Bytes part = Slice(segment->bytes, at - segment->address, size - done);
    if (part.empty()) break;
    std::memcpy(buffer + done, part.data(), part.size());
    done += part.size();
  }
  return done;
}

BuildId CoreFile::BuildIdAt(uint64_t address) const {
  constexpr uint64_t kMostNotes = 4096;  // the first page is all that is dumped for certain
  std::array<uint8_t, sizeof(Elf64_Ehdr)> begin;
  if (Read(address, begin.data(), begin.size()) != begin.size() ||
      std::memcmp(begin.data(), ELFMAG, SELFMAG) != 0)
    return {};
  const auto header = CoreHeader(begin);
  const bool is_32 = begin[EI_CLASS] == ELFCLASS32;
  const size_t size = is_32 ? sizeof(Elf32_Phdr) : sizeof(Elf64_Phdr);
  if (!header || header->e_phentsize != size) return {};
  for (unsigned i = 0; i < header->e_phnum; ++i) {
    std::array<uint8_t, sizeof(Elf64_Phdr)> row{};
    if (Read(address + header->e_phoff + i * size, row.data(), size) != size) return {};
    const auto segment = CoreProgram(row, 0, is_32);
    if (!segment || segment->p_type != PT_NOTE || segment->p_filesz > kMostNotes) continue;
    // The first page of the file is mapped at `address`, so its offsets count from there.
    std::vector<uint8_t> notes(segment->p_filesz);
    if (Read(address + segment->p_offset, notes.data(), notes.size()) != notes.size()) continue;
    if (BuildId found = FindBuildId(notes); !found.empty()) return found;
  }
  return {};
}

BuildId CoreFile::BuildIdOf(const CoreMappedFile& file) const {
  for (auto at = std::ranges::upper_bound(files, file.address, {}, &CoreMappedFile::address);
       at != files.begin();) {
    --at;
    if (at->path != file.path) continue;
    if (at->file_offset == 0) return BuildIdAt(at->address);
  }
  return {};
}

void ForEachNote(Bytes notes, const std::function<void(uint32_t type, Bytes content)>& visit) {
  const auto rounded = [](uint64_t size) { return (size + 3) & ~uint64_t{3}; };
  for (uint64_t at = 0;;) {
    const auto note = Load<Elf64_Nhdr>(notes, at);
    if (!note) return;
    const uint64_t content = at + sizeof *note + rounded(note->n_namesz);
    visit(note->n_type, Slice(notes, content, note->n_descsz));
    at = content + rounded(note->n_descsz);
  }
}

Result<CoreFile> ReadCore(Bytes bytes, const std::string& name) {
  return Reader(bytes, name, false).Read();
}

Result<CoreFile> ReadCoreHeaders(Bytes beginning, const std::string& name) {
  return Reader(beginning, name, true).Read();
}

}  // namespace flowback
