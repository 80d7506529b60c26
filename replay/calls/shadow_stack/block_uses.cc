// SPDX-License-Identifier: MIT
#include "replay/calls/shadow_stack/block_uses.h"

#include <array>
#include <numeric>
#include <span>

#include "decode/instruction/stack_use.h"
#include "flowback/decode/code_image.h"

namespace flowback {
namespace {

// A function is seldom larger.
constexpr uint64_t kNear = uint64_t{1} << 22;

// The code of a run's last instructions. Only the end of a longer block counts: its beginning could
// only read a return address.
class RunCode {
 public:
  RunCode(const AddressSpace& space, uint64_t address, std::span<const uint8_t> lengths)
      : address_(address), lengths_(lengths) {
    if (lengths.size() > kMost) {
      const auto ahead = lengths.first(lengths.size() - kMost);
      address_ = std::accumulate(ahead.begin(), ahead.end(), address);
      lengths_ = lengths.last(kMost);
    }
    size_ = std::accumulate(lengths_.begin(), lengths_.end(), size_t{0});
    if (space.Read(address_, bytes_.data(), size_) != size_) lengths_ = {};
  }
  StackUse Use(CodeMode mode) const {
    if (lengths_.empty()) return {};
    StackUse use = StackUseOf(code(), lengths_, mode);
    if ((use.flags & kTakesAddresses) != 0 && Places(mode).empty()) use.flags &= ~kTakesAddresses;
    return use;
  }
  std::vector<TakenPlace> Places(CodeMode mode) const {
    if (lengths_.empty()) return {};
    std::vector<TakenPlace> places = PlacesTakenBy(code(), address_, lengths_, mode);
    std::erase_if(places, [&](const TakenPlace& place) {
      return place.address - address_ + kNear > 2 * kNear;
    });
    return places;
  }

 private:
  static constexpr size_t kMost = 256;

  Bytes code() const { return Bytes(bytes_.data(), size_); }

  std::array<uint8_t, kMost * kLongestInstruction> bytes_;
  uint64_t address_;
  std::span<const uint8_t> lengths_;
  size_t size_ = 0;
};

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
              .use = RunCode(*run.space, run.address, run.lengths).Use(run.mode)};
  return answer.use;
}

BlockUses::TableUses BlockUses::InTable(const BlockTable& table) {
  if (table_ != &table) {
    table_ = &table;
    of_table_ = &tables_[&table];
  }
  if (of_table_->uses.size() < table.size()) {
    of_table_->uses.resize(table.size(), {.flags = kNotLooked});
    of_table_->plain.resize(2 * table.size(), BlockRuns::kNoCount);
    of_table_->ways.resize(2 * table.size());
    of_table_->entries.resize(table.size());
    of_table_->jumps.resize(table.size());
  }
  return {.uses = of_table_->uses.data(),
          .plain = of_table_->plain.data(),
          .ways = of_table_->ways.data(),
          .entries = of_table_->entries.data(),
          .jumps = of_table_->jumps.data()};
}

StackUse BlockUses::Look(const BlockTable& table, const CodeBlock& block) {
  return RunCode(table.space(), block.address, {block.lengths, block.count}).Use(table.mode());
}

const std::vector<TakenPlace>& BlockUses::PlacesOf(const BlockRun& run) {
  if (places_.empty()) places_.resize(kPlaces);
  Places& known = places_[(run.address ^ (run.address >> 12)) % kPlaces];
  const size_t count = run.lengths.size();
  if (known.space != run.space || known.address != run.address || known.count != count)
    known = {.space = run.space,
             .address = run.address,
             .count = count,
             .places = RunCode(*run.space, run.address, run.lengths).Places(run.mode)};
  return known.places;
}

}  // namespace flowback
