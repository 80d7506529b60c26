// SPDX-License-Identifier: MIT
// Code bytes at addresses: sections of files, address spaces made of them, and how those change.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "flowback/base/bytes.h"
#include "flowback/model/code_mode.h"
#include "flowback/model/recording.h"

namespace flowback {

class BlockCache;  // decode/code/cache/block_cache.h

// How sure we are that the bytes are those that ran (law 4 of the product).
enum class Verification : uint8_t {
  kBuildId,     // the recorded build-id and the file's agree
  kUnverified,  // the recording has no build-id: the file at the path was taken
  kGiven,       // the user gave it (--image, --section), or the recording carries the bytes
};

// A contiguous range of a file's code bytes, wherever it is mapped. Immutable except for its block
// cache, which is safe to use from any thread; shared by all threads, processes and runs.
class CodeSection {
 public:
  // `bytes` must stay valid as long as `owner` lives.
  // `file_mode` is what the ELF header says, empty when the bytes are from no ELF file.
  CodeSection(std::string name, uint64_t file_offset, Bytes bytes,
              std::shared_ptr<const void> owner, Verification verification,
              std::optional<CodeMode> file_mode = {}, std::string kallsyms = {});
  ~CodeSection();
  // Without bytes: its name says `why` there is no code, `missing_file` what file that would be of,
  // `kallsyms` where names of its addresses are.
  static std::shared_ptr<const CodeSection> Missing(std::string why, std::string missing_file = {},
                                                    std::string kallsyms = {});

  const std::string& name() const { return name_; }  // the file's path
  // For kernel code: the file of the kernel's symbols by address; else empty.
  const std::string& kallsyms() const { return kallsyms_; }
  // The recorded path of the missing file, if the section has no bytes; else empty.
  const std::string& missing_file() const { return missing_file_; }
  uint64_t file_offset() const { return file_offset_; }  // of bytes()[0] in that file
  Bytes bytes() const { return bytes_; }
  Verification verification() const { return verification_; }
  // The code mode that the file declares, if any: a trace may say otherwise.
  std::optional<CodeMode> file_mode() const { return file_mode_; }
  unsigned elf_bits() const { return file_mode_ ? TraitsOf(*file_mode_).bits : 0; }
  BlockCache& blocks() const { return *blocks_; }

 private:
  std::string name_;
  uint64_t file_offset_;
  Bytes bytes_;
  std::shared_ptr<const void> owner_;
  Verification verification_;
  std::optional<CodeMode> file_mode_;
  std::string kallsyms_;
  std::string missing_file_;
  std::unique_ptr<BlockCache> blocks_;
};

// `size` bytes of `section`, from `section_offset` on, at `address`.
struct CodeMapping {
  uint64_t address = 0;
  uint64_t size = 0;
  uint64_t section_offset = 0;
  std::shared_ptr<const CodeSection> section;
  // Where the whole file would start, for symbols: address of file offset 0 in this mapping.
  uint64_t FileBase() const { return address - (section->file_offset() + section_offset); }
};

// The mappings at one moment: sorted, without overlap. Copies share all they have in common, so a
// history of many spaces costs no more than their differences. Thread-safety: the const members may
// be called from any thread while no other one changes it.
class AddressSpace {
 public:
  // Replaces earlier mappings in its range, as mmap does. Addresses without bytes in the section
  // become a hole.
  void Map(const CodeMapping& mapping);
  bool empty() const { return root_ == nullptr; }
  // Makes a hole.
  void Unmap(uint64_t address, uint64_t size);
  // Whether anything is mapped in the range.
  bool Overlaps(uint64_t address, uint64_t size) const;
  // Null when nothing is mapped at `address`; valid until the space changes or dies.
  const CodeMapping* Find(uint64_t address) const;
  // Says why a range has no code, for messages: `reason` is a section without bytes whose name is
  // the sentence. Map and Unmap forget it.
  void Explain(uint64_t address, uint64_t size, std::shared_ptr<const CodeSection> reason);
  // The reason given for `address`; null: none was given.
  const std::string* WhyNothing(uint64_t address) const;
  // The section at `address`; where nothing is mapped, the reason given to Explain; else null.
  std::shared_ptr<const CodeSection> SectionOrReason(uint64_t address) const;
  // Maps all that `other` has. Cheap where one lies above all of the other, as the kernel does.
  void MapAll(const AddressSpace& other);
  // All of them, by address.
  std::vector<CodeMapping> mappings() const;
  // Copies up to `size` bytes at `address` to `buffer`, across adjacent mappings; returns how many.
  size_t Read(uint64_t address, uint8_t* buffer, size_t size) const;

  struct Node;
  using Tree = std::shared_ptr<const Node>;

 private:
  Tree root_;
  Tree reasons_;  // of the holes; what lies under a mapping is never asked for
};

// One process's address spaces over time. Entry i holds from its key up to entry i + 1's.
struct AddressSpaceHistory {
  struct Epoch {
    uint64_t time = 0;          // perf nanoseconds; 0: from the beginning
    uint64_t instructions = 0;  // instructions retired in the stream before it; used by harnesses
    std::shared_ptr<const AddressSpace> space;
    // Mappings of the epoch before, or of this one, may be missing: records were lost.
    bool records_lost = false;
    // The epoch begins with a program that execve started. Only what the trace itself shows may
    // lead into it (decode/flow/program_change.h).
    bool program = false;
  };
  enum class Key : uint8_t { kTime, kInstructions };
  Key key = Key::kTime;
  std::vector<Epoch> epochs;  // at least one
};

// Where an image's bytes were read from.
enum class CodeSource : uint8_t {
  kNone,          // nowhere
  kKept,          // beside the recording, where the recorder kept it
  kFile,          // the recorded path, below --symfs where that is given
  kBuildIdCache,  // perf's or debuginfod's files by build-id
  kDebugFolder,   // --debug-dir
  kGiven,         // --image, --section, or what the recording carries
  kCore,          // --core
  kKernelCore,    // --kcore, the recording's own copy, or the running kernel's memory
  kTextPoke,      // the recording has the bytes where the kernel changed its code
  kOwnVdso,       // the vDSO of the running kernel
  kMovedText,     // the file whose text the process is taken to have moved there
};
// "file", "build-id cache", ...
const char* Name(CodeSource source);

// A file that the recording needs and what became of it, for `info` and messages.
struct ImageStatus {
  std::string path;  // as recorded
  std::string file;  // what was opened; empty when nothing fitted
  BuildId recorded;  // empty: the recording has none
  BuildId found;     // of `file`
  CodeSource source = CodeSource::kNone;
  bool usable = false;
  bool rejected = false;  // a file was found, but is not the one that ran
  Verification verification = Verification::kUnverified;
  std::string problem;  // a sentence with the remedy when not usable, or only in part
  std::vector<std::string> looked_for;  // where, and why not, when there was no file at all
  // The recording contains its begin, but not its size.
  bool size_unknown = false;
  // The DataLoss::code of losses in its mappings when it is not usable; else null.
  std::shared_ptr<const CodeSection> reason = nullptr;
};

}  // namespace flowback
