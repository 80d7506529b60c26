// SPDX-License-Identifier: MIT
// A flow as lines of text, the way behaviour tests state it.
//
//   block   ADDRESS N instructions      executed one after the other
//   branch  FROM -> TO KIND             the last of them went elsewhere: taken, not taken, jump,
//                                       call, indirect jump, indirect call, return, far call, ...
//   leave   FROM [-> TO]                the last of them left what is traced
//   loss    CAUSE [last known ADDRESS]  cause as in loss_causes.def: overflow, no-image ...
//   EVENT   [ADDRESS] [-> TARGET] [value V] [extra V]    names as in events.def; zeros left out
//
// How the decoder cuts straight code into runs does not show: runs that continue one another are
// one block line. With tsc, each line ends with `tsc N`.
#pragma once

#include <string>
#include <vector>

#include "flowback/model/execution.h"
#include "tests/behaviour/behaviour_file.h"

namespace flowback::behaviour {

class Transcript : public ExecutionConsumer {
 public:
  explicit Transcript(bool with_tsc) : with_tsc_(with_tsc) {}

  void OnBlock(const BlockRun& run) override;
  void OnEvent(const TraceEvent& event) override;
  void OnLoss(const DataLoss& loss) override;
  // Call once, at the end.
  std::vector<std::string> Lines();

 private:
  void FlushBlock();
  void Add(std::string line, uint64_t tsc);
  void AddBranch(const BlockRun& run, uint64_t from);

  bool with_tsc_;
  std::vector<std::string> lines_;
  uint64_t block_ = 0;  // the block at hand
  uint64_t block_end_ = 0;
  uint64_t block_tsc_ = 0;
  bool block_in_transaction_ = false;
  size_t block_count_ = 0;
};

// A line of the file in the form that Transcript writes: numbers and labels in hexadecimal.
std::string Canonical(const BehaviourFile& file, const Words& words);

// A transcript line with labels where they help, so that a person can read it.
std::string Symbolic(const BehaviourFile& file, const std::string& line);

}  // namespace flowback::behaviour
