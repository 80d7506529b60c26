// SPDX-License-Identifier: MIT
// The cursor over streams in which there is little to stand at, or nothing.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "decode/pt/packets/psb.h"
#include "flowback/replay/thread_cursor.h"
#include "tests/differential/harness.h"
#include "tests/support/random.h"
#include "tests/threads/cursor_elements.h"

namespace flowback::testing {
namespace {

using namespace cursor_elements;

struct BadStream {
  std::string name;
  std::vector<uint8_t> (*bytes)(const Subject& subject);
  bool times = true;
  uint32_t overflow_every = 0;  // instructions; 0: as the seed says
};

std::vector<uint8_t> Unchanged(const Subject& subject) {
  return {subject.stream().bytes.begin(), subject.stream().bytes.end()};
}
std::vector<uint8_t> OnePsb(const Subject& subject) {
  std::vector<uint8_t> bytes = Unchanged(subject);
  bytes.resize(16);
  return bytes;
}
// No PSB is left.
std::vector<uint8_t> WithoutPsb(const Subject& subject) {
  std::vector<uint8_t> bytes = Unchanged(subject);
  for (size_t i = 0; i + 1 < bytes.size(); ++i)
    if (bytes[i] == 0x02 && bytes[i + 1] == 0x82) bytes[i] = 0;
  return bytes;
}
std::vector<uint8_t> Noise(const Subject& subject) {
  Random random(subject.stream().options.seed);
  std::vector<uint8_t> bytes(20'000);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random.Below(256));
  return bytes;
}
// A segment of some kilobytes lies in each of these several times over.
std::vector<uint8_t> Padded(const Subject& subject) {
  std::vector<uint8_t> bytes = Unchanged(subject);
  bytes.insert(bytes.begin(), 2'000'000, 0);
  bytes.insert(bytes.end(), 2'000'000, 0);
  return bytes;
}

// Many losses of all kinds.
std::vector<uint8_t> Damaged(const Subject& subject) {
  std::vector<uint8_t> bytes = Unchanged(subject);
  Random random(subject.stream().options.seed);
  for (size_t at = random.Below(300); at < bytes.size(); at += 1 + random.Below(300))
    bytes[at] = static_cast<uint8_t>(random.Below(256));
  return bytes;
}

class BadStreams : public ::testing::TestWithParam<BadStream> {};

TEST_P(BadStreams, AreWhatADecoderTells) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    GeneratorOptions options = MixedOptions(seed);
    options.instructions = 5'000;
    if (GetParam().overflow_every != 0) options.overflow_every = GetParam().overflow_every;
    const Subject subject(GenerateStream(options));
    SCOPED_TRACE(Describe(options));
    const std::vector<uint8_t> bytes = GetParam().bytes(subject);
    DecodeInput input = subject.Input(bytes, Resync::kEarliest);
    input.times = GetParam().times;
    Stream stream;
    stream.bytes = input.bytes;
    const std::vector<ThreadFlow> flows = {
        {.pieces = {{.stream = &stream, .begin = 0, .end = bytes.size()}}}};
    const std::unique_ptr<Decoder> decoder = Native();
    Result<FlowIndex> index =
        FlowIndex::Build({{&stream, &input}}, flows, *decoder,
                         {.times = input.times, .segment_bytes = 1 + 1000 * (seed - 1)});
    ASSERT_TRUE(index) << index.error().message();
    Elements brute;
    ASSERT_TRUE(decoder->Decode(input, brute));
    const std::vector<Element>& truth = brute.Of(nullptr);
    ThreadCursor cursor(*index, index->threads()[0]);
    EXPECT_EQ(Difference(Forward(cursor), truth), "");
    EXPECT_EQ(Difference(Backward(cursor), truth), "");
    cursor.ToTime(~uint64_t{0});
    EXPECT_EQ(cursor.kind(), Kind::kEnd);
    EXPECT_FALSE(cursor.Next());
    cursor.ToInstruction(~uint64_t{0});
    EXPECT_EQ(cursor.kind(), Kind::kEnd);
    cursor.ToBegin();
    EXPECT_FALSE(cursor.Previous());
    EXPECT_FALSE(cursor.NextAt(1));
    if (HasFailure()) return;
  }
}

// Whoever goes over it decodes it twice, but keeps nothing of it.
TEST(LongPadding, CostsAnIndexLittle) {
  GeneratorOptions options = MixedOptions(1);
  options.instructions = 5'000;
  const Subject subject(GenerateStream(options));
  std::vector<uint8_t> bytes = Unchanged(subject);
  bytes.insert(bytes.begin() + static_cast<ptrdiff_t>(pt::FindPsb(bytes, bytes.size() / 2)),
               20'000'000, 0);
  DecodeInput input = subject.Input(bytes, Resync::kEarliest);
  input.times = true;
  Stream stream;
  stream.bytes = input.bytes;
  const std::vector<ThreadFlow> flows = {
      {.pieces = {{.stream = &stream, .begin = 0, .end = bytes.size()}}}};
  const std::unique_ptr<Decoder> decoder = Native();
  Result<FlowIndex> index = FlowIndex::Build({{&stream, &input}}, flows, *decoder, {});
  ASSERT_TRUE(index) << index.error().message();
  EXPECT_LT(index->file_bytes(), bytes.size() / 100);
  Elements brute;
  ASSERT_TRUE(decoder->Decode(input, brute));
  ThreadCursor cursor(*index, index->threads()[0]);
  EXPECT_EQ(Difference(Backward(cursor), brute.Of(nullptr)), "");
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, BadStreams,
    ::testing::Values(BadStream{"Empty", [](const Subject&) { return std::vector<uint8_t>(); }},
                      BadStream{"OnePacket", OnePsb}, BadStream{"NoPsb", WithoutPsb},
                      BadStream{"NoTimes", Unchanged, false}, BadStream{"NoPackets", Noise},
                      BadStream{"Losses", Damaged}, BadStream{"LossesWithoutTimes", Damaged, false},
                      BadStream{"Overflows", Unchanged, true, 100}, BadStream{"Padding", Padded}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace flowback::testing
