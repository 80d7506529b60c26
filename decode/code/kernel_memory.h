// SPDX-License-Identifier: MIT
// The kernel's memory, from a file in the form of /proc/kcore.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/mapped_file.h"
#include "decode/code/core/core_file.h"
#include "decode/code/images/image_store.h"
#include "flowback/base/error.h"
#include "flowback/model/recording.h"

namespace flowback {

class KernelMemory {
 public:
  // `path` may be a copy, or /proc/kcore itself, which can be read but not mapped. Errors:
  // kUnreadable.
  static Result<KernelMemory> Open(const std::string& path);

  const std::string& path() const { return path_; }
  // The build-id in the file's VMCOREINFO note; empty where it has none.
  const BuildId& build_id() const { return core_.kernel_build_id; }
  // Where its symbol _stext lies, from the same note; 0: unknown.
  uint64_t text() const { return core_.kernel_text; }

  // A part of the memory, as a file of its own: `bytes` from `offset` on are the memory at
  // `address`.
  struct Part {
    uint64_t address = 0;
    uint64_t size = 0;
    uint64_t offset = 0;
    std::shared_ptr<const void> owner;
    Bytes bytes;
  };
  // The parts of the range that the file has. Where the file can't be mapped they are read, no more
  // than kMostRead bytes in all calls; larger ranges count as missing.
  std::vector<Part> Find(uint64_t address, uint64_t size);
  // The segments that lie in the kernel's half of the addresses and are not the image of all
  // memory: where code can be.
  std::vector<AddressRange> CodeRanges() const;

 private:
  static constexpr uint64_t kMostRead = 512 << 20;

  KernelMemory() = default;
  Part Read(const CoreSegment& segment, uint64_t address, uint64_t size);

  std::string path_;
  std::shared_ptr<const MappedFile> mapped_;  // null: read through file_
  Descriptor file_;
  uint64_t read_ = 0;
  CoreFile core_;
};

}  // namespace flowback
