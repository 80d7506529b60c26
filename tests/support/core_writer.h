// SPDX-License-Identifier: MIT
// Small core dumps for tests, as the kernel lays them out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace flowback {

struct CoreSegmentSpec {
  uint64_t address = 0;
  std::vector<uint8_t> bytes;  // the dumped part of it
  uint64_t size = 0;           // in memory; 0: as many as `bytes`
  bool executable = true;
};

struct CoreFileSpec {
  uint64_t address = 0;
  uint64_t size = 0;
  uint64_t file_offset = 0;  // a multiple of the page size
  std::string path;
};

// A note of the first thread.
struct CoreNoteSpec {
  uint32_t type = 0;
  std::vector<uint8_t> content;
};

struct CoreSpec {
  int32_t pid = 42;  // 0: no NT_PRPSINFO note
  std::vector<int32_t> tids = {42};
  std::vector<std::vector<uint64_t>> registers;  // by thread, in the kernel's order; may be fewer
  std::vector<CoreNoteSpec> thread_notes;
  std::string comm = "program";
  uint64_t vdso = 0;
  std::vector<uint8_t> kernel_build_id;  // in a VMCOREINFO note; empty: no such note
  uint64_t kernel_text = 0;              // where that note has _stext; 0: it has none
  std::vector<CoreFileSpec> files;       // empty: no NT_FILE note
  std::vector<CoreSegmentSpec> segments;
  uint16_t type = 4;             // ET_CORE
  uint16_t machine = 62;         // EM_X86_64; of EM_386 (3) the file has 32 bits
  bool count_elsewhere = false;  // as for more than 65534 program headers
};

std::vector<uint8_t> WriteCore(const CoreSpec& spec);

}  // namespace flowback
