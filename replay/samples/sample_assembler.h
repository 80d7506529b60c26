// SPDX-License-Identifier: MIT
// Event samples that stand in a trace, put together from the flow's events.
//
//   pebs-begin (type 4)  item 0: ip   item 1: counters   item 2: time     basic
//   pebs-begin (type 5)  item 0: data address   item 2: latency           memory
//   pebs-begin (type 1)  item 0: flags   item 1: ip   item 2: ax ...      registers
//   pebs-end   ip                                                         where the flow stands
//
// A sample is all of that, one group behind the other. Lost parts are not made up: a sample with a
// missing part is reported as cut, with the rest.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <utility>

#include "base/recorded/event_sample.h"
#include "flowback/model/execution.h"

namespace flowback {

class SampleAssembler {
 public:
  using Tell = std::function<void(const EventSample& sample)>;

  explicit SampleAssembler(Tell tell) : tell_(std::move(tell)) {}

  // Begins a thread's flow. An unfinished sample of the thread before is reported as cut.
  void BeginThread(int32_t pid, int32_t tid);
  // Each event of the flow, in its order.
  void OnEvent(const TraceEvent& event);
  // Something of the trace is missing here.
  void OnLoss() { Cut(); }
  // No more comes of the thread.
  void EndThread() { Cut(); }

 private:
  static constexpr unsigned kTypes = 32;  // a block's type has five bits, an item's number as well
  static constexpr unsigned kItems = 32;
  struct Block {
    std::array<uint64_t, kItems> values{};
    uint32_t told = 0;

    bool Has(unsigned item) const { return told >> item & 1; }
  };

  void BeginBlock(const TraceEvent& event);
  void AddItem(const TraceEvent& event);
  void Cut();
  void Finish(const TraceEvent& end, bool cut);
  EventSample MakeSample(const TraceEvent& end) const;
  void Forget();

  Tell tell_;
  int32_t pid_ = -1;
  int32_t tid_ = -1;
  std::array<Block, kTypes> blocks_;
  uint32_t begun_ = 0;      // bit of each type that the sample has had
  unsigned type_ = kTypes;  // of the block that is open
  uint32_t unread_ = 0;
  bool open_ = false;
  bool headless_ = false;  // items came ahead of any block
  TraceEvent last_;        // the latest event of the sample
};

}  // namespace flowback
