// SPDX-License-Identifier: MIT
// From the flow to the printed listing: on one thread, or decoded on one and printed on several.
#pragma once

#include <memory>
#include <vector>

#include "base/ordered_pipeline.h"
#include "cli/listing/flow_printer.h"
#include "cli/text/output.h"
#include "flowback/replay/player.h"

namespace flowback::cli {

// Receives the owners' flows, one after the other, and writes their listing. Threads are known by
// their numbers among the owners.
class Listing : public PlayConsumer {
 public:
  // Returns when all has been given to the output.
  virtual void Finish() = 0;
};

struct ListingPlan {
  PrinterMaker make_printer = nullptr;
  // kOneByOne where a line depends on lines before it.
  WorkOrder order = WorkOrder::kAny;
  unsigned threads = 1;
  size_t in_flight = 0;  // parts under way at most; 0: as is useful
};

// The text is the same for any number of threads and of parts under way. All but the plan must
// outlive the result.
std::unique_ptr<Listing> MakeListing(const ListingPlan& plan,
                                     const std::vector<StreamOwner>& owners,
                                     const PrintSettings& settings, Output& output);

}  // namespace flowback::cli
