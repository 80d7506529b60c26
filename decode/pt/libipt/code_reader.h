// SPDX-License-Identifier: MIT
// The code libipt reads: the address space that holds at this point of the stream.
#pragma once

#include <intel-pt.h>

#include <cstdint>

#include "decode/flow/program_change.h"
#include "flowback/decode/decoder.h"
#include "flowback/model/machine.h"

namespace flowback::libipt {

// A value: a copy goes on from where it was made.
class ImageReader {
 public:
  // Where in the history a part of the stream is.
  struct Place {
    const AddressSpaceHistory* history = nullptr;
    size_t epoch = 0;
    size_t next_change = 0;
    flow::ProgramChange program{};
  };

  // `input.code` may be null: nothing is mapped then.
  explicit ImageReader(const DecodeInput& input) : changes_(&input.changes), time_(input.time) {
    UseHistory(input.code);
    EnterStays(0);
  }

  // The stream from `offset` on.
  void EnterStays(uint64_t offset);
  const ThreadStay* stay() const {
    return next_change_ == 0 ? nullptr : (*changes_)[next_change_ - 1].stay;
  }

  // Tracing is known to be on: goes on to the last epoch that has begun. `retired` is the number of
  // instructions so far; `tsc` is 0 when the stream has carried no time yet.
  void Select(uint64_t retired, uint64_t tsc);
  // What the trace shows of another program's begin; Select goes to no other one without.
  flow::ProgramChange& program() { return program_; }
  // At a PSB+: a program whose time has not come by `tsc` does not run yet.
  void CheckProgram(uint64_t tsc);
  const AddressSpace* space() const { return space_; }
  // Goes on with an input that is equal to the one it was made for.
  void Use(const DecodeInput& input) { changes_ = &input.changes; }
  // For walking over a part of the stream again.
  Place place() const { return {history_, epoch_, next_change_, program_}; }
  void Rewind(const Place& place);

  // libipt's read_memory_callback_t; `context` is the ImageReader.
  static int Read(uint8_t* buffer, size_t size, const pt_asid*, uint64_t ip, void* context);

 private:
  bool HasNext() const;
  bool HasBegun(const AddressSpaceHistory::Epoch& epoch, uint64_t retired, uint64_t now) const;
  void UseHistory(const AddressSpaceHistory* history);
  void Use(size_t epoch);
  const CodeMapping* Find(uint64_t ip);

  const std::vector<StayChange>* changes_;
  TimeConversion time_;
  const AddressSpaceHistory* history_ = nullptr;
  size_t next_change_ = 0;
  size_t epoch_ = 0;
  flow::ProgramChange program_;
  const AddressSpace* space_ = nullptr;
  const CodeMapping* mapping_ = nullptr;  // where the last read was
};

}  // namespace flowback::libipt
