// SPDX-License-Identifier: MIT
// Spikes that were kept are those that were found, in all that they say. Anything else is not
// taken.
#include "replay/spikes/kept_spikes.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "replay/spikes/spikes_bytes.h"
#include "replay/timeline/thread_times.h"
#include "replay/writers/spikes/spikes_view.h"
#include "replay/writers/writers.h"
#include "tests/code/temporary_folder.h"
#include "tests/golden/opened_timeline.h"
#include "tests/golden/perf_recordings.h"
#include "tests/golden/shared_traces.h"
#include "tests/support/random.h"

namespace flowback::golden {
namespace {

namespace fs = std::filesystem;

const std::string kLock = "__pthread_mutex_lock";

class KeptSpikesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    FLOWBACK_NEEDS_TRACES();
    for (const PerfRecording& recording : PerfRecordings())
      if (recording.name == "pool-perthread") opened_ = std::make_unique<OpenedTimeline>(recording);
    ASSERT_TRUE(opened_ && opened_->sources);
  }

  SpikeOptions Options(const std::string& function, size_t top = 5) const {
    SpikeOptions options{.top = top};
    options.is_region = [this, function](const AddressSpace* space, uint64_t ip) {
      const auto symbol = space == nullptr ? std::nullopt : opened_->symbolizer->Find(*space, ip);
      return symbol && symbol->function == function;
    };
    return options;
  }
  KeptSpikes KeptOf(const std::string& region, const std::string& key = "test") const {
    return KeptSpikes(*opened_->sources, opened_->played, region,
                      {.folder = folder_.path(), .key = key});
  }
  SpikeReport Find(const SpikeOptions& options, KeptSpikes* kept = nullptr) {
    const TimesOf times = [this] {
      ++passes_;
      return AccountTimes(*opened_->sources);
    };
    auto report = FindSpikes(*opened_->sources, opened_->played, options, times, kept);
    EXPECT_TRUE(report) << report.error().message();
    return report ? *std::move(report) : SpikeReport();
  }
  // All that a report says, as bytes.
  std::vector<uint8_t> BytesOf(const SpikeReport& report) const {
    std::vector<uint8_t> bytes = InstancesToBytes(report, opened_->spaces);
    const std::vector<uint8_t> rest = ComparisonToBytes(report, opened_->spaces);
    bytes.insert(bytes.end(), rest.begin(), rest.end());
    return bytes;
  }
  SpikeContext Context() const {
    return {opened_->perf.recording, opened_->spaces, opened_->played};
  }
  size_t Files() const {
    const fs::directory_iterator files(folder_.path());
    return static_cast<size_t>(std::distance(begin(files), end(files)));
  }

  void Show(const SpikeReport& report) {
    const Threads threads(opened_->perf.recording);
    const RecordingClock clock(opened_->perf.recording);
    SpikesView view;
    view.report = &report;
    view.threads = &threads;
    view.clock = &clock;
    view.lines = &lines_;
    view.symbolizer = opened_->symbolizer.get();
    view.recorded_path = [](const std::string& file) { return file; };
    view.input = "perf.data";
    view.region = kLock;
    view.width = 100;
    for (const auto& writer : WritersOf<SpikesWriter>()) {
      StringSink sink;
      writer.write(view, sink);
      EXPECT_FALSE(sink.text().empty()) << writer.name;
    }
  }

  const TemporaryFolder folder_;
  std::unique_ptr<OpenedTimeline> opened_;
  SourceLines lines_;
  int passes_ = 0;  // times that had to be learned
};

TEST_F(KeptSpikesTest, AreThoseThatWereFound) {
  const SpikeOptions options = Options(kLock);
  const SpikeReport made = Find(options);
  ASSERT_NE(made.slow, 0U);
  ASSERT_NE(made.normal, 0U);
  KeptSpikes first = KeptOf(kLock);
  EXPECT_EQ(BytesOf(Find(options, &first)), BytesOf(made));
  EXPECT_EQ(passes_, 2);
  first.Keep(options, made);
  EXPECT_EQ(Files(), 2U);
  KeptSpikes second = KeptOf(kLock);
  const SpikeReport loaded = Find(options, &second);
  EXPECT_EQ(passes_, 2);
  EXPECT_EQ(BytesOf(loaded), BytesOf(made));
  EXPECT_EQ(loaded.sorted, made.sorted);
  EXPECT_EQ(loaded.states, made.states);
  EXPECT_EQ(loaded.median, made.median);
}

// Each number that the first pass finds, also those that are 0 in this recording.
TEST_F(KeptSpikesTest, HoldAllOfTheFirstPass) {
  const SpikeOptions options = Options(kLock);
  SpikeReport made = Find(options);
  made.left_out = 1;
  made.unnamed_regions = 2;
  made.unpaired = {.without_begin = 3, .without_end = 4, .without_value = 5};
  made.overlapping = 6;
  KeptOf(kLock).Keep(options, made);
  SpikeReport loaded;
  ASSERT_TRUE(KeptOf(kLock).LoadInstances(loaded));
  EXPECT_EQ(InstancesToBytes(loaded, opened_->spaces), InstancesToBytes(made, opened_->spaces));
}

// Whether what instances did was kept, or the flow was followed a second time.
TEST_F(KeptSpikesTest, AreTheSameFromOnePassAndFromTwo) {
  SpikeOptions options = Options(kLock);
  const SpikeReport once = Find(options);
  ASSERT_NE(once.slow, 0U);
  for (const size_t bytes : {0, 1000, 40'000}) {
    options.row_bytes = bytes;
    EXPECT_EQ(BytesOf(Find(options)), BytesOf(once)) << bytes;
  }
}

// Other words about the same region need the second pass alone, and find the same as without.
TEST_F(KeptSpikesTest, ServeOtherQuestionsAboutTheRegion) {
  const SpikeOptions options = Options(kLock);
  KeptSpikes first = KeptOf(kLock);
  first.Keep(options, Find(options, &first));
  std::vector<SpikeOptions> others(4, options);
  others[0].measure = InstanceMeasure::kOffCpu;
  others[1].limit = {.kind = SlowLimit::Kind::kQuantile, .share = 0.9};
  others[2].top = 1;
  others[3].least_time = 1;
  size_t compared = 1;
  for (const SpikeOptions& other : others) {
    KeptSpikes kept = KeptOf(kLock);
    const SpikeReport made = Find(other, &kept);
    EXPECT_EQ(BytesOf(made), BytesOf(Find(other)));
    kept.Keep(other, made);
    compared += made.slow != 0 ? 1 : 0;
    const int passes = passes_;
    KeptSpikes again = KeptOf(kLock);
    EXPECT_EQ(BytesOf(Find(other, &again)), BytesOf(made));
    EXPECT_EQ(passes_, passes);
  }
  EXPECT_GT(compared, 3U);
  EXPECT_EQ(Files(), 1 + compared);
}

TEST_F(KeptSpikesTest, AreOfTheirRegionAndRecording) {
  const SpikeOptions options = Options(kLock);
  KeptSpikes first = KeptOf(kLock);
  first.Keep(options, Find(options, &first));
  SpikeReport report;
  EXPECT_FALSE(KeptOf("do_lookup_x").LoadInstances(report));
  EXPECT_FALSE(KeptOf(kLock, "other").LoadInstances(report));
  const std::vector<const ThreadFlow*> fewer(opened_->played.begin(), opened_->played.end() - 1);
  EXPECT_FALSE(
      KeptSpikes(*opened_->sources, fewer, kLock, {.folder = folder_.path(), .key = "test"})
          .LoadInstances(report));
  EXPECT_TRUE(KeptOf(kLock).LoadInstances(report));
}

// Bytes that a right checksum vouches for, but that nobody wrote, do no harm to whoever shows them.
TEST_F(KeptSpikesTest, MayHoldAnything) {
  const SpikeOptions options = Options(kLock);
  const SpikeReport made = Find(options);
  const std::vector<uint8_t> instances = InstancesToBytes(made, opened_->spaces);
  const std::vector<uint8_t> comparison = ComparisonToBytes(made, opened_->spaces);
  const auto is_list = [&](Bytes bytes) {
    SpikeReport report;
    return InstancesFromBytes(bytes, Context(), report);
  };
  SpikeReport rest = made;
  const auto is_comparison = [&](Bytes bytes) {
    rest.functions = made.functions;
    return ComparisonFromBytes(bytes, Context(), rest);
  };
  EXPECT_TRUE(is_list(instances));
  EXPECT_TRUE(is_comparison(comparison));
  for (size_t size = 0; size < instances.size(); size += instances.size() / 500 + 1)
    EXPECT_FALSE(is_list(Bytes(instances).first(size)));
  for (size_t size = 0; size < comparison.size(); size += comparison.size() / 500 + 1)
    EXPECT_FALSE(is_comparison(Bytes(comparison).first(size)));
  flowback::testing::Random random(5);
  for (int i = 0; i < 1'000; ++i) {
    std::vector<uint8_t> bytes = i % 2 == 0 ? instances : comparison;
    for (uint64_t changes = 1 + random.Below(3); changes != 0; --changes)
      bytes[random.Below(bytes.size())] = static_cast<uint8_t>(random.Below(256));
    if (i % 2 == 0) {
      is_list(bytes);
      continue;
    }
    if (is_comparison(bytes)) Show(rest);
  }
}

}  // namespace
}  // namespace flowback::golden
