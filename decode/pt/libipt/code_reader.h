// SPDX-License-Identifier: MIT
// The code libipt reads: the address space that holds at this point of the stream.
#pragma once

#include <intel-pt.h>

#include <cstdint>

#include "flowback/decode/code_image.h"
#include "flowback/model/machine.h"

namespace flowback::libipt {

class CodeReader {
 public:
  // `history` may be null: nothing is mapped then.
  CodeReader(const AddressSpaceHistory* history, const TimeConversion& time)
      : history_(history), time_(time) {
    if (history_ != nullptr && !history_->epochs.empty()) Use(0);
  }

  // Tracing is known to be on: goes on to the last epoch that has begun. `retired` is the number of
  // instructions so far; `tsc` is 0 when the stream has carried no time yet.
  void Select(uint64_t retired, uint64_t tsc);
  const AddressSpace* space() const { return space_; }
  // For walking over a part of the stream again.
  size_t epoch() const { return epoch_; }
  void Rewind(size_t epoch) {
    if (epoch != epoch_) Use(epoch);
  }

  // libipt's read_memory_callback_t; `context` is the CodeReader.
  static int Read(uint8_t* buffer, size_t size, const pt_asid*, uint64_t ip, void* context);

 private:
  bool HasNext() const;
  bool HasBegun(const AddressSpaceHistory::Epoch& epoch, uint64_t retired, uint64_t now) const;
  void Use(size_t epoch);
  const CodeMapping* Find(uint64_t ip);

  const AddressSpaceHistory* history_;
  TimeConversion time_;
  size_t epoch_ = 0;
  const AddressSpace* space_ = nullptr;
  const CodeMapping* mapping_ = nullptr;  // where the last read was
};

}  // namespace flowback::libipt
