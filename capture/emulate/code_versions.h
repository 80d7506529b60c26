// SPDX-License-Identifier: MIT
// Code that no file contains: bytes that the program wrote, as they were when last translated.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "capture/emulate/guest.h"
#include "flowback/base/bytes.h"

namespace flowback::emulate {

// By pages of 4 KiB. The caller locks. Addresses are the guest's.
class CodeVersions {
 public:
  static constexpr uint64_t kPage = 4096;
  using Tell = std::function<void(uint64_t page, Bytes bytes)>;

  // The program may write to what lies in [begin, end), also if a file was mapped there.
  void NoteWritable(uint64_t begin, uint64_t end);
  bool IsWritable(uint64_t address) const;
  // Something else is mapped there now.
  void Forget(uint64_t begin, uint64_t end);
  // This code is about to run: records each of its pages that changed since it was recorded last.
  void Update(uint64_t start, Bytes code, const GuestMemory& memory, const Tell& tell);
  // Records the known pages in the range once more.
  void Repeat(uint64_t begin, uint64_t end, const Tell& tell) const;

 private:
  bool UpdatePage(uint64_t page, uint64_t start, Bytes code, const GuestMemory& memory);

  std::map<uint64_t, std::vector<uint8_t>> pages_;  // by address
  std::map<uint64_t, uint64_t> writable_;           // begin to end; may overlap
};

}  // namespace flowback::emulate
