// SPDX-License-Identifier: MIT
#include "cli/listing/listing_part.h"

namespace flowback::cli {

void ListingPart::Restart(const StreamOwner* owner, const Stream* stream) {
  first_owner_ = owner;
  first_stream_ = stream;
  turns_.clear();
  flow_.Clear();
}

void ListingPart::Turn::Tell(FlowPrinter& printer) const {
  if (owner != nullptr)
    printer.Begin(*owner);
  else if (stream != nullptr)
    printer.BeginPiece(*stream);
  else
    printer.End();
}

void ListingPart::Print(FlowPrinter& printer) const {
  if (first_owner_ != nullptr) printer.Resume(*first_owner_, *first_stream_);
  size_t item = 0;
  for (const Turn& turn : turns_) {
    flow_.Play(item, turn.item, printer);
    turn.Tell(printer);
    item = turn.item;
  }
  flow_.Play(item, flow_.size(), printer);
}

}  // namespace flowback::cli
