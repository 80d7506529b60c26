// SPDX-License-Identifier: MIT
// What a block's instructions mean in lines of the source: where in it another line begins, and
// that line's text. It depends on nothing but the block, so it is found once and kept.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/mix_bits.h"
#include "flowback/decode/code_image.h"
#include "flowback/model/execution.h"

namespace flowback::cli {

struct PrintSettings;

// One thread at a time.
class LineText {
 public:
  // The identity of a line.
  struct Line {
    uint64_t scope = 0;
    uint32_t line = 0;
    const char* file = nullptr;
    bool operator==(const Line&) const = default;
  };
  // A line that begins with a block's instruction number `index`.
  struct Step {
    uint32_t index = 0;
    Line line;
    uint32_t offset = 0;  // of its text
    uint32_t size = 0;
  };
  struct Block {
    uint32_t count = 0;  // instructions looked at
    std::vector<Step> steps;
    std::string text;
  };

  // Begins anew when it holds `cache_bytes`.
  LineText(const PrintSettings& settings, size_t cache_bytes);
  ~LineText();

  // Returns the block of at least the run's instructions; valid until the next call.
  const Block& Of(const BlockRun& run);

 private:
  struct Key {
    uint64_t address = 0;
    const AddressSpace* space = nullptr;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const {
      const uint64_t mixed = MixBits(key.address ^ reinterpret_cast<uintptr_t>(key.space));
      return mixed >> 16 ^ mixed;
    }
  };
  class Renderer;

  size_t cache_bytes_;
  std::unique_ptr<Renderer> renderer_;
  std::unordered_map<Key, Block, KeyHash> blocks_;
  size_t size_ = 0;  // of what is kept, about
};

}  // namespace flowback::cli
