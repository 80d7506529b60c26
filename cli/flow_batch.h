// SPDX-License-Identifier: MIT
// A part of a listing's flow, kept to be printed on another thread.
#pragma once

#include <cstdint>
#include <vector>

#include "cli/flow_printer.h"

namespace flowback::cli {

// Copies of everything that is valid during the call only. What it points to otherwise (address
// spaces, stays, owners) must outlive it.
class FlowBatch {
 public:
  // Forgets everything; what follows is this owner's, from that stream. Null: begins with nobody.
  void Restart(const StreamOwner* owner, const Stream* stream);

  void Begin(const StreamOwner& owner);
  void BeginPiece(const Stream& stream);
  void End() { items_.push_back(Item::kEnd); }
  void Add(const BlockRun& run);
  void Add(const TraceEvent& event);
  void Add(const DataLoss& loss);

  // How many lines it may become, about.
  size_t weight() const { return items_.size() + lengths_.size(); }
  bool empty() const { return items_.empty(); }
  // Prints it all.
  void Replay(FlowPrinter& printer) const;

 private:
  enum class Item : uint8_t { kBegin, kPiece, kEnd, kBlock, kEvent, kLoss };

  const StreamOwner* first_owner_ = nullptr;
  const Stream* first_stream_ = nullptr;
  // What happened in order, and the details of each kind.
  std::vector<Item> items_;
  std::vector<const StreamOwner*> owners_;
  std::vector<const Stream*> streams_;
  std::vector<BlockRun> blocks_;  // their lengths follow each other in lengths_
  std::vector<uint8_t> lengths_;
  std::vector<TraceEvent> events_;
  std::vector<DataLoss> losses_;
};

}  // namespace flowback::cli
