// SPDX-License-Identifier: MIT
// A thousand damaged streams: flipped bits, changed, deleted and doubled bytes, cuts, overflows
// that were none; and streams decoded against wrong code.
//
// Each damaged stream is decoded whole and from PSB to PSB, with Resync::kSyncPoint. The engines
// need not agree: comparison.h has the rules by which they may part, the output counts each one,
// and of the whole streams three in four have to be equal. A contradiction that no rule explains
// fails. Resync::kEarliest must tell no less than Resync::kSyncPoint, and the laws hold for all of
// them.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include "decode/pt/packets/packet.h"
#include "decode/pt/packets/psb.h"
#include "tests/differential/comparison.h"
#include "tests/differential/harness.h"
#include "tests/judge/byte_damage.h"
#include "tests/judge/true_flow.h"
#include "tests/support/byte_account.h"
#include "tests/support/exact_flow.h"
#include "tests/support/exact_ranges.h"
#include "tests/support/random.h"

namespace flowback::testing {
namespace {

constexpr uint64_t kShards = 20;
constexpr uint64_t kSeedsPerShard = 50;
constexpr uint64_t kFirstSeed = 100'000;
constexpr unsigned kMostUnproven = 3;

std::string Damage(std::vector<uint8_t>& bytes, Random& random) {
  const size_t at = random.Below(bytes.size());
  const auto place = bytes.begin() + static_cast<ptrdiff_t>(at);
  const size_t size = std::min<size_t>(1 + random.Below(8), bytes.size() - at);
  const std::string where = " at " + std::to_string(at) + "; ";
  switch (random.Below(6)) {
    case 0:
      *place ^= static_cast<uint8_t>(1 << random.Below(8));
      return "bit flipped" + where;
    case 1:
      *place = static_cast<uint8_t>(random.Next());
      return "byte changed" + where;
    case 2:
      bytes.erase(place, place + static_cast<ptrdiff_t>(size));
      return std::to_string(size) + " bytes deleted" + where;
    case 3: {
      const std::vector<uint8_t> copy(place, place + static_cast<ptrdiff_t>(size));
      bytes.insert(place, copy.begin(), copy.end());
      return std::to_string(size) + " bytes doubled" + where;
    }
    case 4: {
      // Ahead of a FUP that is another packet's hardware writes none: it would be the OVF's own.
      constexpr std::array<uint8_t, 2> kOverflow = {0x02, 0xf3};
      const size_t fits = judge::PlaceForOverflow(judge::PacketsOf(bytes), at, bytes.size());
      bytes.insert(bytes.begin() + static_cast<ptrdiff_t>(fits), kOverflow.begin(),
                   kOverflow.end());
      return "OVF inserted at " + std::to_string(fits) + "; ";
    }
    default:
      bytes.resize(at);
      return "cut" + where;
  }
}

GeneratorOptions Options(uint64_t seed) {
  GeneratorOptions options = MixedOptions(seed);
  options.event_trace = options.pebs = false;  // libipt does not know their packets
  options.overflow_into_psb = false;           // nor what this means
  return options;
}

// The undamaged stream's flow, which equals the generator's.
std::vector<uint64_t> Executed(const GeneratedStream& stream) {
  const Subject subject(stream);
  std::vector<uint64_t> executed;
  FlowDigest digest;
  for (const Story::Step& step : StoryOf(*Native(), subject.Input()).steps) {
    executed.push_back(step.ip);
    digest.Append(step.ip);
  }
  EXPECT_EQ(DigestText(digest), DigestText(subject.truth().digest));
  return executed;
}

// `truth`: where to leave what executed; null: nowhere.
GeneratedStream Damaged(uint64_t seed, std::string& what, std::vector<uint64_t>* truth = nullptr) {
  GeneratedStream stream = GenerateStream(Options(seed));
  if (truth != nullptr) *truth = Executed(stream);
  // libipt has no setting for never compressed returns.
  stream.config.return_compression.reset();
  Random random(seed * 77);
  for (uint64_t times = random.Chance(200) ? 3 : 1; times > 0 && stream.bytes.size() > 32; --times)
    what += Damage(stream.bytes, random);
  return stream;
}

// Offset behind the PSB+ at `psb`, or of its first packet that does not belong there.
size_t EndOfHeader(Bytes bytes, size_t psb) {
  pt::PebsState pebs;
  pt::Packet packet;
  while (psb < bytes.size()) {
    const auto size = pt::ReadPacket(bytes.subspan(psb), pebs, packet);
    if (!size) return psb;
    psb += *size;
    if (std::holds_alternative<pt::PsbEnd>(packet)) return psb;
  }
  return bytes.size();
}

// From each PSB to behind the next PSB+, whose FUP proves the instructions before it.
std::vector<Bytes> Pieces(Bytes bytes) {
  std::vector<Bytes> pieces;
  for (size_t begin = pt::FindPsb(bytes, 0); begin < bytes.size();) {
    const size_t next = pt::FindPsb(bytes, begin + pt::Psb::kPattern.size());
    pieces.push_back(Slice(bytes, begin, EndOfHeader(bytes, next) - begin));
    begin = next;
  }
  return pieces;
}

void ExpectLaws(const Subject& subject, Decoder& native) {
  uint64_t counts[2] = {};
  deliveries::DeliveryComparison comparison;
  deliveries::RangeComparison ranges;
  for (const Resync resync : {Resync::kSyncPoint, Resync::kEarliest}) {
    const Seen seen = DecodeAll(native, subject.Input(resync));
    const FlowSummary sum = SummarizeAll(native, subject.Input(resync));
    ExpectSameInParallel(native, subject.Input(resync), sum);
    ExpectSameWithEvents(native, subject.Input(resync), sum);
    accounts::ExpectAccount(subject.Input(resync), seen.sum.losses, seen.account);
    EXPECT_EQ(CountsText(sum), CountsText(seen.sum));
    EXPECT_EQ(LossesText(sum.losses), LossesText(seen.sum.losses));
    comparison.ExpectSame(subject.Input(resync));
    ranges.ExpectSame(subject.Input(resync));
    ExpectSameTimes(sum, seen.sum);
    size_t disorder = 0;
    const Seen timed = DecodeWithTimes(native, subject.Input(resync), disorder);
    EXPECT_EQ(disorder, 0u) << "times";
    EXPECT_EQ(CountsText(timed.sum), CountsText(seen.sum)) << "with times";
    EXPECT_EQ(LossesText(timed.sum.losses), LossesText(seen.sum.losses)) << "with times";
    EXPECT_EQ(timed.account.decoded, seen.account.decoded) << "with times";
    counts[resync == Resync::kEarliest] = seen.sum.digest.count;
  }
  EXPECT_GE(counts[1], counts[0]) << "resuming earlier told less";
}

using Verdicts = std::array<unsigned, kVerdictNames.size()>;

void Print(const char* of, const Verdicts& verdicts) {
  std::printf("%s:", of);
  for (size_t i = 0; i < verdicts.size(); ++i)
    if (verdicts[i] != 0) std::printf(" %s %u", kVerdictNames[i], verdicts[i]);
  std::printf("\n");
}

bool Explained(Verdict verdict) { return verdict != Verdict::kContradiction; }

std::string Words(Verdict verdict) {
  return std::string(kVerdictNames[static_cast<size_t>(verdict)]) + ": ";
}

// Adds the verdicts on all pieces; true when all are equal.
bool ComparePieces(const Subject& subject, const std::vector<uint64_t>& truth, Decoder& native,
                   Decoder& reference, Verdicts& verdicts) {
  bool all_equal = true;
  for (Bytes piece : Pieces(subject.stream().bytes)) {
    const DecodeInput input = subject.Input(piece, Resync::kSyncPoint);
    const Story ours = StoryOf(native, input);
    const Story theirs = StoryOf(reference, input);
    const Verdict verdict = Judge(subject, piece, truth, ours, theirs);
    EXPECT_TRUE(Explained(verdict)) << Words(verdict) << PartingText(ours, theirs);
    ++verdicts[static_cast<size_t>(verdict)];
    all_equal &= verdict == Verdict::kEqual;
  }
  return all_equal;
}

class DamagedStreams : public ::testing::TestWithParam<uint64_t> {};

TEST_P(DamagedStreams, NativeEqualsReference) {
  const std::unique_ptr<Decoder> native = Native();
  const std::unique_ptr<Decoder> reference = Reference();
  Verdicts pieces{};
  Verdicts wholes{};
  unsigned same = 0;
  const Seeds seeds = SeedsOf(GetParam(), kFirstSeed, kSeedsPerShard);
  for (uint64_t i = 0; i < seeds.count; ++i) {
    std::string what;
    std::vector<uint64_t> truth;
    const Subject subject(Damaged(seeds.first + i, what, &truth));
    SCOPED_TRACE(what + Describe(subject.stream().options));
    ExpectLaws(subject, *native);
    if (reference == nullptr) continue;
    const Story ours = StoryOf(*native, subject.Input(Resync::kSyncPoint));
    const Story theirs = StoryOf(*reference, subject.Input(Resync::kSyncPoint));
    const Verdict whole = Judge(subject, subject.stream().bytes, truth, ours, theirs);
    same += whole == Verdict::kEqual;
    ++wholes[static_cast<size_t>(whole)];
    EXPECT_TRUE(Explained(whole)) << Words(whole) << PartingText(ours, theirs);
    // Where its pieces agree, only libipt carries anything wrong past a PSB.
    if (ComparePieces(subject, truth, *native, *reference, pieces)) {
      EXPECT_NE(whole, Verdict::kReferenceSooner) << PartingText(ours, theirs);
    }
  }
  if (reference == nullptr) return;
  Print("pieces", pieces);
  Print("whole streams", wholes);
  std::printf("whole streams: equal %u of %u\n", same, static_cast<unsigned>(seeds.count));
  const auto unproven = static_cast<size_t>(Verdict::kUnproven);
  // Nearly all damage is noticed at the same place; no rule may become the way out for most.
  if (seeds.usual) {
    EXPECT_GE(same, kSeedsPerShard * 3 / 4);
    EXPECT_LE(pieces[unproven], kMostUnproven);
    EXPECT_LE(wholes[unproven], kMostUnproven);
  }
}

INSTANTIATE_TEST_SUITE_P(Shard, DamagedStreams, ::testing::Range(uint64_t{0}, kShards));

// Found by tests/soak. The 64 calls that are kept are all there when a memoised path makes two
// more, returns from them, and from an older one: the oldest two have gone by then.
TEST(DamagedStream, CallsFallOutBeforeOlderOnesReturn) {
  std::string what;
  const Subject subject(Damaged(5'000'907, what));
  SCOPED_TRACE(what + Describe(subject.stream().options));
  ExpectLaws(subject, *Native());
}

// Code that is not the one that ran, in a few bytes: as another build of it is.
GeneratedStream AgainstWrongCode(uint64_t seed, std::string& what) {
  GeneratorOptions options = MixedOptions(seed);
  // A loss that only the code causes can end inside a PEBS block, of which the account does not
  // know.
  options.pebs = false;
  GeneratedStream stream = GenerateStream(options);
  Random random(seed * 78);
  for (uint64_t bytes = 1 + random.Below(12); bytes > 0; --bytes) {
    std::vector<uint8_t>& code = stream.sections[random.Below(stream.sections.size())].bytes;
    const size_t at = random.Below(code.size());
    code[at] = static_cast<uint8_t>(random.Next());
    what += "code changed at " + std::to_string(at) + "; ";
  }
  if (random.Chance(300)) what += Damage(stream.bytes, random);
  return stream;
}

class WrongCode : public ::testing::TestWithParam<uint64_t> {};

// Which packet shows that the code is wrong differs between the engines, and so does what they make
// of bytes that are no code; but our fast ways and our slow one must agree.
TEST_P(WrongCode, EveryWayTellsTheSame) {
  const std::unique_ptr<Decoder> native = Native();
  const Seeds seeds = SeedsOf(GetParam(), kFirstSeed, kSeedsPerShard / 2);
  uint64_t lost = 0;
  for (uint64_t i = 0; i < seeds.count; ++i) {
    std::string what;
    const Subject subject(AgainstWrongCode(seeds.first + i, what));
    SCOPED_TRACE(what + Describe(subject.stream().options));
    ExpectLaws(subject, *native);
    lost += !SummarizeAll(*native, subject.Input()).losses.empty();
  }
  if (seeds.usual) {
    EXPECT_GE(lost, kSeedsPerShard / 10) << "hardly any was noticed";
  }
}

INSTANTIATE_TEST_SUITE_P(Shard, WrongCode, ::testing::Range(uint64_t{0}, kShards));

}  // namespace
}  // namespace flowback::testing
