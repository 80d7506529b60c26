// SPDX-License-Identifier: MIT
// Compressed records that are made to fill the memory: refused with their place, in little memory.
#include <gtest/gtest.h>

#include "capture/formats/perf_records/perf_layout.h"
#include "decode/pt/packets/packet_writer.h"
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
  pt::PacketWriter trace;
  trace.Psb();
  trace.Write(pt::PsbEnd{});
  trace.TipPge(0x401000);
  trace.TipPgd(std::nullopt);
  builder.Auxtrace(0, 1, 100, -1, trace.Take());
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
    EXPECT_TRUE(result.err.contains("flowback: " + file + ": the compressed record at offset 0x"))
        << result.err;
    EXPECT_TRUE(result.err.contains("unpacks to more than")) << result.err;
    EXPECT_TRUE(result.err.contains("\n  try: ")) << result.err;
  }
}

// The part before the excess records is printed, with a message that it is not all.
TEST(Bomb, KeepsWhatWasReadBefore) {
  const ScratchFolder folder;
  const FileBytes throttle = {5, 0, 0, 0, 0, 0, 8, 0};
  const std::string file = folder.Write("perf.data", PackedFile(size_t{40} << 20, throttle));
  const ProgramResult decoded = RunFlowback({"decode", "--as", "packets", file}, {});
  EXPECT_EQ(decoded.status, 8) << decoded.err;
  EXPECT_TRUE(decoded.out.contains("TIP.PGE 0x401000")) << decoded.out;
  EXPECT_TRUE(decoded.err.contains("nothing is read from there on")) << decoded.err;
  const ProgramResult info = RunFlowback({"info", file}, {});
  EXPECT_EQ(info.status, 8) << info.err;
  EXPECT_TRUE(info.out.contains("before")) << info.out;
  EXPECT_TRUE(info.out.contains("damage")) << info.out;
  EXPECT_TRUE(info.err.contains("it is made to fill the memory")) << info.err;
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
