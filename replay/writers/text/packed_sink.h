// SPDX-License-Identifier: MIT
// Packs text on its way to another sink, as gzip or zstd do.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "flowback/writers.h"

namespace flowback {

enum class Packing : uint8_t { kGzip, kZstd };

// Returns how a file of that name is packed: "trace.json.gz", "trace.json.zst".
std::optional<Packing> PackingOf(std::string_view file_name);

// Needs memory for the packer alone. Call Finish once all is written.
class PackedSink final : public TextSink {
 public:
  // `next` must outlive it.
  PackedSink(Packing packing, TextSink& next);
  ~PackedSink() override;

  // Writes the rest and the end. Unfinished output cannot be unpacked whole.
  void Finish();

 private:
  class Packer;
  class Gzip;
  class Zstd;

  void Take(std::string_view more) override;

  TextSink& next_;
  std::unique_ptr<Packer> packer_;
};

}  // namespace flowback
