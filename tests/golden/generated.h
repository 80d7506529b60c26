// SPDX-License-Identifier: MIT
// The recordings under traces/generated: their streams, their code, their truth.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "base/mapped_file.h"
#include "base/recorded/pt_config.h"
#include "flowback/base/flow_digest.h"
#include "flowback/decode/decoder.h"

namespace flowback::golden {

// A row of digests.tsv: what thread `tidN` or raw stream `cpuN` executed.
struct TrueDigest {
  std::string recording;
  std::string who;
  FlowDigest digest;

  bool IsStream() const { return who.starts_with("cpu"); }
  unsigned Number() const { return static_cast<unsigned>(std::stoul(who.substr(3))); }
  // How GoogleTest shows it.
  friend void PrintTo(const TrueDigest& truth, std::ostream* out) {
    *out << truth.recording << ' ' << truth.who;
  }
};

// All rows; empty when the recordings are absent.
std::vector<TrueDigest> TrueDigests();

// A raw stream pt-N.bin, ready to decode with the code that maps.txt says was mapped.
struct GeneratedStream {
  std::string folder;
  std::shared_ptr<const MappedFile> file;
  AddressSpaceHistory code;
  PtConfig config;
  TimeConversion time;

  DecodeInput Input() const {
    DecodeInput input;
    input.bytes = file->bytes();
    input.code = &code;
    input.config = config;
    input.time = time;
    input.resync = Resync::kSyncPoint;
    return input;
  }
};

Result<GeneratedStream> LoadGenerated(const std::string& recording, unsigned cpu);

}  // namespace flowback::golden
