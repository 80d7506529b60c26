// SPDX-License-Identifier: MIT
#include "cli/flow_batch.h"

namespace flowback::cli {

void FlowBatch::Restart(const StreamOwner* owner, const Stream* stream) {
  first_owner_ = owner;
  first_stream_ = stream;
  items_.clear();
  owners_.clear();
  streams_.clear();
  blocks_.clear();
  lengths_.clear();
  events_.clear();
  losses_.clear();
}

void FlowBatch::Begin(const StreamOwner& owner) {
  items_.push_back(Item::kBegin);
  owners_.push_back(&owner);
}

void FlowBatch::BeginPiece(const Stream& stream) {
  items_.push_back(Item::kPiece);
  streams_.push_back(&stream);
}

void FlowBatch::Add(const BlockRun& run) {
  items_.push_back(Item::kBlock);
  blocks_.push_back(run);
  lengths_.insert(lengths_.end(), run.lengths.begin(), run.lengths.end());
}

void FlowBatch::Add(const TraceEvent& event) {
  items_.push_back(Item::kEvent);
  events_.push_back(event);
}

void FlowBatch::Add(const DataLoss& loss) {
  items_.push_back(Item::kLoss);
  losses_.push_back(loss);
}

void FlowBatch::Replay(FlowPrinter& printer) const {
  if (first_owner_ != nullptr) printer.Resume(*first_owner_, *first_stream_);
  auto owner = owners_.begin();
  auto stream = streams_.begin();
  auto block = blocks_.begin();
  auto event = events_.begin();
  auto loss = losses_.begin();
  const uint8_t* lengths = lengths_.data();
  for (const Item item : items_) {
    switch (item) {
      case Item::kBegin:
        printer.Begin(**owner++);
        break;
      case Item::kPiece:
        printer.BeginPiece(**stream++);
        break;
      case Item::kEnd:
        printer.End();
        break;
      case Item::kBlock: {
        BlockRun run = *block++;
        run.lengths = {lengths, run.lengths.size()};
        lengths += run.lengths.size();
        printer.OnBlock(run);
        break;
      }
      case Item::kEvent:
        printer.OnEvent(*event++);
        break;
      case Item::kLoss:
        printer.OnLoss(*loss++);
        break;
    }
  }
}

}  // namespace flowback::cli
