// SPDX-License-Identifier: MIT
// The shared recordings as raw streams with their code, and that code with parts taken away.
#pragma once

#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "base/recorded/pt_config.h"
#include "flowback/base/flow_digest.h"
#include "flowback/decode/code_image.h"
#include "flowback/decode/decoder.h"
#include "tests/judge/true_flow.h"

namespace flowback::judge {

// A stream by name; loaded when a test comes to it.
struct RawName {
  std::string recording;
  unsigned cpu = 0;
  bool real = false;  // one that hardware wrote, from the table in raw_recordings.cc

  friend void PrintTo(const RawName& name, std::ostream* out) {
    *out << name.recording << " cpu" << name.cpu;
  }
};
std::vector<RawName> RawNames();

// A stream, or a part of one from a PSB to behind another's PSBEND.
struct RawStream {
  std::string name;
  Bytes bytes;
  PtConfig config;
  TimeConversion time;
  AddressSpaceHistory code;
  FlowDigest digest;             // what the generator or its publisher says of it
  std::vector<KnownTime> known;  // true times from another source
  // Its code has a hole, so that the digest covers only flow from sync points on.
  bool from_psbs_only = false;
  std::shared_ptr<const void> storage;

  DecodeInput Input(Resync resync) const;
  std::vector<Resync> Resyncs() const;
};

// The generator's digest of the recoverable flow of a recording with overflows: the same run
// without them, less what its list of gaps says was lost. Fails the running test where that can't
// be read.
FlowDigest DigestWithoutGaps(const RawName& name);

// One stream, or some parts of it where it is long. Fails the running test where it can't be read.
std::vector<RawStream> LoadRaw(const RawName& name);

// The files that any code comes from.
std::vector<std::string> ImagesOf(const AddressSpaceHistory& code);
// The code without what comes from the file.
AddressSpaceHistory WithoutImage(const AddressSpaceHistory& code, const std::string& image);
AddressSpaceHistory WithoutRange(const AddressSpaceHistory& code, uint64_t address, uint64_t size);

}  // namespace flowback::judge
