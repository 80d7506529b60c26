// SPDX-License-Identifier: MIT
// Arbitrary bytes as a core dump: an error that says something, or memory inside the file. Inputs
// begin as a small dump that has all that is read.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "decode/code/core/core_file.h"
#include "tests/support/core_writer.h"
#include "tests/support/elf_writer.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

void Check(bool holds) {
  if (!holds) std::abort();
}

std::vector<uint8_t> Seed() {
  flowback::ElfSpec library;
  library.build_id = {1, 2, 3, 4};
  library.segments = {{.address = 0x1000, .bytes = {0x90}}};
  flowback::CoreSpec spec;
  spec.vdso = 0x10000;
  spec.files = {{0x10000, 0x1000, 0, "/lib.so"}, {0x11000, 0x1000, 0x1000, "/lib.so"}};
  std::vector<uint8_t> page = flowback::WriteElf(library).bytes;
  page.resize(0x200);
  spec.segments = {{.address = 0x10000, .bytes = page}, {.address = 0x20000, .bytes = {0xc3}}};
  return flowback::WriteCore(spec);
}

void Look(const flowback::CoreFile& core, const uint8_t* begin, const uint8_t* end) {
  for (const flowback::CoreSegment& segment : core.segments) {
    Check(segment.bytes.size() <= segment.size);
    Check(segment.bytes.empty() ||
          (segment.bytes.data() >= begin && segment.bytes.data() + segment.bytes.size() <= end));
    uint8_t buffer[64];
    Check(core.Read(segment.address, buffer, sizeof buffer) <= sizeof buffer);
    core.BuildIdAt(segment.address);
  }
  for (size_t i = 0; i < std::min<size_t>(core.files.size(), 16); ++i) {
    core.BuildIdOf(core.files[i]);
    Check(core.FileAt(core.files[i].address) != nullptr);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::vector<uint8_t> exact(data, data + size);
  const auto core = flowback::ReadCore(exact, "core");
  if (core)
    Look(*core, exact.data(), exact.data() + exact.size());
  else
    Check(!core.error().message().empty() && !core.error().remedy().empty());
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int) {
  if (size < 2) {
    static const std::vector<uint8_t> kSeed = Seed();
    size = std::min(kSeed.size(), max_size);
    std::memcpy(data, kSeed.data(), size);
  }
  return LLVMFuzzerMutate(data, size, max_size);
}
