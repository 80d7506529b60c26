// SPDX-License-Identifier: MIT
// Counts of each generated recording's objects against what its program executed, address by
// address; and that they add up, by thread and on several cores.
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "flowback/replay/coverage_counter.h"
#include "flowback/replay/threads.h"
#include "tests/golden/engines.h"
#include "tests/golden/perf_recordings.h"
#include "tests/golden/shared_traces.h"

namespace flowback::golden {
namespace {

// By object and offset; code made at run time is one of no object, and all at 0.
using ByOffset = std::map<std::pair<std::string, uint64_t>, uint64_t>;

struct CloseProgram {
  void operator()(FILE* program) const { pclose(program); }
};

struct TrueMapping {
  uint64_t address = 0;
  uint64_t size = 0;
  uint64_t offset = 0;
  std::string path;
};

std::string NameOf(const std::string& path) {
  const bool memory = path.starts_with("//anon");
  return memory ? "" : std::filesystem::path(path).filename().string();
}

std::vector<TrueMapping> MappingsOf(const std::filesystem::path& folder) {
  std::vector<TrueMapping> mappings;
  for (const std::vector<std::string>& row : ReadTable(folder / "maps.txt"))
    if (row.size() == 7 && row[0] != "exec")
      mappings.push_back({std::stoull(row[0], nullptr, 16), std::stoull(row[1], nullptr, 16),
                          std::stoull(row[2], nullptr, 16), row[4]});
  return mappings;
}

// coverage.txt.gz: address, count, and OBJECT:SYMBOL, which distinguishes programs with one
// address.
ByOffset TrueCounts(const std::string& recording) {
  const std::filesystem::path folder = TracesFolder() / "generated" / recording;
  const std::vector<TrueMapping> mappings = MappingsOf(folder);
  const std::string command = "zcat '" + (folder / "coverage.txt.gz").string() + "'";
  const std::unique_ptr<FILE, CloseProgram> text(popen(command.c_str(), "r"));
  ByOffset counts;
  unsigned long address = 0;
  unsigned long count = 0;
  char place[4096];
  while (text != nullptr && fscanf(text.get(), "%lx %lu %4095s", &address, &count, place) == 3) {
    const std::string object = std::string(place).substr(0, std::string(place).find(':'));
    const TrueMapping* found = nullptr;
    for (const TrueMapping& mapping : mappings) {
      if (address - mapping.address >= mapping.size) continue;
      if (found == nullptr || NameOf(mapping.path) == object) found = &mapping;
    }
    EXPECT_NE(found, nullptr) << std::hex << address;
    if (found == nullptr) continue;
    const std::string name = NameOf(found->path);
    counts[{name, name.empty() ? 0 : address - found->address + found->offset}] += count;
  }
  return counts;
}

// The truth treats programs that had one address, each after the other, as one.
std::string OneAtItsAddress(const std::string& name, const std::vector<TrueMapping>& mappings) {
  std::string one = name;
  for (const TrueMapping& own : mappings)
    for (const TrueMapping& other : mappings)
      if (NameOf(own.path) == name && own.address == other.address && own.offset == other.offset)
        one = NameOf(other.path);
  return one;
}

ByOffset Told(const CoverageCounts& counts, const std::string& recording) {
  const std::vector<TrueMapping> mappings = MappingsOf(TracesFolder() / "generated" / recording);
  ByOffset told;
  for (const ObjectCounts& object : counts.objects) {
    const bool memory = object.id.made_at_run_time;
    const std::string name = memory ? "" : OneAtItsAddress(NameOf(object.id.path), mappings);
    for (const InstructionCount& each : object.instructions)
      told[{name, memory ? 0 : each.offset}] += each.times;
  }
  return told;
}

void FailOfLoss(const DataLoss& loss) { ADD_FAILURE() << Name(loss.cause) << loss.detail; }

CoverageCounts CountOf(OpenedPerf& opened, const std::vector<StreamOwner>& owners, unsigned threads,
                       const std::function<void(const DataLoss&)>& on_loss = FailOfLoss) {
  opened.inputs->set_threads(threads, 0);
  uint64_t checked = 0;
  const Result<CoverageCounts> counts = CountCoverage(
      {.recording = opened.recording,
       .code = *opened.code,
       .flow = {.inputs = *opened.inputs, .make_decoder = [] { return MakeDecoder("native"); }},
       .owners = owners,
       .check =
           [&](const ByteAccount& account, const Stream& stream) {
             ++checked;
             EXPECT_EQ(account.decoded + account.padding + account.lost, stream.bytes.size());
             return Status();
           },
       .on_loss = on_loss});
  EXPECT_TRUE(counts);
  EXPECT_NE(checked, 0u);
  return counts ? *counts : CoverageCounts();
}

void ExpectSound(const CoverageCounts& counts) {
  uint64_t sum = 0;
  for (const ObjectCounts& object : counts.objects) {
    EXPECT_TRUE(object.IsKnown()) << object.id.path << ": " << object.losses.begin()->first;
    std::map<uint64_t, uint64_t> times;
    for (const InstructionCount& each : object.instructions) {
      sum += each.times;
      times[each.offset] = each.times;
    }
    for (const BranchCount& branch : object.branches)
      EXPECT_EQ(branch.taken + branch.not_taken, times[branch.offset]) << object.id.path;
    for (const TargetCount& target : object.targets) {
      EXPECT_LE(target.times, times[target.offset]);
      EXPECT_TRUE(target.object == TargetCount::kNoObject || target.object < counts.objects.size());
    }
  }
  EXPECT_EQ(sum, counts.instructions);
}

class CoverageOfRecordings : public ::testing::TestWithParam<PerfRecording> {};

TEST_P(CoverageOfRecordings, IsWhatTheProgramExecuted) {
  OpenedPerf opened;
  ASSERT_NO_FATAL_FAILURE(OpenPerf(GetParam(), {}, opened));
  Threads threads(opened.recording);
  threads.GroupByThread(opened.recording, *opened.inputs);
  const CoverageCounts counts = CountOf(opened, threads.owners(), 1);
  ExpectSound(counts);
  EXPECT_EQ(Told(counts, GetParam().name), TrueCounts(GetParam().name));
  uint64_t digests = 0;
  for (const TrueDigest& thread : GetParam().threads) digests += thread.digest.count;
  EXPECT_EQ(counts.instructions, digests);

  EXPECT_EQ(CountOf(opened, threads.owners(), 3), counts);
  CoverageCounts sum;
  for (const StreamOwner& owner : threads.owners()) sum.Add(CountOf(opened, {owner}, 1));
  sum.recordings = 1;
  EXPECT_EQ(Told(sum, GetParam().name), Told(counts, GetParam().name));
  EXPECT_EQ(sum.instructions, counts.instructions);
}

// All that its processes had mapped is there, executed or not, once.
TEST_P(CoverageOfRecordings, HasAllThatWasMapped) {
  OpenedPerf opened;
  ASSERT_NO_FATAL_FAILURE(OpenPerf(GetParam(), {}, opened));
  Threads threads(opened.recording);
  threads.GroupByThread(opened.recording, *opened.inputs);
  const CoverageCounts counts = CountOf(opened, threads.owners(), 1);
  std::map<std::string, int> objects;
  for (const ObjectCounts& object : counts.objects)
    if (!object.id.made_at_run_time) ++objects[object.id.path];
  for (const TrueMapping& mapping : MappingsOf(TracesFolder() / "generated" / GetParam().name)) {
    if (NameOf(mapping.path).empty()) continue;
    EXPECT_EQ(objects[mapping.path], 1) << mapping.path;
  }
}

// Overflows hide instructions: none is made up, and no mapped code is reported as known.
TEST(CoverageOfLosses, MakeAllThatWasMappedUnknown) {
  FLOWBACK_NEEDS_TRACES();
  for (const PerfRecording& recording : OverflownPerfRecordings()) {
    OpenedPerf opened;
    ASSERT_NO_FATAL_FAILURE(OpenPerf(recording, {}, opened));
    Threads threads(opened.recording);
    threads.GroupByThread(opened.recording, *opened.inputs);
    uint64_t losses = 0;
    const CoverageCounts counts = CountOf(opened, threads.owners(), 1, [&](const DataLoss& loss) {
      if (loss.cause == LossCause::kOverflow) losses += loss.count;
    });
    ASSERT_NE(losses, 0u);
    for (const ObjectCounts& object : counts.objects)
      EXPECT_EQ(object.losses.contains(Name(LossCause::kOverflow))
                    ? object.losses.at(Name(LossCause::kOverflow))
                    : 0,
                losses)
          << object.id.path;
    const ByOffset truth = TrueCounts(recording.name);
    for (const auto& [place, times] : Told(counts, recording.name)) {
      const auto known = truth.find(place);
      ASSERT_NE(known, truth.end()) << place.first << ' ' << place.second;
      EXPECT_LE(times, known->second) << place.first << ' ' << place.second;
    }
  }
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(CoverageOfRecordings);
INSTANTIATE_TEST_SUITE_P(Recordings, CoverageOfRecordings, ::testing::ValuesIn(PerfRecordings()),
                         [](const ::testing::TestParamInfo<PerfRecording>& which) {
                           return TestName(which.param.name);
                         });

TEST(SharedTracesForCoverageTest, ArePresent) { FLOWBACK_NEEDS_TRACES(); }

}  // namespace
}  // namespace flowback::golden
