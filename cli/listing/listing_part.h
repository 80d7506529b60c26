// SPDX-License-Identifier: MIT
// A part of a listing, kept to be printed on another thread: flow, and whose it is from where on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cli/listing/flow_printer.h"
#include "flowback/model/flow_segment.h"

namespace flowback::cli {

// What its flow points to (address spaces, stays) must outlive it, and the owners and streams, too.
class ListingPart {
 public:
  // Forgets everything; what follows is this owner's, from that stream. Null: begins with nobody.
  void Restart(const StreamOwner* owner, const Stream* stream);

  void Begin(const StreamOwner& owner) { turns_.push_back({flow_.size(), &owner, nullptr}); }
  void BeginPiece(const Stream& stream) { turns_.push_back({flow_.size(), nullptr, &stream}); }
  void End() { turns_.push_back({flow_.size(), nullptr, nullptr}); }
  void Add(const BlockRun& run) { SegmentRecorder(flow_).OnBlock(run); }
  void Add(const TraceEvent& event) { SegmentRecorder(flow_).OnEvent(event); }
  void Add(const DataLoss& loss) { SegmentRecorder(flow_).OnLoss(loss); }
  void Add(const UnknownFlow& unknown) { SegmentRecorder(flow_).OnUnknown(unknown); }

  // How many lines it may become, about.
  uint64_t weight() const { return turns_.size() + flow_.size() + flow_.instructions(); }
  bool empty() const { return turns_.empty() && flow_.empty(); }
  // Prints it all.
  void Print(FlowPrinter& printer) const;

 private:
  // A notice to the printer before an item of the flow: an owner, or a stream of it, begins; with
  // neither, the owner has ended.
  struct Turn {
    size_t item = 0;
    const StreamOwner* owner = nullptr;
    const Stream* stream = nullptr;

    void Tell(FlowPrinter& printer) const;
  };

  const StreamOwner* first_owner_ = nullptr;
  const Stream* first_stream_ = nullptr;
  std::vector<Turn> turns_;  // by item
  FlowSegment flow_;
};

}  // namespace flowback::cli
