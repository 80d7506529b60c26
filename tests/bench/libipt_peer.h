// SPDX-License-Identifier: MIT
// libipt as its fastest users set it up, to measure against.
#pragma once

#include <cstdint>
#include <memory>

#include "flowback/base/error.h"
#include "tests/bench/workload.h"

namespace flowback::bench {

// Its decoder of blocks, or the slower one of single instructions, which most of its users have.
enum class LibiptDecoder : uint8_t { kBlocks, kInstructions };

// A decoder with an image section cache that may keep everything mapped, errata set. The image and
// the cache, with libipt's block caches in it, live as long as the object: a second Decode() is
// warm.
class LibiptPeer {
 public:
  static Result<LibiptPeer> Create(const Workload& workload);
  LibiptPeer(LibiptPeer&&) noexcept;
  ~LibiptPeer();

  // Number of instructions. Errors in the trace end it: the counts then differ.
  uint64_t Decode(LibiptDecoder with = LibiptDecoder::kBlocks);

 private:
  struct State;
  explicit LibiptPeer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace flowback::bench
