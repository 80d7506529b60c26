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
// What the segments tell, one behind the other, is what decoding the stream in one go tells,
// wherever they are cut: a state has all that the flow before it says about the flow behind it. So
// a segment may begin with what an earlier packet proved, whose time no packet had told yet.
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
  // Tells the flow on to the first packet that begins behind `offset`; at the stream's end all of
  // it. Where the consumer is done before, nothing more is told until Return.
  virtual void ReadTo(uint64_t offset, ExecutionConsumer& consumer) = 0;
  // As ReadTo, but of what executes it tells events and losses only, and TakeUses the rest. That is
  // faster. What waited is told in full. Returns how many instructions there were; empty: it can't,
  // and has done nothing. REQUIRES: `offset` is before the stream's end, and up to there nothing
  // changes of who runs.
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
  // What comes is told as if all before had been. Behind a ReadOver it is not until something has
  // been read in full: then what is told is wrong until a Return to a place before.
  virtual bool is_whole() const { return true; }
  // Where it stands, in the stream.
  virtual uint64_t offset() const = 0;
  // All has been told.
  virtual bool at_end() const = 0;
  // Blocks and events that have been read, and wait for a later packet to tell their time.
  virtual size_t waiting() const = 0;
  // Some kilobytes, and what waits.
  virtual std::shared_ptr<const State> Save() = 0;
  // At once; but a decoder that can't copy its state (libipt) reads again, in silence, what lies
  // between the last place where it could begin and this one. REQUIRES: a state of this reader, or
  // of another one of the same decoder and an equal input.
  virtual void Return(const State& state) = 0;

  // The state in a few hundred bytes, of which any reader of the same input makes it again, also in
  // another process, as long as the program's sources are the same. Empty: it can't be told so. A
  // reader need not be able to. REQUIRES: a state of this reader.
  virtual std::vector<uint8_t> ToBytes(const State&) const { return {}; }
  // Null: these are not a state's bytes. No bytes do harm when they are read here, but only those
  // that ToBytes gave lead to a state that Return may have.
  virtual std::shared_ptr<const State> FromBytes(Bytes) { return nullptr; }
};

}  // namespace flowback
