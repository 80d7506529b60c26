// SPDX-License-Identifier: MIT
// A timeline that was kept is the one that was made, in all it says; what is not that is none.
#include "replay/timeline/kept_timeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/number_bytes.h"
#include "replay/symbols/symbol_sources.h"
#include "replay/timeline/kept_result.h"
#include "replay/timeline/timeline_bytes.h"
#include "tests/code/temporary_folder.h"
#include "tests/golden/opened_timeline.h"
#include "tests/golden/perf_recordings.h"
#include "tests/golden/shared_traces.h"
#include "tests/support/random.h"

namespace flowback::golden {
namespace {

namespace fs = std::filesystem;

KeptTimeline KeptOf(const OpenedTimeline& opened, const std::string& folder,
                    const TimelineOptions& options, const std::string& focus = "") {
  return KeptTimeline(*opened.sources, opened.played, options, focus,
                      {.folder = folder, .key = "test"});
}

const TimelineOptions kPicture{.columns = 50, .spans = true};

void ExpectSame(const CallSums& got, const CallSums& made) {
  for (const auto number :
       {&CallSums::count, &CallSums::partial, &CallSums::executing, &CallSums::total,
        &CallSums::self_instructions, &CallSums::instructions})
    EXPECT_EQ(got.*number, made.*number);
  EXPECT_EQ(got.own, made.own);
  for (const auto share : {&CallSums::self_cycles, &CallSums::cycles})
    for (const auto number : {&CycleShare::instructions, &CycleShare::likely, &CycleShare::lo,
                              &CycleShare::hi, &CycleShare::untold})
      EXPECT_EQ(got.*share.*number, made.*share.*number);
  for (const auto number : {&TimeShare::time, &TimeShare::lo, &TimeShare::hi})
    EXPECT_EQ(got.self.*number, made.self.*number);
  for (const auto number : {&CallDurations::count, &CallDurations::min, &CallDurations::median,
                            &CallDurations::p99, &CallDurations::max})
    EXPECT_EQ(got.durations.*number, made.durations.*number);
}

void ExpectSame(const TimelineCall& got, const TimelineCall& made) {
  for (const auto number :
       {&TimelineCall::begin, &TimelineCall::begin_lo, &TimelineCall::begin_hi, &TimelineCall::end,
        &TimelineCall::end_lo, &TimelineCall::end_hi, &TimelineCall::instructions,
        &TimelineCall::cycles, &TimelineCall::cycles_lo})
    EXPECT_EQ(got.*number, made.*number);
  for (const auto number : {&TimelineCall::function, &TimelineCall::depth, &TimelineCall::stack})
    EXPECT_EQ(got.*number, made.*number);
  EXPECT_EQ(got.entry, made.entry);
  EXPECT_EQ(got.exit, made.exit);
}

void ExpectSame(const std::vector<CallPath>& got, const std::vector<CallPath>& made) {
  ASSERT_EQ(got.size(), made.size());
  for (size_t i = 0; i < made.size(); ++i) {
    for (const auto number : {&CallPath::parent, &CallPath::function, &CallPath::depth})
      EXPECT_EQ(got[i].*number, made[i].*number);
    EXPECT_EQ(got[i].is_cut, made[i].is_cut);
    EXPECT_EQ(got[i].at_least, made[i].at_least);
    ExpectSame(got[i].sums, made[i].sums);
  }
}

void ExpectSame(const ThreadTimeline& got, const ThreadTimeline& made) {
  EXPECT_EQ(got.pid, made.pid);
  EXPECT_EQ(got.tid, made.tid);
  EXPECT_EQ(got.stream, made.stream);
  for (const auto number :
       {&ThreadTimeline::begin, &ThreadTimeline::end, &ThreadTimeline::instructions,
        &ThreadTimeline::losses, &ThreadTimeline::calls_left_out, &ThreadTimeline::shortest,
        &ThreadTimeline::other_stacks, &ThreadTimeline::cut_calls})
    EXPECT_EQ(got.*number, made.*number);
  EXPECT_EQ(got.times, made.times);
  EXPECT_EQ(got.causes, made.causes);
  EXPECT_EQ(got.off_cpu_told, made.off_cpu_told);
  EXPECT_EQ(got.condensed, made.condensed);
  ExpectSame(got.paths, made.paths);
  ASSERT_EQ(got.calls.size(), made.calls.size());
  for (size_t i = 0; i < made.calls.size(); ++i) ExpectSame(got.calls[i], made.calls[i]);
  ASSERT_EQ(got.longest.has_value(), made.longest.has_value());
  if (made.longest) ExpectSame(*got.longest, *made.longest);
  ASSERT_EQ(got.last.has_value(), made.last.has_value());
  if (made.last) ExpectSame(*got.last, *made.last);
  EXPECT_EQ(got.cycles.paused, made.cycles.paused);
  EXPECT_EQ(got.cycles.undivided, made.cycles.undivided);
  ASSERT_EQ(got.spans.size(), made.spans.size());
  for (size_t i = 0; i < made.spans.size(); ++i) {
    EXPECT_EQ(got.spans[i].kind, made.spans[i].kind);
    for (const auto number : {&ClassSpan::begin, &ClassSpan::begin_lo, &ClassSpan::begin_hi,
                              &ClassSpan::end, &ClassSpan::end_lo, &ClassSpan::end_hi})
      EXPECT_EQ(got.spans[i].*number, made.spans[i].*number);
  }
  ASSERT_EQ(got.strip.size(), made.strip.size());
  for (size_t i = 0; i < made.strip.size(); ++i) {
    EXPECT_EQ(got.strip[i].times, made.strip[i].times);
    EXPECT_EQ(got.strip[i].function, made.strip[i].function);
    EXPECT_EQ(got.strip[i].function_time, made.strip[i].function_time);
    EXPECT_EQ(got.strip[i].focus, made.strip[i].focus);
  }
}

void ExpectSame(const Timeline& got, const Timeline& made) {
  EXPECT_EQ(got.nanoseconds, made.nanoseconds);
  EXPECT_EQ(got.emulated, made.emulated);
  EXPECT_EQ(got.begin, made.begin);
  EXPECT_EQ(got.end, made.end);
  EXPECT_EQ(got.times, made.times);
  ASSERT_EQ(got.functions.size(), made.functions.size());
  for (size_t i = 0; i < made.functions.size(); ++i) {
    EXPECT_EQ(got.functions[i].name, made.functions[i].name);
    EXPECT_EQ(got.functions[i].file, made.functions[i].file);
    EXPECT_EQ(got.functions[i].entry_ip, made.functions[i].entry_ip);
    EXPECT_EQ(got.functions[i].space, made.functions[i].space);
    EXPECT_EQ(got.functions[i].named, made.functions[i].named);
    EXPECT_EQ(got.functions[i].is_system_call, made.functions[i].is_system_call);
  }
  ASSERT_EQ(got.threads.size(), made.threads.size());
  for (size_t i = 0; i < made.threads.size(); ++i) ExpectSame(got.threads[i], made.threads[i]);
  ExpectSame(got.paths, made.paths);
  ASSERT_EQ(got.by_function.size(), made.by_function.size());
  for (size_t i = 0; i < made.by_function.size(); ++i)
    ExpectSame(got.by_function[i], made.by_function[i]);
  ASSERT_EQ(got.losses.size(), made.losses.size());
  for (size_t i = 0; i < made.losses.size(); ++i) {
    EXPECT_EQ(got.losses[i].cause, made.losses[i].cause);
    EXPECT_EQ(got.losses[i].code, made.losses[i].code);
    for (const auto number : {&LossSum::ip, &LossSum::count, &LossSum::bytes})
      EXPECT_EQ(got.losses[i].*number, made.losses[i].*number);
  }
}

class KeptTimelineTest : public ::testing::TestWithParam<PerfRecording> {};

TEST_P(KeptTimelineTest, IsTheOneThatWasMade) {
  const TemporaryFolder folder;
  int turn = 0;
  for (const Change& change : {Change(), Damaged(1 << 15)}) {
    const OpenedTimeline opened(GetParam(), change);
    ASSERT_TRUE(opened.sources);
    const Timeline made = opened.Make(kPicture);
    const std::string own = folder / std::to_string(turn++);
    const KeptTimeline kept = KeptOf(opened, own, kPicture);
    EXPECT_FALSE(kept.Load());
    kept.Keep(made);
    const auto loaded = kept.Load();
    ASSERT_TRUE(loaded);
    ExpectSame(*loaded, made);
  }
}

class KeptTimelineFile : public ::testing::Test {
 protected:
  void SetUp() override {
    FLOWBACK_NEEDS_TRACES();
    for (const PerfRecording& recording : PerfRecordings()) {
      if (recording.name == "hello") opened_ = std::make_unique<OpenedTimeline>(recording);
      if (recording.name == "pool-perthread") other_ = std::make_unique<OpenedTimeline>(recording);
    }
  }
  static void Keep(const OpenedTimeline& opened, const std::string& folder,
                   const TimelineOptions& options = {}) {
    KeptOf(opened, folder, options).Keep(opened.Make(options));
  }
  bool IsKept(const TimelineOptions& options = {}, const std::string& focus = "") const {
    return KeptOf(*opened_, folder_.path(), options, focus).Load().has_value();
  }
  std::vector<fs::path> Files() const {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(folder_.path()))
      if (entry.path().filename().string().starts_with("timeline-")) files.push_back(entry.path());
    return files;
  }

  const TemporaryFolder folder_;
  std::unique_ptr<OpenedTimeline> opened_;
  std::unique_ptr<OpenedTimeline> other_;
};

// Each of what was asked for has its own; none drives out another.
TEST_F(KeptTimelineFile, IsOfItsOptions) {
  const TimelineOptions all[] = {{},
                                 {.span = {.begin = 1, .end = UINT64_MAX}},
                                 {.most_paths = 20},
                                 {.most_calls = 0},
                                 {.columns = 60},
                                 {.columns = 61},
                                 {.columns = 60, .most_strips = 1},
                                 {.columns = 60, .spans = true}};
  size_t kept = 0;
  for (const TimelineOptions& options : all) {
    EXPECT_FALSE(IsKept(options));
    Keep(*opened_, folder_.path(), options);
    EXPECT_EQ(Files().size(), ++kept);
  }
  for (const TimelineOptions& options : all) EXPECT_TRUE(IsKept(options));
  EXPECT_FALSE(IsKept({.focus = [](const AddressSpace*, uint64_t) { return true; }}, "main"));
  EXPECT_FALSE(IsKept({}, "main"));
}

TEST_F(KeptTimelineFile, HoldsWhichFunctionsAreSystemCalls) {
  const Timeline made = opened_->Make({});
  const auto count = [](const Timeline& timeline) {
    return std::ranges::count_if(timeline.functions, &TimelineFunction::is_system_call);
  };
  ASSERT_GT(count(made), 0);
  ASSERT_LT(count(made), std::ssize(made.functions));
  const KeptTimeline kept = KeptOf(*opened_, folder_.path(), {});
  kept.Keep(made);
  const auto loaded = kept.Load();
  ASSERT_TRUE(loaded);
  ExpectSame(*loaded, made);
}

TEST_F(KeptTimelineFile, CutOrDamagedIsNone) {
  Keep(*opened_, folder_.path());
  ASSERT_TRUE(IsKept());
  ASSERT_EQ(Files().size(), 1u);
  const fs::path path = Files().front();
  std::ifstream in(path, std::ios::binary);
  const std::string whole(std::istreambuf_iterator<char>(in), {});
  const auto write = [&](const std::string& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  };
  const size_t step = whole.size() / 1000 + 1;
  for (size_t size = 0; size < whole.size(); size += size < 256 ? 1 : step) {
    write(whole.substr(0, size));
    ASSERT_FALSE(IsKept()) << size << " bytes of " << whole.size();
    std::string damaged = whole;
    damaged[size] = static_cast<char>(damaged[size] ^ 0x20);
    write(damaged);
    ASSERT_FALSE(IsKept()) << "byte " << size << " of " << whole.size();
  }
  write(whole);
  EXPECT_TRUE(IsKept());
}

// Bytes behind a right checksum that are nothing do no harm.
TEST_F(KeptTimelineFile, MayHoldAnything) {
  const std::vector<uint8_t> whole = opened_->BytesOf(opened_->Make(kPicture));
  const auto read = [&](Bytes bytes) {
    return TimelineFromBytes(bytes, opened_->perf.recording, opened_->spaces);
  };
  EXPECT_TRUE(read(whole));
  for (size_t size = 0; size < whole.size(); size += whole.size() / 2000 + 1)
    EXPECT_FALSE(read(Bytes(whole).first(size)));
  flowback::testing::Random random(3);
  for (int i = 0; i < 3'000; ++i) {
    std::vector<uint8_t> bytes = whole;
    for (uint64_t changes = 1 + random.Below(3); changes != 0; --changes)
      bytes[random.Below(bytes.size())] = static_cast<uint8_t>(random.Below(256));
    const auto timeline = read(bytes);
    if (!timeline) continue;
    for (const CallPath& path : timeline->paths)
      EXPECT_TRUE(path.function == CallPath::kNoFunction ||
                  path.function < timeline->functions.size());
  }
}

// Under this recording's name: its threads are others.
TEST_F(KeptTimelineFile, OfAnotherRecordingIsNone) {
  const TemporaryFolder elsewhere;
  Keep(*opened_, folder_.path());
  Keep(*other_, elsewhere.path());
  ASSERT_TRUE(IsKept());
  const fs::path own = Files().front();
  for (const auto& entry : fs::directory_iterator(elsewhere.path()))
    fs::copy_file(entry.path(), own, fs::copy_options::overwrite_existing);
  EXPECT_FALSE(IsKept());
}

// The names came from files that have changed since.
TEST_F(KeptTimelineFile, OfOtherNamesIsNone) {
  Keep(*opened_, folder_.path());
  ASSERT_TRUE(IsKept());
  const std::vector<std::string> files = opened_->symbolizer->FilesRead();
  EXPECT_GT(files.size(), 1u);
  const TemporaryFolder elsewhere;
  NumberWriter out;
  out.Number(1);
  const std::string absent = elsewhere / "names";
  for (const std::string& text : {absent, opened_->symbolizer->SourceOf(absent)})
    out.Block({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  NumberReader before(out.bytes());
  EXPECT_TRUE(HaveStayed(before, *opened_->symbolizer));
  std::ofstream(absent) << "names";
  NumberReader now(out.bytes());
  EXPECT_FALSE(HaveStayed(now, *opened_->symbolizer));
}

TEST_F(KeptTimelineFile, MayBeKeptByManyAtOnce) {
  const Timeline made = opened_->Make({});
  const KeptTimeline kept = KeptOf(*opened_, folder_.path(), {});
  std::vector<std::jthread> writers;
  for (int i = 0; i < 4; ++i)
    writers.emplace_back([&] {
      for (int turn = 0; turn < 50; ++turn) {
        kept.Keep(made);
        EXPECT_TRUE(kept.Load());
      }
    });
  writers.clear();
  EXPECT_EQ(Files().size(), 1u);
  ASSERT_TRUE(kept.Load());
  ExpectSame(*kept.Load(), made);
}

// One that would take more than its part of the cache is not kept.
TEST_F(KeptTimelineFile, LeavesRoomForOthers) {
  const size_t size = opened_->BytesOf(opened_->Make({})).size();
  for (const bool fits : {false, true}) {
    const KeptTimeline kept(*opened_->sources, opened_->played, TimelineOptions(), "",
                            {.folder = folder_.path(),
                             .most_bytes = kResultPart * (size - (fits ? 0 : 1)),
                             .key = "test"});
    kept.Keep(opened_->Make({}));
    EXPECT_EQ(kept.Load().has_value(), fits);
  }
}

std::vector<PerfRecording> Recordings() {
  std::vector<PerfRecording> recordings = PerfRecordings();
  for (const PerfRecording& overflown : OverflownPerfRecordings()) recordings.push_back(overflown);
  return recordings;
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(KeptTimelineTest);
INSTANTIATE_TEST_SUITE_P(Recordings, KeptTimelineTest, ::testing::ValuesIn(Recordings()),
                         [](const ::testing::TestParamInfo<PerfRecording>& which) {
                           return TestName(which.param.name);
                         });

}  // namespace
}  // namespace flowback::golden
