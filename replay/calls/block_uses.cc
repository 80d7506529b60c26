// SPDX-License-Identifier: MIT
#include "replay/calls/block_uses.h"

#include <array>
#include <numeric>
#include <span>

#include "decode/instruction/stack_use.h"
#include "flowback/decode/code_image.h"

namespace flowback {
namespace {

StackUse LookAt(const AddressSpace& space, uint64_t address, std::span<const uint8_t> lengths,
                CodeMode mode) {
  // What ends a longer block counts, as its beginning would only tell whether a return address is
  // read.
  constexpr size_t kMost = 256;
  std::array<uint8_t, kMost * kLongestInstruction> code;
  if (lengths.size() > kMost) {
    const auto ahead = lengths.first(lengths.size() - kMost);
    address = std::accumulate(ahead.begin(), ahead.end(), address);
    lengths = lengths.last(kMost);
  }
  const size_t size = std::accumulate(lengths.begin(), lengths.end(), size_t{0});
  const size_t read = space.Read(address, code.data(), size);
  return read == size ? StackUseOf(Bytes(code.data(), size), lengths, mode) : StackUse();
}

}  // namespace

StackUse BlockUses::Of(const BlockRun& run) {
  if (run.space == nullptr) return {};
  if (answers_.empty()) answers_.resize(kAnswers);
  Answer& answer = answers_[(run.address ^ (run.address >> 12)) % kAnswers];
  const size_t count = run.lengths.size();
  if (answer.space != run.space || answer.address != run.address || answer.count != count)
    answer = {.space = run.space,
              .address = run.address,
              .count = count,
              .use = LookAt(*run.space, run.address, run.lengths, run.mode)};
  return answer.use;
}

BlockUses::OfBlocks BlockUses::OfTable(const BlockTable& table) {
  if (table_ != &table) {
    table_ = &table;
    of_table_ = &tables_[&table];
  }
  if (of_table_->uses.size() < table.size()) {
    of_table_->uses.resize(table.size(), {.flags = kNotLooked});
    of_table_->plain.resize(2 * table.size());
    of_table_->ways.resize(2 * table.size());
    of_table_->entries.resize(table.size());
  }
  return {.uses = of_table_->uses.data(),
          .plain = of_table_->plain.data(),
          .ways = of_table_->ways.data(),
          .entries = of_table_->entries.data()};
}

StackUse BlockUses::Look(const BlockTable& table, const CodeBlock& block) {
  return LookAt(table.space(), block.address, {block.lengths, block.count}, table.mode());
}

}  // namespace flowback
