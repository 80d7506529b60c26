// SPDX-License-Identifier: MIT
// A decoder's block tables, for a thread that reads its batches later, while the decoder adds more
// blocks to its own: each table has a copy, to which the reader adds what came with a batch before
// it looks at that.
#pragma once

#include <cstddef>
#include <memory>
#include <unordered_map>
#include <vector>

#include "flowback/model/block_batch.h"

namespace flowback {

// Blocks of the decoder's that the copy lacks.
struct NewBlocks {
  BlockTable* copy = nullptr;
  std::vector<CodeBlock> blocks;

  void Add() const {
    for (const CodeBlock& block : blocks) copy->Add(block);
  }
};

// Mirrors the tables of one decoder. The decoder's thread uses it, except the copies' content,
// which belongs to the reader.
class TableMirror {
 public:
  // The table's copy. Adds missing blocks to `lacking`, and treats them as present from then on.
  const BlockTable* CopyOf(const BlockTable& table, std::vector<NewBlocks>& lacking) {
    if (table_ != &table) {
      table_ = &table;
      mirrored_ = &all_[&table];
      if (mirrored_->copy == nullptr)
        mirrored_->copy = std::make_unique<BlockTable>(table.space(), table.mode());
    }
    if (mirrored_->told < table.size()) {
      const auto rest = table.blocks().subspan(mirrored_->told);
      lacking.push_back({.copy = mirrored_->copy.get(), .blocks = {rest.begin(), rest.end()}});
      mirrored_->told = table.size();
    }
    return mirrored_->copy.get();
  }
  // Sends lost blocks again. REQUIRES: no other thread uses any of it.
  void Restart() {
    for (auto& [table, mirrored] : all_) mirrored.told = mirrored.copy->size();
  }

 private:
  struct Mirrored {
    std::unique_ptr<BlockTable> copy;
    size_t told = 0;  // blocks
  };

  std::unordered_map<const BlockTable*, Mirrored> all_;
  const BlockTable* table_ = nullptr;  // the last one asked for
  Mirrored* mirrored_ = nullptr;
};

}  // namespace flowback
