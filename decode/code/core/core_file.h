// SPDX-License-Identifier: MIT
// An ELF core dump: the memory that a process had when it died, or when it was copied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "flowback/base/bytes.h"
#include "flowback/base/error.h"
#include "flowback/model/code_mode.h"
#include "flowback/model/recording.h"

namespace flowback {

// Memory that was mapped. `bytes` is the part that the kernel wrote into the dump: all, its
// beginning, or nothing; text that a file holds is usually left out.
struct CoreSegment {
  uint64_t address = 0;
  uint64_t size = 0;  // in memory
  bool writable = false;
  bool executable = false;
  Bytes bytes;               // at most `size`
  uint64_t file_offset = 0;  // of `bytes` in the dump
};

// A row of the NT_FILE note: which file a part of memory came from.
struct CoreMappedFile {
  uint64_t address = 0;
  uint64_t size = 0;
  uint64_t file_offset = 0;
  std::string path;
};

struct CoreFile {
  CodeMode mode = CodeMode::kX86_64;  // of the machine that the process saw
  int32_t pid = -1;                   // the process; -1: no NT_PRPSINFO note
  std::vector<int32_t> tids;          // its threads, from the NT_PRSTATUS notes
  std::string comm;                   // its name
  uint64_t vdso = 0;                  // where the vDSO's ELF header is; 0: unknown
  std::vector<CoreSegment> segments;  // by address
  std::vector<CoreMappedFile> files;  // by address
  // For a kernel's memory, from its VMCOREINFO note.
  BuildId kernel_build_id;
  uint64_t kernel_text = 0;  // the address of its symbol _stext; 0: unknown

  // The memory that has `address`; null when none was mapped.
  const CoreSegment* SegmentAt(uint64_t address) const;
  // The row over `address`; null when that is no file's.
  const CoreMappedFile* FileAt(uint64_t address) const;
  // Copies up to `size` dumped bytes at `address`, across segments; returns how many.
  size_t Read(uint64_t address, uint8_t* buffer, size_t size) const;
  // The build-id of the ELF file whose first byte is at `address`: the kernel dumps the first page
  // of files. Empty where that is not in the dump, or is no ELF file with a build-id.
  BuildId BuildIdAt(uint64_t address) const;
  // The same for the file that a row belongs to, whose beginning is mapped at or before it.
  BuildId BuildIdOf(const CoreMappedFile& file) const;
};

// `bytes` must outlive the result. `name` is for messages. Errors: kUnreadable, with offset where
// there is one, for anything but a whole core dump of a process of 64-bit or 32-bit x86 or AArch64.
Result<CoreFile> ReadCore(Bytes bytes, const std::string& name);

// Reads the beginning of a file that cannot be mapped (/proc/kcore): headers, notes, and the
// segments' places and sizes.
Result<CoreFile> ReadCoreHeaders(Bytes beginning, const std::string& name);

// Calls visit for each note in a range of ELF notes; one that is cut has what there is of it.
void ForEachNote(Bytes notes, const std::function<void(uint32_t type, Bytes content)>& visit);

// Returns the GNU build-id in a range of ELF notes; empty: the notes have no build-id.
BuildId FindBuildId(Bytes notes);

}  // namespace flowback
