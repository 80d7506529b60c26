// SPDX-License-Identifier: MIT
// Streams of many pieces, of which little is in memory at one time: every reader gives the same as
// with the whole stream in memory.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "base/recorded/pt_config.h"
#include "decode/pt/native_decoder.h"
#include "decode/pt/packets/psb.h"
#include "decode/pt/source/index_stream.h"
#include "decode/pt/source/packet_walk.h"
#include "decode/stream_index.h"
#include "flowback/base/joined_bytes.h"
#include "tests/differential/harness.h"

namespace flowback::testing {
namespace {

const size_t kPage = static_cast<size_t>(sysconf(_SC_PAGESIZE));

GeneratorOptions Options(uint64_t seed) {
  GeneratorOptions options = MixedOptions(seed);
  options.instructions = 300'000;
  return options;
}

// The bytes in pieces of 0 to `most`, `skew` bytes behind a border of granules: so each place in a
// stream comes to lie at one.
class Pieces {
 public:
  Pieces(Bytes bytes, size_t skew, size_t most, size_t idle) : before_(skew) {
    std::mt19937_64 random(skew + most);
    std::vector<Bytes> pieces = {before_};
    while (!bytes.empty()) {
      pieces.push_back(bytes.first(std::min<size_t>(random() % (most + 1), bytes.size())));
      bytes = bytes.subspan(pieces.back().size());
    }
    joined_ = std::make_shared<JoinedBytes>(std::move(pieces));
    joined_->SetLimits({.granule = kPage, .idle = idle});
  }

  Bytes bytes() const { return joined_->bytes().subspan(before_.size()); }
  const std::shared_ptr<JoinedBytes>& joined() const { return joined_; }
  DecodeInput In(DecodeInput whole) const {
    whole.bytes = bytes();
    whole.joined = joined_;
    return whole;
  }

 private:
  std::vector<uint8_t> before_;
  std::shared_ptr<JoinedBytes> joined_;
};

std::string Text(const FlowTotals& sum) {
  return CountsText(sum) + LossesText(sum.losses) + std::to_string(sum.bytes_decoded) + ' ' +
         std::to_string(sum.bytes_padding) + ' ' + std::to_string(sum.bytes_lost);
}
std::string Text(const Seen& seen) {
  return Text(seen.sum) + ", " + std::to_string(seen.account.decoded) + ' ' +
         std::to_string(seen.account.padding) + ' ' + std::to_string(seen.account.lost);
}

std::string TimedText(Decoder& decoder, DecodeInput input, bool blocks) {
  input.blocks = blocks;
  size_t disorder = 0;
  return Text(DecodeWithTimes(decoder, input, disorder)) + ", " + std::to_string(disorder);
}

Stream StreamOf(const DecodeInput& input) {
  Stream stream;
  stream.bytes = input.bytes;
  stream.joined = input.joined;
  stream.gaps = input.gaps;
  return stream;
}

std::string PausesText(const DecodeInput& input) {
  std::string text;
  const bool timed =
      pt::VisitPauses(StreamOf(input), PtConfigOf(input.config), [&](const Pause& pause) {
        text += std::to_string(pause.offset) + ' ' + std::to_string(pause.earliest) + ' ' +
                std::to_string(pause.latest) + '\n';
        return true;
      });
  return text + (timed ? "timed" : "no time");
}

std::string PacketsText(const DecodeInput& input) {
  const Stream stream = StreamOf(input);
  std::string text;
  pt::PacketWalk walk(stream, PtConfigOf(input.config).cpu);
  using Step = pt::PacketWalk::Step;
  for (Step step; (step = walk.Next()) != Step::kEnd;) {
    const std::string what = step == Step::kPacket ? std::to_string(walk.packet().index())
                                                   : std::string(Name(walk.cause()));
    text += std::to_string(walk.offset()) + '+' + std::to_string(walk.size()) + ':' + what + ' ';
  }
  return text;
}

// What every reader makes of the input.
std::vector<std::string> Readings(const DecodeInput& input) {
  std::vector<std::string> all = {
      Text(SummarizeAll(*Native(), input)),
      Text(DecodeAll(*Native(), input)),
      TimedText(*Native(), input, true),
      TimedText(*Native(), input, false),
      PausesText(input),
      PacketsText(input),
  };
  const auto block_by_block = pt::MakeNativeDecoder(pt::Delivery::kOneByOne);
  all.push_back(Text(DecodeAll(*block_by_block, input)));
  all.push_back(TimedText(*block_by_block, input, true));
  DecodeInput parallel = input;
  parallel.threads = 3;
  parallel.segment_bytes = 5000;
  all.push_back(Text(SummarizeAll(*Native(), parallel)));
  return all;
}

TEST(Windows, WholeStreamsAreTheSame) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    const Subject subject(GenerateStream(Options(seed)));
    const DecodeInput whole = subject.Input(seed % 2 == 0 ? Resync::kSyncPoint : Resync::kEarliest);
    ASSERT_GT(whole.bytes.size(), 3 * kPage);
    const Pieces pieces(whole.bytes, 0, seed % 3 == 0 ? 5 : 3000, seed % 2);
    EXPECT_EQ(Readings(pieces.In(whole)), Readings(whole)) << seed;
    EXPECT_EQ(pieces.joined()->present(), seed % 2);
  }
}

TEST(Windows, LittleIsThere) {
  GeneratorOptions options = Options(1);
  options.instructions = 4'000'000;
  const Subject subject(GenerateStream(options));
  DecodeInput whole = subject.Input();
  ASSERT_GT(whole.bytes.size(), 60 * kPage);
  // Two at a border, those of the step before, and where a PSB+ has long padding, all of that.
  constexpr size_t kOfOne = 6;
  const auto most = [&](const auto& read) {
    const Pieces pieces(whole.bytes, 0, 3000, 0);
    read(pieces.In(whole));
    return pieces.joined()->most_present();
  };
  EXPECT_LE(most([](const DecodeInput& input) { SummarizeAll(*Native(), input); }), kOfOne);
  EXPECT_LE(most([](const DecodeInput& input) { DecodeAll(*Native(), input); }), kOfOne);
  EXPECT_LE(most([](const DecodeInput& input) { TimedText(*Native(), input, true); }), kOfOne);
  EXPECT_LE(most([](const DecodeInput& input) { PausesText(input); }), kOfOne);
  EXPECT_LE(most([](const DecodeInput& input) { PacketsText(input); }), kOfOne);
  whole.threads = 3;
  whole.segment_bytes = 2 * kPage;
  EXPECT_LE(most([](const DecodeInput& input) { SummarizeAll(*Native(), input); }), 4 * kOfOne);
}

TEST(Windows, TheReferenceEngineSeesAllAtOnce) {
  const std::unique_ptr<Decoder> reference = Reference();
  if (reference == nullptr) GTEST_SKIP() << "built without libipt";
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    const Subject subject(GenerateStream(Options(seed)));
    const DecodeInput whole = subject.Input(Resync::kSyncPoint);
    const Pieces pieces(whole.bytes, 0, 300, 0);
    EXPECT_EQ(Text(DecodeAll(*reference, pieces.In(whole))), Text(DecodeAll(*reference, whole)));
    EXPECT_EQ(pieces.joined()->present(), 0u);
  }
}

TEST(Windows, BordersAtEveryPlace) {
  const Subject subject(GenerateStream(Options(5)));
  const std::vector<std::string> expected = Readings(subject.Input());
  for (size_t skew = 0; skew < 130; skew += 3) {
    const Pieces pieces(subject.stream().bytes, skew, 700, 0);
    ASSERT_EQ(Readings(pieces.In(subject.Input())), expected) << "with a skew of " << skew;
  }
}

void Insert(std::vector<uint8_t>& bytes, size_t at, size_t count, uint8_t even, uint8_t odd) {
  std::vector<uint8_t> run(count);
  for (size_t i = 0; i < count; ++i) run[i] = i % 2 == 0 ? even : odd;
  bytes.insert(bytes.begin() + static_cast<ptrdiff_t>(at), run.begin(), run.end());
}

// Runs that are longer than a window: padding, where the engine looks for the next packet about the
// flow; no packets at all; and a PSB that does not end. In front, too, and gaps.
DecodeInput Damage(const DecodeInput& whole, std::vector<uint8_t>& bytes, std::mt19937_64& random) {
  bytes.assign(whole.bytes.begin(), whole.bytes.end());
  for (int i = 0; i < 6; ++i) {
    const size_t at = i == 0 ? 0 : random() % bytes.size();
    switch (random() % 4) {
      case 0:
        Insert(bytes, at, 3 * kPage, 0, 0);
        break;
      case 1:
        Insert(bytes, at, 2 * kPage + 7, 0xff, 0xff);
        break;
      case 2:
        Insert(bytes, at, 2 * kPage + 2, 0x02, 0x82);
        break;
      default:
        Insert(bytes, at, 2 * kPage, 0x03, 0x13);  // CYC
        break;
    }
  }
  DecodeInput damaged = whole;
  damaged.bytes = bytes;
  for (int i = 0; i < 3; ++i) damaged.gaps.push_back({random() % bytes.size(), "cut"});
  std::ranges::sort(damaged.gaps, {}, &StreamGap::offset);
  return damaged;
}

TEST(Windows, DamagedStreamsAreTheSame) {
  std::mt19937_64 random(3);
  size_t losses = 0;
  for (uint64_t seed = 1; seed <= 16; ++seed) {
    const Subject subject(GenerateStream(Options(seed)));
    std::vector<uint8_t> bytes;
    const DecodeInput damaged = Damage(
        subject.Input(seed % 2 == 0 ? Resync::kSyncPoint : Resync::kEarliest), bytes, random);
    const Pieces pieces(bytes, random() % kPage, 900, random() % 2);
    ASSERT_EQ(Readings(pieces.In(damaged)), Readings(damaged)) << seed;
    losses += SummarizeAll(*Native(), damaged).losses.size();
  }
  EXPECT_GT(losses, 30u);
}

TEST(Windows, PsbsAreFoundAtEveryPlace) {
  std::mt19937_64 random(4);
  for (size_t i = 0; i < 100; ++i) {
    std::vector<uint8_t> bytes(4 * kPage + random() % 100, i % 2 == 0 ? 0x02 : 0x55);
    const size_t border = (1 + random() % 3) * kPage;
    Insert(bytes, border - random() % 40, 16 + random() % 40 + (i % 5 == 0 ? 2 * kPage : 0), 0x02,
           0x82);
    const Pieces pieces(bytes, 0, 50, 0);
    StreamWindow window(pieces.bytes(), pieces.joined());
    const StreamWindow unheld(pieces.bytes(), pieces.joined());
    for (size_t from = 0; from <= bytes.size(); from += 1 + random() % 300) {
      const size_t end = from + random() % (bytes.size() - from + 1);
      ASSERT_EQ(pt::FindPsb(window, end, from), pt::FindPsb(Bytes(bytes).first(end), from));
      ASSERT_EQ(pt::FindPsbUnheld(unheld, from), pt::FindPsb(bytes, from));
    }
  }
}

}  // namespace
}  // namespace flowback::testing
