// SPDX-License-Identifier: MIT
// One process's code over time, built from its mapping records in time order.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "flowback/decode/code_image.h"

namespace flowback {

// What `from` has in the range is put into `to`, which has nothing there. An end of 2^64 is none.
void CopyRange(const AddressSpace& from, uint64_t address, uint64_t size, AddressSpace& to);

// Records that replace nothing are added to the epoch under construction even when it began
// earlier: nothing can have run there before. Only replaced code starts a new epoch; but where
// records were lost, what seems to be free need not be, and every record starts one. As decoding
// learns the code of each epoch anew, of many such records the later ones wait for each other.
class ProcessCode {
 public:
  // `given` lies under everything else: it shows where nothing usable is recorded. Changes up to
  // `trace_start` replace without a new epoch, because there is no trace of the time before.
  ProcessCode(std::shared_ptr<const AddressSpace> given, uint64_t trace_start)
      : given_(std::move(given)), trace_start_(trace_start), space_(*given_) {}

  void Map(uint64_t time, const CodeMapping& mapping);
  // The same for a file, whose text memory may come to hold later: text() has it.
  void MapFile(uint64_t time, const CodeMapping& mapping);
  // A file's data lies there now, so that memory there holds no text of the file before.
  void ForgetText(uint64_t address, uint64_t size) { text_.Unmap(address, size); }
  // The text that files had at each address last, also where memory has replaced it since.
  const AddressSpace& text() const { return text_; }
  // Something that has no code for us now lies there; `reason` (may be null) says why, as for
  // AddressSpace::Explain.
  void Hide(uint64_t time, uint64_t address, uint64_t size,
            std::shared_ptr<const CodeSection> reason = nullptr);
  // Changes a mapping of the last records by other facts, from the same time on.
  void Amend(const CodeMapping& mapping);
  // A new program: nothing of the old one is left.
  void Exec(uint64_t time);
  // A fork's child starts with its parent's code; what this object knew belonged to an older
  // process of the same number.
  void Fork(uint64_t time, const ProcessCode& parent);

  // Records were lost, mappings of this program among them perhaps.
  void LoseRecords() { lost_ = true; }

  // Returns the current mappings.
  const AddressSpace& now() const { return space_; }
  // REQUIRES: nothing is called after it.
  std::shared_ptr<const AddressSpaceHistory> Finish();

 private:
  bool StartsEpoch(const CodeMapping& mapping);
  void StartEpoch(uint64_t time);
  void CloseEpoch();
  void MapWaiting();

  std::shared_ptr<const AddressSpace> given_;
  uint64_t trace_start_;
  AddressSpace space_;                // of the epoch under construction
  AddressSpace recorded_;             // the same without given code
  AddressSpace text_;                 // of files alone
  uint64_t epoch_time_ = 0;           // when that epoch began
  bool began_lost_ = false;           // records had been lost then
  bool program_ = false;              // it begins with a new program
  bool lost_ = false;                 // since the program began
  size_t lost_epochs_ = 0;            // that mappings started because of that
  size_t lost_mappings_ = 0;          // since then
  std::vector<CodeMapping> waiting_;  // recorded, and in the space from the next epoch on
  uint64_t waiting_time_ = 0;         // of the last of them
  AddressSpaceHistory history_;
};

}  // namespace flowback
