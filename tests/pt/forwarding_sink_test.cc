// SPDX-License-Identifier: MIT
// What a sink holds back goes on before anything that has its place behind it, and only then.
#include "decode/pt/sinks/forwarding_sink.h"

#include <gtest/gtest.h>

#include <string>

#include "base/recorded/pt_config.h"

namespace flowback::pt {
namespace {

// Counts how often its flow had to be handed on.
class HoldingSink : public ForwardingSink<HoldingSink, TimeEstimator> {
 public:
  explicit HoldingSink(TimeEstimator& receiver) : ForwardingSink(receiver) {}
  void TellFlow() { ++told; }

  int told = 0;
};

struct Listener : ExecutionConsumer {
  void OnBlock(const BlockRun&) override {}
  void OnEvent(const TraceEvent&) override { heard += 'e'; }
  void OnLoss(const DataLoss&) override { heard += 'l'; }
  bool Done() const override { return !wanted; }

  std::string heard;
  bool wanted = true;
};

class Telling : public testing::Test {
 protected:
  void Mark(TimeMark::Kind kind, uint64_t tsc) {
    sink_.Mark({.kind = kind, .tsc = tsc, .lo = tsc, .hi = tsc}, true);
  }
  // How often the flow had to be handed on meanwhile.
  template <class Do>
  int TimesToldBy(const Do& act) {
    const int before = sink_.told;
    act();
    return sink_.told - before;
  }

  Listener listener_;
  TimeEstimator estimator_{listener_, PtConfig()};
  HoldingSink sink_{estimator_};
};

TEST_F(Telling, FlowGoesOnAheadOfWhatComesBehindIt) {
  EXPECT_EQ(TimesToldBy([&] { sink_.Event({}); }), 1);
  EXPECT_EQ(TimesToldBy([&] { sink_.LossBegins(); }), 1);
  EXPECT_EQ(TimesToldBy([&] { sink_.Loss({}); }), 1);
  EXPECT_EQ(TimesToldBy([&] { Mark(TimeMark::Kind::kTsc, 100); }), 1);
  EXPECT_EQ(TimesToldBy([&] { sink_.HoldBack(true); }), 1);
  estimator_.Finish();
  EXPECT_EQ(listener_.heard, "el");
}

TEST_F(Telling, APacketsEndMattersOnceATimeWasTold) {
  for (const auto ending : {PacketEnding::kProven, PacketEnding::kDeferred, PacketEnding::kStatus})
    EXPECT_EQ(TimesToldBy([&] { sink_.PacketEnd(ending); }), 0);
  Mark(TimeMark::Kind::kTsc, 100);
  EXPECT_TRUE(sink_.WantsPacketEnd());
  EXPECT_EQ(TimesToldBy([&] { sink_.PacketEnd(PacketEnding::kStatus); }), 0) << "no CYC";
  EXPECT_EQ(TimesToldBy([&] { sink_.PacketEnd(PacketEnding::kProven); }), 1);
  EXPECT_FALSE(sink_.WantsPacketEnd());
  EXPECT_EQ(TimesToldBy([&] { sink_.PacketEnd(PacketEnding::kProven); }), 0) << "it has settled";
}

TEST_F(Telling, ACycTimesTheStatusPacketBehindIt) {
  Mark(TimeMark::Kind::kTsc, 100);
  sink_.PacketEnd(PacketEnding::kProven);
  Mark(TimeMark::Kind::kCyc, 110);
  EXPECT_TRUE(estimator_.TimesNext());
  EXPECT_EQ(TimesToldBy([&] { sink_.PacketEnd(PacketEnding::kStatus); }), 1);
  EXPECT_FALSE(estimator_.TimesNext()) << "and none behind that";
}

TEST_F(Telling, WhoWantsNoMoreGetsNoMore) {
  sink_.Event({});
  listener_.wanted = false;
  estimator_.Finish();
  Mark(TimeMark::Kind::kTsc, 100);
  ASSERT_TRUE(sink_.Done());
  const std::string heard = listener_.heard;
  sink_.Event({});
  sink_.Loss({});
  estimator_.Finish();
  EXPECT_EQ(listener_.heard, heard);
}

}  // namespace
}  // namespace flowback::pt
