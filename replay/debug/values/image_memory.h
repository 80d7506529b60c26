// SPDX-License-Identifier: MIT
// The ELF files of a process at one moment: where each one lies, and the memory that a file proves:
// its segments that the process could not write to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "flowback/base/bytes.h"
#include "flowback/decode/code_image.h"

namespace flowback {

class MappedFile;  // base/mapped_file.h

struct ImageSegment {
  uint64_t address = 0;  // as the file says
  uint64_t file_offset = 0;
  uint64_t size = 0;  // in the file
  uint64_t memory_size = 0;
  bool writable = false;
  bool executable = false;
};

// What a debugger asks of an ELF file.
struct ImageLayout {
  bool is_64 = false;
  bool is_program = false;   // not a library: a process is started from it
  uint64_t entry = 0;        // addresses, as the file says
  uint64_t headers = 0;      // of the program headers
  uint16_t header_size = 0;  // of one
  uint16_t header_count = 0;
  uint64_t dynamic = 0;                // of the dynamic section; 0: none
  std::string interpreter;             // the loader's path; empty: none
  std::vector<ImageSegment> segments;  // that are loaded
};

// Reads the headers. Damaged or foreign headers have no segments.
ImageLayout ReadLayout(Bytes file);

struct LoadedImage {
  std::string file;   // that was opened
  uint64_t bias = 0;  // added to the addresses that the file says
  std::shared_ptr<const MappedFile> mapped;
  const ImageLayout* layout = nullptr;
};

// Keeps the layouts of the files that it has read. Used by one thread.
class ImageMemory {
 public:
  // The files of an address space, by address. Valid as long as this.
  std::vector<LoadedImage> ImagesOf(const AddressSpace& space);
  // Copies up to that many bytes at `address` that a file proves; returns how many.
  size_t Read(const AddressSpace& space, uint64_t address, std::span<uint8_t> bytes);

 private:
  struct File {
    std::shared_ptr<const MappedFile> mapped;  // null: it cannot be read
    ImageLayout layout;
  };

  const File& FileAt(const std::string& path);

  std::map<std::string, File> files_;
  const AddressSpace* space_ = nullptr;  // asked about last
  std::vector<LoadedImage> images_;
};

}  // namespace flowback
