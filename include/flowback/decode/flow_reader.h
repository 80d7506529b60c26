// SPDX-License-Identifier: MIT
// A stream's flow read a segment at a time, forward from any place that was kept.
//
//   auto reader = decoder.Read(input);
//   FlowSegment segment;
//   SegmentRecorder recorder(segment);
//   while (!(*reader)->at_end()) {
//     kept.push_back((*reader)->Save());
//     (*reader)->ReadTo((*reader)->offset() + size, recorder);   // the next segment
//   }
//
// The segments together give the same flow as decoding the stream in one go, wherever they are cut:
// a state contains everything that the flow before it says about the flow after it. So a segment
// may begin with flow that an earlier packet proved, but whose time was not known yet.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "flowback/base/bytes.h"
#include "flowback/model/block_batch.h"
#include "flowback/model/execution.h"

namespace flowback {

class CallJudge;   // decode/call_change.h
struct OverCalls;  // decode/call_change.h

// Belongs to one thread, which may use other readers of the same decoder in between. The decoder
// and the input must outlive it, and the states.
class FlowReader {
 public:
  // All that is known at a place between two packets.
  class State {
   public:
    virtual ~State() = default;
  };

  virtual ~FlowReader() = default;
  // Delivers the flow up to the first packet that begins after `offset`, or to the stream's end. If
  // the consumer is done before that, nothing more is delivered until Return.
  virtual void ReadTo(uint64_t offset, ExecutionConsumer& consumer) = 0;
  // Works as ReadTo, but delivers events and losses only; TakeUses returns the rest. That is
  // faster. Flow that waited for its time is delivered in full. Returns how many instructions there
  // were; empty: it can't, and has done nothing. REQUIRES: `offset` is before the stream's end, and
  // up to there the same thread runs.
  virtual std::optional<uint64_t> ReadOver(uint64_t, ExecutionConsumer&) { return std::nullopt; }
  // From now on ReadOver also finds out what the flow does to the thread's call stack. The judge is
  // asked until another one, or null, takes its place.
  virtual void FollowCalls(CallJudge*) {}
  // What the last ReadOver did to it. False: it is not known.
  virtual bool TakeCalls(OverCalls&) { return false; }
  // Which blocks were executed in all that has been read over since the last time, about how many
  // instructions in each, and the ways in which they were left (step_way, added up). It takes as
  // long as there are different paths through the code, so it is better asked seldom. A Return to
  // before the first packet forgets them.
  using BlockUses = std::function<void(const BlockTable& table, uint32_t block,
                                       uint64_t instructions, uint8_t ways)>;
  virtual void TakeUses(const BlockUses&) {}
  // True if all flow up to here was delivered. After a ReadOver it is false until something has
  // been read in full: until then, delivered flow is wrong unless a Return goes to an earlier
  // place.
  virtual bool is_whole() const { return true; }
  // Where it stands, in the stream.
  virtual uint64_t offset() const = 0;
  // True if all flow has been delivered.
  virtual bool at_end() const = 0;
  // Blocks and events that have been read, and wait for a later packet with their time.
  virtual size_t waiting() const = 0;
  // Some kilobytes, and what waits.
  virtual std::shared_ptr<const State> Save() = 0;
  // At once; but a decoder that can't copy its state (libipt) reads again, in silence, what lies
  // between the last place where it could begin and this one. REQUIRES: a state of this reader, or
  // of another one of the same decoder and an equal input.
  virtual void Return(const State& state) = 0;

  // Returns the state in a few hundred bytes. Any reader of the same input can restore it, also in
  // another process, as long as the program's sources are the same. Empty: this state or reader
  // does not support it. REQUIRES: a state of this reader.
  virtual std::vector<uint8_t> ToBytes(const State&) const { return {}; }
  // Null: these are not a state's bytes. No bytes do harm when they are read here, but only those
  // that ToBytes gave lead to a state that Return may have.
  virtual std::shared_ptr<const State> FromBytes(Bytes) { return nullptr; }
};

}  // namespace flowback
