// SPDX-License-Identifier: MIT
// What a benchmark decodes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/recorded/pt_config.h"
#include "flowback/decode/decoder.h"

namespace flowback::bench {

struct Workload {
  std::string name;
  Bytes bytes;
  AddressSpaceHistory code;
  PtConfig config;
  TimeConversion time;
  std::shared_ptr<const void> storage;  // keeps `bytes` and the code alive

  DecodeInput Input() const {
    DecodeInput input;
    input.bytes = bytes;
    input.code = &code;
    input.config = config;
    input.time = time;
    return input;
  }
  // Everything that is ever mapped, for a peer that has one image for the whole stream.
  const AddressSpace& AllCode() const { return *code.epochs.back().space; }
};

// NAME or NAME:CPU of a generated recording; or the options of a raw stream as flowback takes them:
// --raw-pt FILE, --section, --image, --cpu, --tsc-ctc N/D, --mtc-freq, --nominal-freq. Takes what
// it understands out of `arguments`.
Result<std::vector<Workload>> TakeWorkloads(std::vector<std::string>& arguments);

}  // namespace flowback::bench
