// SPDX-License-Identifier: MIT
// An emulated program's mappings are recorded as the kernel makes them: one for each executable
// segment.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "tests/record/emulated.h"
#include "tests/record/recorded.h"

namespace flowback::record_test {
namespace {

// Path, offset in the file, size.
using Mapping = std::tuple<std::string, uint64_t, uint64_t>;

std::vector<Mapping> MappingsOf(const std::string& perf_data) {
  std::vector<Mapping> result;
  const auto recording = OpenFile(perf_data);
  if (!recording) return result;
  for (const SidebandRecord& record : recording->sideband)
    if (const auto* map = std::get_if<MmapRecord>(&record);
        map != nullptr && map->path.starts_with('/') && !map->path.starts_with("//"))
      result.emplace_back(map->path, map->file_offset, map->size);
  std::ranges::sort(result);
  return result;
}

// A static program, and one that a dynamic linker loads.
TEST(EmulatedMappings, AreThoseOfTheKernel) {
  FLOWBACK_NEEDS_PTRACE();
  FLOWBACK_NEEDS_EMULATOR();
  for (const std::string& program : {Program("vdso"), std::string("/bin/true")}) {
    SCOPED_TRACE(program);
    Recorder stepped;
    ASSERT_TRUE(stepped.Run({program}));
    const std::vector<Mapping> truth = MappingsOf(stepped.File("perf.data"));
    ASSERT_FALSE(truth.empty());
    Recorder emulated;
    Emulate(emulated.options());
    ASSERT_TRUE(emulated.Run({program}));
    EXPECT_EQ(MappingsOf(emulated.File("perf.data")), truth);
  }
}

}  // namespace
}  // namespace flowback::record_test
