// SPDX-License-Identifier: MIT
// Compressed records that are made to fill the memory: refused with their place, in little memory.
#include <gtest/gtest.h>

#include "capture/formats/perf_layout.h"
#include "tests/cli/run_program.h"
#include "tests/support/perf_data_builder.h"
#include "tests/support/perf_data_converter.h"

namespace flowback::test {
namespace {

using support::FileBytes;
using support::PerfDataBuilder;
using support::PerfDataParts;

// `size` bytes of records of `record`'s bytes, in some kilobytes.
std::string PackedFile(size_t size, const FileBytes& record) {
  PerfDataBuilder builder = PerfDataBuilder::WithIntelPt();
  builder.Comm(100, 100, "before", true, {.time = 1, .pid = 100, .tid = 100, .cpu = 0, .id = 102});
  PerfDataParts parts = support::TakeApart(builder.Build());
  FileBytes bytes;
  bytes.reserve(size + record.size());
  while (bytes.size() < size) bytes.insert(bytes.end(), record.begin(), record.end());
  parts.records.push_back({perf::kRecordThrottle, std::move(bytes), {}});
  const FileBytes file = support::ToCompressed(parts, size / 4);
  return {file.begin(), file.end()};
}

TEST(Bomb, IsRefusedInLittleMemory) {
  const ScratchFolder folder;
  const FileBytes throttle = {5, 0, 0, 0, 0, 0, 8, 0};
  const std::string packed = PackedFile(size_t{200} << 20, throttle);
  ASSERT_LT(packed.size(), size_t{100} << 10);
  const std::string file = folder.Write("perf.data", packed);
  for (const char* command : {"info", "decode"}) {
    const ProgramResult result = RunFlowback({command, file}, {.memory_mib = 256});
    EXPECT_EQ(result.status, 8) << result.err;
    EXPECT_TRUE(
        result.err.starts_with("flowback: " + file + ": the compressed record at offset 0x"))
        << result.err;
    EXPECT_TRUE(result.err.contains("unpacks to more than")) << result.err;
    EXPECT_TRUE(result.err.contains("\n  try: ")) << result.err;
  }
}

// Mappings take more memory than they have bytes, and shrink well.
TEST(Bomb, OfMappings) {
  const ScratchFolder folder;
  support::FieldWriter map;
  map.U32(perf::kRecordMmap).U16(2).U16(8 + 32 + 8 + 32).U32(1).U32(1);
  map.U64(0x400000).U64(0x1000).U64(0).Text("/bin/x");
  map.U32(1).U32(1).U64(5).U32(0).U32(0).U64(102);
  const std::string packed = PackedFile(size_t{200} << 20, map.bytes);
  const std::string file = folder.Write("perf.data", packed);
  const ProgramResult result = RunFlowback({"info", file}, {.memory_mib = 512});
  EXPECT_EQ(result.status, 8) << result.err;
  EXPECT_TRUE(result.err.contains("unpacks to more than")) << result.err;
}

}  // namespace
}  // namespace flowback::test
