// SPDX-License-Identifier: MIT
// However many threads count, and whether by owner or all at once: the same bytes.
#include <gtest/gtest.h>

#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "flowback/capture/open.h"
#include "flowback/capture/record.h"
#include "flowback/replay/coverage_counter.h"
#include "flowback/replay/threads.h"
#include "replay/coverage/coverage_parts.h"
#include "tests/cli/run_program.h"
#include "tests/record/emulated.h"

namespace flowback::testing {
namespace {

// Many processes of one thread, and one of several; some streams are larger than the rest.
constexpr const char* kScript =
    "i=0; while [ $i -lt 25 ]; do /bin/true; i=$((i+1)); done; ls -lR /usr/share/doc | sort | wc "
    "-c";

class CountedRecording {
 public:
  CountedRecording(const std::string& file, unsigned threads)
      : recording_(*OpenRecording(Options(file))),
        code_(*RecordingCode::Load(recording_, {})),
        inputs_(recording_, code_, Resync::kEarliest),
        owners_(recording_) {
    inputs_.set_threads(threads, 0);
    owners_.GroupByThread(recording_, inputs_);
  }
  std::vector<uint8_t> Counts() { return PartToBytes(CountCoverage(Request()).value()); }
  std::vector<CoverageCounts> ByOwner() { return CountCoverageByOwner(Request()).value(); }
  // Threads of ours that asked for a decoder.
  size_t decoding_threads() const { return asked_.size(); }
  size_t owners() const { return owners_.owners().size(); }

 private:
  static OpenOptions Options(const std::string& file) {
    OpenOptions options;
    options.input = file;
    return options;
  }
  CoverageRequest Request() {
    return {.recording = recording_,
            .code = code_,
            .flow = {.inputs = inputs_,
                     .make_decoder =
                         [this] {
                           const std::scoped_lock lock(mutex_);
                           asked_.insert(std::this_thread::get_id());
                           return MakeDecoder("native");
                         }},
            .owners = owners_.owners(),
            .check = {},
            .on_loss = {}};
  }

  Recording recording_;
  RecordingCode code_;
  StreamInputs inputs_;
  Threads owners_;
  std::mutex mutex_;
  std::set<std::thread::id> asked_;
};

// With a few bytes overwritten, so that there are losses.
void Damage(const std::string& file) {
  std::string bytes = test::ReadFile(file);
  for (size_t at = bytes.size() / 3; at < bytes.size() / 3 + 64; ++at) bytes[at] = '\x7f';
  FILE* const out = fopen(file.c_str(), "wb");
  fwrite(bytes.data(), 1, bytes.size(), out);
  fclose(out);
}

void ExpectTheSameBytes(const std::string& file) {
  const std::vector<uint8_t> alone = CountedRecording(file, 1).Counts();
  for (const unsigned threads : {2U, 5U}) {
    CountedRecording counted(file, threads);
    EXPECT_EQ(counted.Counts(), alone) << threads;
  }
}

void RecordScript(const std::string& file, bool per_cpu) {
  RecordOptions options;
  record_test::Emulate(options);
  options.target.command = {"/bin/sh", "-c", kScript};
  options.files.output = file;
  options.streams.per_cpu = per_cpu;
  const Result<RecordSummary> summary = Record(options);
  ASSERT_TRUE(summary) << summary.error().message();
}

TEST(ParallelCounts, AreThoseOfOneThread) {
  FLOWBACK_NEEDS_EMULATOR();
  const test::ScratchFolder folder;
  const std::string file = folder.File("a.data");
  RecordScript(file, false);
  CountedRecording several(file, 4);
  static_cast<void>(several.Counts());
  EXPECT_GT(several.decoding_threads(), 1U);
  ExpectTheSameBytes(file);
  Damage(file);
  ExpectTheSameBytes(file);
}

TEST(ParallelCounts, OfOwnersAddUpToAll) {
  FLOWBACK_NEEDS_EMULATOR();
  const test::ScratchFolder folder;
  for (const bool per_cpu : {false, true}) {
    SCOPED_TRACE(per_cpu);
    const std::string file = folder.File(per_cpu ? "cpus.data" : "threads.data");
    RecordScript(file, per_cpu);
    CountedRecording counted(file, 2);
    const std::vector<CoverageCounts> owners = counted.ByOwner();
    ASSERT_EQ(owners.size(), counted.owners());
    EXPECT_GT(owners.size(), 25U);
    CoverageCounts sum;
    for (const CoverageCounts& each : owners) sum.Add(each);
    sum.recordings = 1;
    EXPECT_EQ(PartToBytes(sum), counted.Counts());
  }
}

}  // namespace
}  // namespace flowback::testing
