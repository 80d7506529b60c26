// SPDX-License-Identifier: MIT
#include "tests/differential/harness.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "decode/effort.h"
#include "decode/pt/native_decoder.h"
#include "tests/support/flow_consumers.h"
#ifdef FLOWBACK_HAVE_LIBIPT
#include "decode/pt/libipt/libipt_decoder.h"
#endif

namespace flowback::testing {
namespace {

// Adds up a flow without using anything of the decoders' own sums.
class Adder : public ExecutionConsumer {
 public:
  void OnBlock(const BlockRun& run) override {
    AppendRun(run, sum_.digest);
    CountBranch(run);
  }
  void OnEvent(const TraceEvent&) override {}
  void OnLoss(const DataLoss& loss) override {
    DataLoss added = loss;
    added.after = sum_.digest.count;
    sum_.AddLoss(std::move(added));
  }

  FlowSummary Take() { return std::move(sum_); }

 private:
  void CountBranch(const BlockRun& run) {
    // Where an engine cuts a run without a branch is its own business.
    if (run.exit == BlockExit::kFallThrough) return;
    ++sum_.blocks;
    switch (run.last) {
      case InstructionClass::kConditional:
        ++(run.exit == BlockExit::kNotTaken ? sum_.not_taken : sum_.taken);
        break;
      case InstructionClass::kJump:
        ++sum_.jumps;
        break;
      case InstructionClass::kCall:
        ++sum_.calls;
        break;
      case InstructionClass::kIndirectJump:
        ++sum_.indirect_jumps;
        break;
      case InstructionClass::kIndirectCall:
        ++sum_.indirect_calls;
        break;
      case InstructionClass::kReturn:
        ++sum_.returns;
        break;
      default:
        if (IsFar(run.last)) ++sum_.far;
    }
  }

  FlowSummary sum_;
};

// Counts times that go back or contradict their bounds.
class TimedAdder final : public Adder {
 public:
  void OnBlock(const BlockRun& run) override {
    for (size_t i = 0; i < run.lengths.size(); ++i) See(run.TscOf(i), run.BoundsOf(i));
    Adder::OnBlock(run);
  }
  void OnEvent(const TraceEvent& event) override { See(event.tsc, event.bounds); }

  size_t disorder() const { return disorder_; }

 private:
  void See(uint64_t tsc, const TscInterval& bounds) {
    disorder_ += tsc < tsc_ || bounds.lo < lo_ || tsc < bounds.lo;
    disorder_ += bounds.hi != 0 && (bounds.hi < bounds.lo || tsc > bounds.hi);
    tsc_ = tsc;
    lo_ = bounds.lo;
  }

  size_t disorder_ = 0;
  uint64_t tsc_ = 0;
  uint64_t lo_ = 0;
};

template <class Totals>
std::string BranchText(const Totals& t) {
  const auto line = [](const char* name, uint64_t value) {
    return std::string(name) + " " + std::to_string(value) + "\n";
  };
  return line("taken", t.taken) + line("not taken", t.not_taken) + line("jumps", t.jumps) +
         line("indirect jumps", t.indirect_jumps) + line("calls", t.calls) +
         line("indirect calls", t.indirect_calls) + line("returns", t.returns) + line("far", t.far);
}

// How much came of each, each loss counted as often as it stands for.
class EventCounter final : public ExecutionConsumer {
 public:
  void OnBlock(const BlockRun&) override { ++blocks; }
  void OnEvent(const TraceEvent&) override {}
  void OnLoss(const DataLoss& loss) override { losses += loss.count; }

  uint64_t blocks = 0;
  uint64_t losses = 0;
};

}  // namespace

Subject::Subject(GeneratedStream stream) : stream_(std::move(stream)), code_(CodeOf(stream_)) {}

DecodeInput Subject::Input(Bytes bytes, Resync resync) const {
  DecodeInput input;
  input.bytes = bytes;
  input.code = &code_;
  input.config = stream_.config;
  input.resync = resync;
  return input;
}

Seen DecodeAll(Decoder& decoder, const DecodeInput& input) {
  Adder adder;
  const Result<ByteAccount> account = decoder.Decode(input, adder);
  if (!account) {
    ADD_FAILURE() << account.error().message();
    return {};
  }
  return {adder.Take(), *account};
}

Seen DecodeWithTimes(Decoder& decoder, DecodeInput input, size_t& disorder) {
  input.times = true;
  TimedAdder adder;
  const Result<ByteAccount> account = decoder.Decode(input, adder);
  if (!account) {
    ADD_FAILURE() << account.error().message();
    return {};
  }
  disorder = adder.disorder();
  return {adder.Take(), *account};
}

FlowSummary SummarizeAll(Decoder& decoder, const DecodeInput& input) {
  Result<FlowSummary> sum = decoder.Summarize(input);
  if (!sum) {
    ADD_FAILURE() << sum.error().message();
    return {};
  }
  return std::move(*sum);
}

std::string DigestText(const FlowDigest& digest) {
  char text[64];
  std::snprintf(text, sizeof(text), "%llu %016llx", static_cast<unsigned long long>(digest.count),
                static_cast<unsigned long long>(digest.hash));
  return text;
}

std::string CountsText(const FlowTotals& sum) {
  return DigestText(sum.digest) + "\n" + BranchText(sum);
}

std::string CountsText(const GeneratedTruth& truth) {
  return DigestText(truth.digest) + "\n" + BranchText(truth);
}

std::string LossText(const DataLoss& loss) {
  char line[128];
  std::snprintf(line, sizeof(line),
                "[%llu, %llu) %s at %llx: ", static_cast<unsigned long long>(loss.begin),
                static_cast<unsigned long long>(loss.end), Name(loss.cause),
                static_cast<unsigned long long>(loss.last_ip));
  return line + loss.detail + "\n";
}

std::string PartsText(const std::vector<FlowPart>& parts) {
  std::ostringstream text;
  for (const FlowPart& part : parts)
    text << '[' << part.begin << ", " << part.end << ") of " << part.stay << ", time "
         << part.totals.first_tsc << " to " << part.totals.last_tsc << ", bytes "
         << part.totals.bytes_decoded << ' ' << part.totals.bytes_padding << ' '
         << part.totals.bytes_lost << ": " << CountsText(part.totals) << '\n';
  return text.str();
}

Seeds SeedsOf(uint64_t shard, uint64_t first, uint64_t count) {
  const char* given = std::getenv("FLOWBACK_SEEDS");
  if (given == nullptr) return {.first = first + shard * count, .count = count};
  char* rest = nullptr;
  Seeds seeds{.first = std::strtoull(given, &rest, 10), .usual = false};
  if (*rest == ':') seeds.count = std::strtoull(rest + 1, &rest, 10);
  if (*rest != '\0' || seeds.count == 0)
    ADD_FAILURE() << "FLOWBACK_SEEDS is FIRST:COUNT, not " << given;
  if (shard != 0) seeds.count = 0;
  return seeds;
}

std::unique_ptr<Decoder> Native() { return pt::MakeNativeDecoder(); }

std::unique_ptr<Decoder> Reference() {
#ifdef FLOWBACK_HAVE_LIBIPT
  return MakeLibiptDecoder();
#else
  return nullptr;
#endif
}

void ExpectSameTimes(const FlowSummary& sum, const FlowSummary& other) {
  const auto same = [](const DataLoss& a, const DataLoss& b) {
    return a.tsc == b.tsc && a.end_tsc == b.end_tsc;
  };
  EXPECT_TRUE(std::ranges::equal(sum.losses, other.losses, same)) << "times of losses";
}

namespace {

// As a decode in one go without times gave it.
void ExpectSameSum(const FlowSummary& sum, const FlowSummary& serial) {
  EXPECT_EQ(CountsText(sum), CountsText(serial));
  EXPECT_EQ(LossesText(sum.losses), LossesText(serial.losses));
  EXPECT_EQ(sum.blocks, serial.blocks);
  EXPECT_EQ(sum.bytes_decoded, serial.bytes_decoded);
  EXPECT_EQ(sum.bytes_padding, serial.bytes_padding);
  EXPECT_EQ(sum.bytes_lost, serial.bytes_lost);
  EXPECT_EQ(sum.first_tsc, serial.first_tsc);
  EXPECT_EQ(sum.last_tsc, serial.last_tsc);
  EXPECT_EQ(PartsText(sum.parts), PartsText(serial.parts));
  ExpectSameTimes(sum, serial);
}

}  // namespace

void ExpectSameWithEvents(Decoder& decoder, const DecodeInput& input, const FlowSummary& serial) {
  SCOPED_TRACE("sums and events in one decode");
  EventCounter events;
  const Result<FlowSummary> sum = decoder.SummarizeTimed(input, events);
  ASSERT_TRUE(sum);
  ExpectSameSum(*sum, serial);
  // Packets at the borders of losses are read again by the one and not by the other.
  if (serial.losses.empty()) {
    EXPECT_EQ(sum->effort->All(), serial.effort->All());
  }
  EXPECT_EQ(events.losses, serial.LossCount());
  EXPECT_EQ(events.blocks, 0u);
}

void ExpectSameInParallel(Decoder& decoder, const DecodeInput& input, const FlowSummary& serial) {
  for (const size_t segment_bytes : {size_t{1}, size_t{3000}}) {
    DecodeInput parallel = input;
    parallel.threads = segment_bytes == 1 ? 3 : 2;
    parallel.in_flight = segment_bytes == 1 ? 0 : 2;
    parallel.segment_bytes = segment_bytes;
    SCOPED_TRACE("pieces of " + std::to_string(segment_bytes));
    const FlowSummary sum = SummarizeAll(decoder, parallel);
    ExpectSameSum(sum, serial);
    EXPECT_EQ(sum.effort->All(), serial.effort->All());
  }
}

}  // namespace flowback::testing
