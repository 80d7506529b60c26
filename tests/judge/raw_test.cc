// SPDX-License-Identifier: MIT
// Every shared recording, raw: with each image taken away, with sections cut out of its code, and
// with its bytes damaged.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

#include "decode/pt/native_decoder.h"
#include "tests/golden/shared_traces.h"
#include "tests/judge/byte_damage.h"
#include "tests/judge/chosen.h"
#include "tests/judge/judge.h"
#include "tests/judge/raw_recordings.h"
#include "tests/support/full.h"

namespace flowback::judge {
namespace {

const char* NameOf(Resync resync) { return resync == Resync::kSyncPoint ? "psb" : "earliest"; }

class RawRecording : public ::testing::TestWithParam<RawName> {
 protected:
  void SetUp() override {
    FLOWBACK_NEEDS_TRACES();
    decoder_ = pt::MakeNativeDecoder();
    streams_ = LoadRaw(GetParam());
    ASSERT_FALSE(streams_.empty());
    for (const RawStream& stream : streams_) {
      truths_.push_back(TrueFlowOf(*decoder_, stream.Input(stream.Resyncs().back())));
      truths_.back().known = stream.known;
      // The list is the one that executed.
      ASSERT_EQ(truths_.back().digest.count, stream.digest.count) << stream.name;
      ASSERT_EQ(truths_.back().digest.hash, stream.digest.hash) << stream.name;
    }
  }

  void TearDown() override {
    std::printf("%s\n", findings_.Text().c_str());
    EXPECT_TRUE(findings_.AllTrue());
    EXPECT_TRUE(findings_.FewExcused());
  }

  std::unique_ptr<Decoder> decoder_;
  std::vector<RawStream> streams_;
  std::vector<TrueFlow> truths_;
  Findings findings_;
};

TEST_P(RawRecording, WithoutAnImage) {
  for (size_t i = 0; i < streams_.size(); ++i)
    for (const std::string& image : ImagesOf(streams_[i].code)) {
      const AddressSpaceHistory code = WithoutImage(streams_[i].code, image);
      for (const Resync resync : streams_[i].Resyncs()) {
        DecodeInput input = streams_[i].Input(resync);
        input.code = &code;
        findings_.Add(JudgeInput(*decoder_, truths_[i], input, nullptr,
                                 streams_[i].name + " without " + image + ", " + NameOf(resync)));
      }
    }
}

TEST_P(RawRecording, WithoutASection) {
  const unsigned cuts = testing::IsFullRun() ? 6 : 3;
  for (size_t i = 0; i < streams_.size(); ++i) {
    testing::Random random(streams_[i].bytes.size());
    for (unsigned cut = 0; cut < cuts; ++cut) {
      const uint64_t address = truths_[i].ips[random.Below(truths_[i].ips.size())];
      const uint64_t size = uint64_t{1} << random.Between(0, 13);
      const AddressSpaceHistory code = WithoutRange(streams_[i].code, address, size);
      char range[80];
      std::snprintf(range, sizeof(range), " without %#llx bytes at %#llx, ",
                    static_cast<unsigned long long>(size),
                    static_cast<unsigned long long>(address));
      for (const Resync resync : streams_[i].Resyncs()) {
        DecodeInput input = streams_[i].Input(resync);
        input.code = &code;
        findings_.Add(JudgeInput(*decoder_, truths_[i], input, nullptr,
                                 streams_[i].name + range + NameOf(resync)));
      }
    }
  }
}

TEST_P(RawRecording, WithDamagedBytes) {
  const unsigned cuts = testing::IsFullRun() ? 2 : 1;  // of each kind
  for (size_t i = 0; i < streams_.size(); ++i) {
    testing::Random random(streams_[i].bytes.size() * 3 + 1);
    const Chosen chosen(streams_[i].name, streams_[i].bytes.size(), cuts * kByteDamages);
    for (unsigned cut = 0; cut < cuts * kByteDamages; ++cut) {
      const DamagedBytes damaged =
          DamageBytes(truths_[i], streams_[i].bytes, cut % kByteDamages, random);
      if (!chosen.Has(cut)) continue;
      for (const Resync resync : streams_[i].Resyncs()) {
        DecodeInput input = streams_[i].Input(resync);
        input.bytes = damaged.bytes;
        input.gaps = damaged.gaps;
        findings_.Add(JudgeInput(*decoder_, truths_[i], input, &damaged.damage,
                                 streams_[i].name + ", " + damaged.what + ", " + NameOf(resync)));
      }
    }
  }
}

std::string TestNameOf(const ::testing::TestParamInfo<RawName>& info) {
  return golden::TestName(info.param.recording + "_" + std::to_string(info.param.cpu));
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(RawRecording);
INSTANTIATE_TEST_SUITE_P(Shared, RawRecording, ::testing::ValuesIn(RawNames()), TestNameOf);

}  // namespace
}  // namespace flowback::judge
