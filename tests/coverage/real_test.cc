// SPDX-License-Identifier: MIT
// Recordings that hardware made: what the objects' counts add up to is what the digest counts.
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "flowback/capture/open.h"
#include "flowback/replay/coverage_counter.h"
#include "flowback/replay/threads.h"
#include "tests/coverage/count_recording.h"
#include "tests/golden/shared_traces.h"

namespace flowback::golden {
namespace {

struct RealInput {
  const char* folder;
  const char* file;
  bool raw = false;
  const char* image = nullptr;
  const char* cpu = nullptr;
  const char* core = nullptr;
  uint64_t instructions = 0;
};

const RealInput kReal[] = {
    {"dynamorio-v3_static_820k_sb", "pt.bin", true, "hello", "6/85/4", nullptr, 59234},
    {"hase-2018-04-04", "control_flow-20180404T163033.perf", false, "control_flow", nullptr,
     nullptr, 1092},
    {"hase-2018-04-04", "control_flow-20180404T163033.perf", false, nullptr, nullptr,
     "control_flow-20180404T163033.coredump", 1092},
    {"hase-2018-04-04", "loopy-20180404T162955.perf-aux-idx2.bin", true, nullptr, "6/94/3",
     "loopy-20180404T162955.coredump", 57},
    {"lldb/intelpt-trace", "3842849.trace", true, "a.out@0x400000", "6/79/1", nullptr, 21},
};

CoverageCounts CountsOf(const RealInput& real) {
  const std::filesystem::path folder = TracesFolder() / "intel-pt" / real.folder;
  OpenOptions options;
  if (real.raw)
    options.raw_pt = {folder / real.file};
  else
    options.input = folder / real.file;
  if (real.image != nullptr) options.images = {*ParseImageSpec(folder / real.image)};
  if (real.cpu != nullptr) options.cpu = *ParseCpuId(real.cpu);
  ImageSearch search;
  if (real.core != nullptr) search.cores = {folder / real.core};
  return testing::CountRecording(options, search, Resync::kSyncPoint);
}

TEST(CoverageOfRealRecordings, AddsUpToTheDigest) {
  FLOWBACK_NEEDS_TRACES();
  for (const RealInput& real : kReal) {
    SCOPED_TRACE(std::string(real.folder) + "/" + real.file);
    const CoverageCounts counts = CountsOf(real);
    uint64_t sum = 0;
    for (const ObjectCounts& object : counts.objects)
      for (const InstructionCount& each : object.instructions) sum += each.times;
    EXPECT_EQ(sum, real.instructions);
    EXPECT_EQ(counts.instructions, real.instructions);
  }
}

// With the file and with the core dump that has its bytes: the same object, offset by offset.
TEST(CoverageOfRealRecordings, IsTheSameFromACoreDump) {
  FLOWBACK_NEEDS_TRACES();
  const CoverageCounts file = CountsOf(kReal[1]);
  const CoverageCounts core = CountsOf(kReal[2]);
  const auto instructions_of = [](const CoverageCounts& counts) {
    std::vector<InstructionCount> all;
    for (const ObjectCounts& object : counts.objects)
      if (object.id.path.ends_with("/control_flow")) all = object.instructions;
    return all;
  };
  EXPECT_FALSE(instructions_of(file).empty());
  EXPECT_EQ(instructions_of(core), instructions_of(file));
}

}  // namespace
}  // namespace flowback::golden
