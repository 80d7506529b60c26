// SPDX-License-Identifier: MIT
// Stacks anywhere in the generated recordings, whole and damaged, from kept ones, equal those from
// playing each thread from its begin.
#include "replay/calls/kept_stacks.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "replay/calls/shadow_stack/stack_judge.h"
#include "tests/calls/stacks_anywhere.h"
#include "tests/code/temporary_folder.h"
#include "tests/golden/engines.h"
#include "tests/golden/perf_recordings.h"
#include "tests/golden/shared_traces.h"
#include "tests/support/random.h"

namespace flowback::golden {
namespace {

using calls_test::AnywhereSums;

class KeptStacksTest : public ::testing::TestWithParam<PerfRecording> {
 protected:
  void Expect(const Change& change, bool leaps = false) {
    OpenedPerf opened;
    ASSERT_NO_FATAL_FAILURE(OpenPerf(GetParam(), change, opened));
    opened.inputs->set_times(true);
    uint64_t bytes = 0;
    for (const Stream& stream : opened.recording.streams) bytes += stream.bytes.size();
    const std::unique_ptr<Decoder> decoder = Engine("native");
    const AnywhereSums sums = calls_test::ExpectStacksAnywhere(
        opened.recording, *opened.inputs, *decoder,
        {.segment_bytes = std::max<uint64_t>(bytes / 60, 512), .places = 12, .leaps = leaps});
    EXPECT_GT(sums.stacks, 0u);
    if (!leaps) {
      EXPECT_EQ(sums.kept, sums.shares);
    } else if (GetParam().name.starts_with("big")) {
      EXPECT_GT(sums.passed_over, 0u);
    }
  }
};

TEST_P(KeptStacksTest, TellWhatPlayingTells) { Expect({}); }

TEST_P(KeptStacksTest, TellWhatPlayingTellsWhereTheyLeap) { Expect({}, true); }

// With some bytes of each 32 KB as none were.
TEST_P(KeptStacksTest, TellWhatPlayingTellsBehindLosses) {
  Expect([](const Stream& stream) {
    std::vector<uint8_t> bytes(stream.bytes.begin(), stream.bytes.end());
    flowback::testing::Random random(bytes.size());
    for (size_t at = random.Below(4096); at < bytes.size(); at += random.Below(1 << 15))
      bytes[at] = static_cast<uint8_t>(random.Below(256));
    return bytes;
  });
}

// The file of a recording's kept stacks.
class KeptStacksFile : public ::testing::Test {
 protected:
  // What stacks of a recording are found with.
  struct Subject {
    explicit Subject(const PerfRecording& recording, bool leaps = false)
        : decoder(Engine("native")) {
      OpenPerf(recording, {}, opened);
      if (!opened.inputs) return;
      opened.inputs->set_times(true);
      symbolizer = std::make_unique<Symbolizer>(ImageSearch(), &opened.recording);
      functions = std::make_unique<SymbolFunctions>(*symbolizer);
      StackJudge judge(*functions);
      Result<FlowIndex> built =
          FlowIndex::Build(opened.recording, *opened.inputs, *decoder,
                           {.segment_bytes = 1024, .calls = leaps ? &judge : nullptr});
      EXPECT_TRUE(built);
      if (built) index.emplace(*std::move(built));
    }
    KeptStacks Stacks(const std::string& folder, unsigned worth_milliseconds = 0) {
      return KeptStacks({*index, *functions, *symbolizer},
                        {.folder = folder, .worth_milliseconds = worth_milliseconds, .key = "test"},
                        0);
    }
    void Keep(const std::string& folder) {
      KeptStacks stacks = Stacks(folder);
      for (int turn = 0; turn < 3; ++turn)  // so that it took a millisecond
        for (size_t i = 0; i < index->threads().size(); ++i) stacks.Make(i, {}, {});
      stacks.Keep();
    }

    OpenedPerf opened;
    std::unique_ptr<Decoder> decoder;
    std::optional<FlowIndex> index;
    std::unique_ptr<Symbolizer> symbolizer;
    std::unique_ptr<SymbolFunctions> functions;
  };

  void SetUp() override {
    FLOWBACK_NEEDS_TRACES();
    subject_ = std::make_unique<Subject>(Named("hello"));
    other_ = std::make_unique<Subject>(Named("pool-perthread"));
    subject_->Keep(folder_.path());
  }
  static PerfRecording Named(const std::string& name) {
    for (const PerfRecording& recording : PerfRecordings())
      if (recording.name == name) return recording;
    ADD_FAILURE() << "there is no recording " << name;
    return {};
  }
  bool AreKept() { return subject_->Stacks(folder_.path()).Has(0); }
  std::string file() const { return folder_ / "stacks-test.cache"; }

  const TemporaryFolder folder_;
  std::unique_ptr<Subject> subject_;
  std::unique_ptr<Subject> other_;
};

// They were made in no time because the pass that made the index noted the calls. Later only the
// index is at hand.
TEST_F(KeptStacksFile, IsWrittenWhereLeapsSavedTheTime) {
  constexpr unsigned kNever = 1'000'000;  // milliseconds
  for (const bool leaps : {false, true}) {
    const TemporaryFolder folder;
    Subject subject(Named("hello"), leaps);
    KeptStacks stacks = subject.Stacks(folder.path(), kNever);
    for (size_t i = 0; i < subject.index->threads().size(); ++i) stacks.Make(i, {}, {});
    EXPECT_EQ(stacks.passed_over() != 0, leaps);
    stacks.Keep();
    EXPECT_EQ(std::filesystem::exists(folder / "stacks-test.cache"), leaps);
  }
}

// An index from the cache does not know the calls.
TEST_F(KeptStacksFile, LeapWhereTheIndexIsMadeAnew) {
  const TemporaryFolder folder;
  const IndexCache cache{.folder = folder.path(), .worth_milliseconds = 0, .key = "index"};
  Subject subject(Named("pool-perthread"));
  for (int turn = 0; turn < 2; ++turn) {
    Result<FlowIndex> index =
        FlowIndex::Open(subject.opened.recording, *subject.opened.code, *subject.opened.inputs,
                        *subject.decoder, {.segment_bytes = 1024}, cache);
    ASSERT_TRUE(index);
    subject.index.emplace(*std::move(index));
  }
  ASSERT_TRUE(subject.index->from_cache());
  const std::unique_ptr<Decoder> another = Engine("native");
  const auto anew = [&] {
    StackJudge judge(*subject.functions);
    return FlowIndex::Build(subject.opened.recording, *subject.opened.inputs, *another,
                            {.segment_bytes = 1024, .calls = &judge});
  };
  for (const bool may : {false, true}) {
    KeptStacks stacks({*subject.index, *subject.functions, *subject.symbolizer,
                       may ? std::function<Result<FlowIndex>()>(anew) : nullptr},
                      {}, 0);
    for (size_t i = 0; i < subject.index->threads().size(); ++i) stacks.Make(i, {}, {});
    EXPECT_EQ(stacks.passed_over() != 0, may);
  }
}

TEST_F(KeptStacksFile, CutOrDamagedIsNone) {
  ASSERT_TRUE(AreKept());
  std::ifstream in(file(), std::ios::binary);
  const std::string whole(std::istreambuf_iterator<char>(in), {});
  const auto write = [&](const std::string& bytes) {
    std::ofstream(file(), std::ios::binary | std::ios::trunc) << bytes;
  };
  const size_t step = whole.size() / 1000 + 1;
  for (size_t size = 0; size < whole.size(); size += size < 256 ? 1 : step) {
    write(whole.substr(0, size));
    ASSERT_FALSE(AreKept()) << size << " bytes of " << whole.size();
    std::string damaged = whole;
    damaged[size] = static_cast<char>(damaged[size] ^ 0x20);
    write(damaged);
    ASSERT_FALSE(AreKept()) << "byte " << size << " of " << whole.size();
  }
  write(whole);
  EXPECT_TRUE(AreKept());
}

// Under this recording's name: its threads are others.
TEST_F(KeptStacksFile, OfAnotherRecordingIsNone) {
  const TemporaryFolder elsewhere;
  other_->Keep(elsewhere.path());
  ASSERT_TRUE(other_->Stacks(elsewhere.path()).Has(0));
  std::filesystem::copy_file(elsewhere / "stacks-test.cache", file(),
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_FALSE(AreKept());
}

TEST_F(KeptStacksFile, MayBeKeptByManyAtOnce) {
  std::vector<std::unique_ptr<Subject>> subjects;
  for (const PerfRecording& recording : PerfRecordings())
    for (int i = 0; recording.name == "hello" && i < 3; ++i)
      subjects.push_back(std::make_unique<Subject>(recording));
  std::vector<std::jthread> writers;
  for (const std::unique_ptr<Subject>& subject : subjects)
    writers.emplace_back([&] {
      for (int turn = 0; turn < 10; ++turn) {
        subject->Keep(folder_.path());
        EXPECT_TRUE(subject->Stacks(folder_.path()).Has(0));
      }
    });
  writers.clear();
  EXPECT_TRUE(AreKept());
}

std::vector<PerfRecording> Recordings() {
  std::vector<PerfRecording> recordings = PerfRecordings();
  for (const PerfRecording& overflown : OverflownPerfRecordings()) recordings.push_back(overflown);
  return recordings;
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(KeptStacksTest);
INSTANTIATE_TEST_SUITE_P(Recordings, KeptStacksTest, ::testing::ValuesIn(Recordings()),
                         [](const ::testing::TestParamInfo<PerfRecording>& which) {
                           return TestName(which.param.name);
                         });

}  // namespace
}  // namespace flowback::golden
