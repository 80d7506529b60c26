// SPDX-License-Identifier: MIT
// Streams that stays divide at any place, played on any number of threads.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "decode/pt/native_decoder.h"
#include "flowback/decode/trace_source.h"
#include "tests/differential/harness.h"
#include "tests/support/plays.h"
#include "tests/threads/divided_stream.h"

namespace flowback::testing {
namespace {

constexpr int kThreads = 7;

// Each seventh stay is one thread's.
std::vector<ThreadFlow> Flows(const DividedStream& stream) {
  std::vector<ThreadFlow> flows(kThreads);
  const std::vector<FlowPiece> pieces = stream.Pieces();
  for (size_t i = 0; i < pieces.size(); ++i) {
    flows[i % kThreads].tid = static_cast<int32_t>(i % kThreads);
    flows[i % kThreads].pieces.push_back(pieces[i]);
  }
  return flows;
}

class Player : public ::testing::TestWithParam<Change> {
 protected:
  static constexpr uint64_t kSeeds = 40;

  void Make(uint64_t seed) {
    GeneratorOptions options = MixedOptions(seed);
    options.instructions = 10'000;
    if (options.psb_period == 0) options.psb_period = 512;
    subject_.emplace(GenerateStream(options));
    stream_.emplace(*subject_, GetParam());
    flows_ = Flows(*stream_);
    input_ = stream_->Input(seed % 2 == 0 ? Resync::kEarliest : Resync::kSyncPoint);
    auto source = OpenSource(recording_);
    ASSERT_TRUE(source);
    source_ = *std::move(source);
  }
  flowback::Player NewPlayer(const plays::Setting& setting) {
    return flowback::Player(
        [this](const Stream&) -> const DecodeInput& { return input_; }, *source_,
        []() -> Result<std::unique_ptr<Decoder>> { return pt::MakeNativeDecoder(); },
        {.threads = setting.threads,
         .in_flight = setting.in_flight,
         .segment_items = setting.segment_items});
  }
  std::vector<uint64_t> OneByOne() {
    const auto decoder = pt::MakeNativeDecoder();
    deliveries::PieceNumbers numbers;
    for (const ThreadFlow& flow : flows_)
      for (const FlowPiece& piece : flow.pieces)
        EXPECT_TRUE(DecodePiece(piece, input_, *source_, *decoder, numbers));
    return numbers.numbers();
  }

  Recording recording_;
  std::optional<Subject> subject_;
  std::optional<DividedStream> stream_;
  std::vector<ThreadFlow> flows_;
  DecodeInput input_;
  std::shared_ptr<const TraceSource> source_;
};

TEST_P(Player, TellsWhatEachStayTells) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    ASSERT_NO_FATAL_FAILURE(Make(seed));
    for (const bool times : {false, true}) {
      SCOPED_TRACE(times ? "with times" : "without times");
      input_.times = times;
      const std::vector<uint64_t> one_by_one = OneByOne();
      std::vector<std::pair<uint64_t, std::string>> marks;
      for (const plays::Setting& setting : plays::kSettings) {
        SCOPED_TRACE(std::to_string(setting.threads) + " threads");
        const plays::Told told = plays::Play(NewPlayer(setting), flows_);
        plays::ExpectTold(told, one_by_one);
        if (setting.threads == 1) marks = told.marks();
        EXPECT_EQ(told.marks(), marks);
        if (HasFailure()) return;
      }
      EXPECT_EQ(marks.size(), 2 * kThreads + 2 * kDividedStays);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Changes, Player,
                         ::testing::Values(Change::kNone, Change::kCode, Change::kBytes,
                                           Change::kGaps));

// Stops after so many items.
class Sated final : public PlayConsumer {
 public:
  explicit Sated(size_t most) : most_(most) {}
  void OnThreadBegin(const ThreadFlow&, size_t) override { ExpectHungry(); }
  void OnThreadEnd(const ThreadFlow&, size_t) override { ExpectHungry(); }
  void OnBlock(const BlockRun&) override { Take(); }
  void OnEvent(const TraceEvent&) override { Take(); }
  void OnLoss(const DataLoss&) override { Take(); }
  bool Done() const override { return taken_ >= most_; }
  size_t taken() const { return taken_; }

 private:
  void ExpectHungry() { EXPECT_FALSE(Done()) << "told something although it is done"; }
  void Take() {
    ExpectHungry();
    ++taken_;
  }
  const size_t most_;
  size_t taken_ = 0;
};

TEST_P(Player, EndsWhereTheConsumerIsDone) {
  ASSERT_NO_FATAL_FAILURE(Make(3));
  const size_t all = OneByOne().size();
  for (const plays::Setting& setting : plays::kSettings)
    for (const size_t most : {size_t{1}, all / 3, all - 1}) {
      Sated consumer(most);
      flowback::Player player = NewPlayer(setting);
      EXPECT_TRUE(player.Play(plays::PointersTo(flows_), consumer));
      EXPECT_EQ(consumer.taken(), most);
    }
}

// A decoder that fails at one of the stays.
class Failing final : public Decoder {
 public:
  explicit Failing(uint64_t begin) : begin_(begin) {}
  Result<ByteAccount> Decode(const DecodeInput& input, ExecutionConsumer& consumer) override {
    if (input.from >= begin_) return Fail(ErrorCode::kUnsupported, "no more");
    return decoder_->Decode(input, consumer);
  }

 private:
  const uint64_t begin_;
  std::unique_ptr<Decoder> decoder_ = pt::MakeNativeDecoder();
};

TEST_P(Player, GivesTheFirstErrorBehindWhatCameBeforeIt) {
  ASSERT_NO_FATAL_FAILURE(Make(4));
  const uint64_t half = input_.bytes.size() / 2;
  std::vector<uint64_t> before;
  for (const plays::Setting& setting : plays::kSettings) {
    flowback::Player player(
        [this](const Stream&) -> const DecodeInput& { return input_; }, *source_,
        [&]() -> Result<std::unique_ptr<Decoder>> { return std::make_unique<Failing>(half); },
        {.threads = setting.threads,
         .in_flight = setting.in_flight,
         .segment_items = setting.segment_items});
    plays::Told told;
    const Status status = player.Play(plays::PointersTo(flows_), told);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().message(), "no more");
    if (setting.threads == 1) before = told.items();
    EXPECT_FALSE(before.empty());
    EXPECT_EQ(told.items(), before);
  }
}

// A whole stream that is one thread's, of a size that is worth a thread.
class LongStay : public ::testing::Test {
 protected:
  // Notes which threads decode.
  class Watched final : public Decoder {
   public:
    explicit Watched(std::set<std::thread::id>& by) : by_(by) {}
    Result<ByteAccount> Decode(const DecodeInput& input, ExecutionConsumer& consumer) override {
      by_.insert(std::this_thread::get_id());
      return decoder_->Decode(input, consumer);
    }

   private:
    std::set<std::thread::id>& by_;  // one decoder works at a time
    std::unique_ptr<Decoder> decoder_ = pt::MakeNativeDecoder();
  };

  void SetUp() override {
    GeneratorOptions options = MixedOptions(5);
    options.instructions = 6'000'000;
    subject_.emplace(GenerateStream(options));
    input_ = subject_->Input();
    ASSERT_GT(input_.bytes.size(), size_t{1} << 18);
    stream_.bytes = input_.bytes;
    flows_.resize(1);
    flows_[0].pieces.push_back({.stream = &stream_, .end = input_.bytes.size()});
    auto source = OpenSource(recording_);
    ASSERT_TRUE(source);
    source_ = *std::move(source);
  }
  flowback::Player NewPlayer(const plays::Setting& setting) {
    return flowback::Player(
        [this](const Stream&) -> const DecodeInput& { return input_; }, *source_,
        [this]() -> Result<std::unique_ptr<Decoder>> { return std::make_unique<Watched>(by_); },
        {.threads = setting.threads,
         .in_flight = setting.in_flight,
         .segment_items = setting.segment_items});
  }

  Recording recording_;
  std::optional<Subject> subject_;
  Stream stream_;
  std::vector<ThreadFlow> flows_;
  DecodeInput input_;
  std::shared_ptr<const TraceSource> source_;
  std::set<std::thread::id> by_;
};

TEST_F(LongStay, IsDecodedBesideWhatTheConsumerDoes) {
  for (const bool times : {false, true}) {
    input_.times = times;
    const plays::Told expected = plays::Play(NewPlayer({}), flows_);
    EXPECT_EQ(by_, std::set{std::this_thread::get_id()});
    for (const plays::Setting& setting : plays::kSettings) {
      if (setting.threads == 1) continue;
      by_.clear();
      plays::ExpectTold(plays::Play(NewPlayer(setting), flows_), expected.items());
      EXPECT_EQ(by_.size(), 1U);
      EXPECT_FALSE(by_.contains(std::this_thread::get_id()));
    }
    by_.clear();
  }
}

// The tables of blocks stay, whatever of them had been handed over.
TEST_F(LongStay, IsPlayedAgainBehindAPlayThatEndedEarly) {
  const plays::Told expected = plays::Play(NewPlayer({}), flows_);
  flowback::Player player = NewPlayer({.threads = 2});
  for (const size_t most : {size_t{10}, expected.items().size() / 8}) {
    Sated sated(most);
    ASSERT_TRUE(player.Play(plays::PointersTo(flows_), sated));
  }
  plays::Told told;
  ASSERT_TRUE(player.Play(plays::PointersTo(flows_), told));
  plays::ExpectTold(told, expected.items());
}

TEST(PlayerOfNothing, TellsNothing) {
  const Recording recording;
  const auto source = OpenSource(recording);
  ASSERT_TRUE(source);
  const DecodeInput input;
  for (const unsigned threads : {1u, 3u}) {
    flowback::Player player(
        [&](const Stream&) -> const DecodeInput& { return input; }, **source,
        []() -> Result<std::unique_ptr<Decoder>> { return pt::MakeNativeDecoder(); },
        {.threads = threads});
    plays::Told told;
    EXPECT_TRUE(player.Play({}, told));
    EXPECT_TRUE(told.marks().empty());
  }
}

}  // namespace
}  // namespace flowback::testing
