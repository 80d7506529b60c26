// SPDX-License-Identifier: MIT
// Puts what core dumps hold into the address spaces of their processes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "decode/code/core/core_code.h"
#include "decode/code/image_finder.h"
#include "decode/code/images/image_store.h"
#include "decode/code/process_code.h"

namespace flowback {

class CoreLayer {
 public:
  // All arguments must outlive the object. `given` goes before the dumps' bytes.
  CoreLayer(const CoreCode& cores, ImageFinder& finder, const AddressSpace& given,
            ImageStore& store)
      : cores_(cores), finder_(finder), given_(given), store_(store) {}

  std::vector<int32_t> Processes() const { return cores_.Processes(); }
  // Whether a dump has bytes of what the record at position `since` of the sideband mapped.
  bool HasBytes(int32_t pid, size_t since) const { return !cores_.Dumped(pid, since).empty(); }
  // The record at position `since` of the sideband has just been replayed: what the dump knows of
  // the mappings that the process has had since then.
  void Amend(int32_t pid, size_t since, ProcessCode& process);

 private:
  void Amend(const DumpedRange& range, ProcessCode& process);

  const CoreCode& cores_;
  ImageFinder& finder_;
  const AddressSpace& given_;
  ImageStore& store_;
  uint64_t comparable_ = uint64_t{4} << 30;  // bytes that may be compared with files
};

}  // namespace flowback
