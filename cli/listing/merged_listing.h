// SPDX-License-Identifier: MIT
// `decode --by-time`: the threads' listings as one, in the order of time.
//
// Each owner's lines stay in program order. Lines with a time are sorted by it, by their best
// estimate, the owner listed first going first where two are the same. A line without a time, and
// one whose time goes back, stays right behind its predecessor. Lines of an owner before its first
// time come where the trace that it is decoded from begins.
//
// So the owners' listings are merged line by line, as sorted files are. A piece of an owner's flow
// is opened when the merge has come to the time at which its trace begins, and is then decoded and
// printed a few chunks ahead. On a CPU one thread runs at a time, so about as many pieces are open
// as there are CPUs. When there are more, as in a recording of thousands of threads with a buffer
// each, the piece that is needed last rests: its printed text is kept, and the state to decode on
// from a place a little before.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "cli/listing/flow_printer.h"
#include "cli/text/output.h"
#include "flowback/replay/threads.h"

namespace flowback::cli {

struct MergePlan {
  PrinterMaker make_printer = nullptr;
  FlowSource flow;
  // A line may have a time before the piece in which it is printed: a break between two pieces, a
  // call whose duration was waited for. Then a thread's next piece is opened as soon as the one
  // before has ended.
  bool looks_back = false;
  unsigned threads = 1;  // that work at a time; the text does not depend on it, nor on `open`
  size_t open = 0;       // pieces open at a time; 0: as is useful
};

// Errors: as decoding; what came before has been written.
Status ListByTime(const MergePlan& plan, const std::vector<StreamOwner>& owners,
                  const PrintSettings& settings, Output& output);

}  // namespace flowback::cli
