// SPDX-License-Identifier: MIT
// The part of an instruction's line that depends on nothing but where it is: rendered once per
// block and kept, so that a block of lines costs a look-up and copies.
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
class InstructionText {
 public:
  // A block's instructions, text behind text. Lines are complete but for the columns before them,
  // and for the flags where those are asked for.
  struct Block {
    std::string text;
    std::vector<uint32_t> ends;  // of each instruction's, in the text
  };

  // Begins anew when it holds `cache_bytes`.
  InstructionText(const PrintSettings& settings, size_t cache_bytes);
  ~InstructionText();

  // At least the run's instructions; valid until the next call.
  const Block& Of(const BlockRun& run) {
    const Key key{run.address, run.space, run.mode};
    const Recent& recent = recent_[SlotOf(key)];
    if (recent.block != nullptr && recent.key == key &&
        recent.block->ends.size() >= run.lengths.size())
      return *recent.block;
    return LookUp(key, run);
  }

 private:
  struct Key {
    uint64_t address = 0;
    const AddressSpace* space = nullptr;
    CodeMode mode{};
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const {
      const uint64_t mixed = MixBits(key.address ^ reinterpret_cast<uintptr_t>(key.space));
      return mixed >> 16 ^ mixed ^ static_cast<uint64_t>(key.mode);
    }
  };
  struct Recent {
    Key key;
    const Block* block = nullptr;
  };
  struct Renderer;

  static constexpr size_t kRecent = 2048;
  static size_t SlotOf(const Key& key) { return KeyHash()(key) % kRecent; }

  const Block& LookUp(const Key& key, const BlockRun& run);
  void Render(const BlockRun& run, Block& block);
  void RenderOne(const BlockRun& run, uint64_t ip, uint8_t length, std::string& out);

  const PrintSettings& settings_;
  size_t cache_bytes_;
  std::unique_ptr<Renderer> renderer_;
  std::unordered_map<Key, Block, KeyHash> blocks_;
  std::vector<Recent> recent_;
  size_t size_ = 0;  // of what is kept, about
};

}  // namespace flowback::cli
