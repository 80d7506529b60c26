// SPDX-License-Identifier: MIT
// Recordings of several threads whose scheduling records are lost or contradict each other: what
// they leave open is nobody's, and nothing is given to a thread that did not make it.
//
// The truth is the recording with all its records, of which perf_data_test.cc shows that each
// thread gets its known digest.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>

#include "flowback/capture/open.h"
#include "flowback/decode/recording_code.h"
#include "flowback/decode/stream_input.h"
#include "tests/golden/shared_traces.h"

namespace flowback::golden {
namespace {

// Thread `tid` from stream offset `begin` on.
struct Share {
  uint64_t begin = 0;
  int32_t tid = -1;
};
using Shares = std::vector<std::vector<Share>>;  // by stream, by offset

class LostSwitches : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    FLOWBACK_NEEDS_TRACES();
    OpenOptions options;
    options.input = TracesFolder() / "generated" / GetParam() / "perf.data";
    auto recording = OpenRecording(options);
    ASSERT_TRUE(recording);
    recording_ = std::move(*recording);
    for (size_t i = 0; i < recording_.sideband.size(); ++i)
      if (std::holds_alternative<SwitchRecord>(recording_.sideband[i])) switches_.push_back(i);
    ASSERT_EQ(switches_.size(), 14u);
    code_.emplace(*RecordingCode::Load(recording_, {}));
    truth_ = SharesOf(recording_.sideband);
  }

  Shares SharesOf(std::vector<SidebandRecord> sideband) {
    std::swap(recording_.sideband, sideband);
    const StreamInputs inputs(recording_, *code_, Resync::kSyncPoint);
    std::swap(recording_.sideband, sideband);
    Shares shares;
    for (const Stream& stream : recording_.streams) {
      shares.emplace_back();
      for (const StayChange& change : inputs.For(stream).changes)
        shares.back().push_back({change.offset, change.stay->tid});
    }
    return shares;
  }

  static int32_t OwnerAt(const std::vector<Share>& shares, uint64_t offset) {
    const auto next = std::ranges::upper_bound(shares, offset, {}, &Share::begin);
    return std::prev(next)->tid;
  }

  // How many bytes have an owner.
  uint64_t Owned(const Shares& shares) const {
    uint64_t owned = 0;
    for (size_t stream = 0; stream < shares.size(); ++stream)
      for (size_t i = 0; i < shares[stream].size(); ++i) {
        const bool last = i + 1 == shares[stream].size();
        const uint64_t end =
            last ? recording_.streams[stream].bytes.size() : shares[stream][i + 1].begin;
        if (shares[stream][i].tid >= 0) owned += end - shares[stream][i].begin;
      }
    return owned;
  }

  void ExpectNothingWrong(const Shares& shares) const {
    ASSERT_EQ(shares.size(), truth_.size());
    for (size_t stream = 0; stream < shares.size(); ++stream) {
      ASSERT_EQ(shares[stream].front().begin, 0u);
      std::vector<uint64_t> places;
      for (const Share& share : shares[stream]) places.push_back(share.begin);
      for (const Share& share : truth_[stream]) places.push_back(share.begin);
      for (const uint64_t place : places) {
        const int32_t owner = OwnerAt(shares[stream], place);
        EXPECT_TRUE(owner == -1 || owner == OwnerAt(truth_[stream], place))
            << "offset " << place << " of stream " << stream << " is given to " << owner
            << ", not to " << OwnerAt(truth_[stream], place);
      }
    }
  }

  // The switch records with these numbers left out.
  std::vector<SidebandRecord> Without(const std::vector<size_t>& numbers) const {
    std::vector<SidebandRecord> rest;
    for (size_t i = 0; i < recording_.sideband.size(); ++i) {
      const auto gone = [&](size_t number) { return switches_[number] == i; };
      if (std::ranges::none_of(numbers, gone)) rest.push_back(recording_.sideband[i]);
    }
    return rest;
  }

  Recording recording_;
  std::optional<RecordingCode> code_;
  std::vector<size_t> switches_;  // their places in the sideband
  Shares truth_;
};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(LostSwitches);

TEST_P(LostSwitches, One) {
  for (size_t i = 0; i < switches_.size(); ++i) {
    SCOPED_TRACE(i);
    ExpectNothingWrong(SharesOf(Without({i})));
  }
}

TEST_P(LostSwitches, Two) {
  for (size_t i = 0; i < switches_.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      SCOPED_TRACE(std::to_string(j) + " and " + std::to_string(i));
      ExpectNothingWrong(SharesOf(Without({j, i})));
    }
}

// A buffer that was full loses many in a row.
TEST_P(LostSwitches, ManyInARow) {
  for (size_t begin = 0; begin < switches_.size(); ++begin)
    for (size_t end = begin + 3; end <= switches_.size(); ++end) {
      SCOPED_TRACE(std::to_string(begin) + " to " + std::to_string(end - 1));
      std::vector<size_t> numbers;
      for (size_t i = begin; i < end; ++i) numbers.push_back(i);
      ExpectNothingWrong(SharesOf(Without(numbers)));
    }
}

TEST_P(LostSwitches, SaidTwiceIsTheSame) {
  for (const size_t place : switches_) {
    std::vector<SidebandRecord> sideband = recording_.sideband;
    sideband.insert(sideband.begin() + static_cast<ptrdiff_t>(place), sideband[place]);
    const Shares shares = SharesOf(sideband);
    ExpectNothingWrong(shares);
    EXPECT_EQ(Owned(shares), Owned(truth_));
  }
}

// A record that says "in" for "out", or names another CPU or thread, does what a lost one does.
TEST_P(LostSwitches, OneLies) {
  using Lie = void (*)(SwitchRecord&);
  const Lie lies[] = {[](SwitchRecord& record) { record.out = !record.out; },
                      [](SwitchRecord& record) { record.cpu = 1 - record.cpu; },
                      [](SwitchRecord& record) { record.cpu = 9; },
                      [](SwitchRecord& record) { record.tid = 77; },
                      [](SwitchRecord& record) { record.tid = -1; }};
  for (const size_t place : switches_)
    for (size_t lie = 0; lie < std::size(lies); ++lie) {
      SCOPED_TRACE("lie " + std::to_string(lie) + " of record " + std::to_string(place));
      std::vector<SidebandRecord> sideband = recording_.sideband;
      lies[lie](std::get<SwitchRecord>(sideband[place]));
      ExpectNothingWrong(SharesOf(sideband));
    }
}

INSTANTIATE_TEST_SUITE_P(Recordings, LostSwitches,
                         ::testing::Values("spin-cyc", "spin-switchwide-power"),
                         [](const auto& test) { return TestName(test.param); });

}  // namespace
}  // namespace flowback::golden
