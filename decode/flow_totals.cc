// SPDX-License-Identifier: MIT
// Adding up totals of flow; their losses in bounded memory.
#include <algorithm>
#include <ranges>
#include <span>
#include <utility>

#include "flowback/decode/decoder.h"

namespace flowback {
namespace {

// `next` comes behind `loss`, and is of its kind.
void Extend(DataLoss& loss, const DataLoss& next) {
  const uint64_t bytes = loss.bytes() + next.bytes();
  loss.end = std::max(loss.end, next.end);
  loss.between = loss.end - loss.begin - bytes;
  loss.count += next.count;
  loss.end_tsc = next.end_tsc;
  loss.end_bounds = next.end_bounds;
}

// Adds `loss` to the last one of its kind in `told` if that has `most` of them; says whether. The
// files that code comes from tell kinds apart, unless there are very many.
bool AddToLast(std::span<DataLoss> told, size_t most, const DataLoss& loss) {
  constexpr size_t kManyKinds = 64;
  const bool by_code = told.size() < kManyKinds * most;
  const auto is_same = [&](const DataLoss& other) {
    return other.cause == loss.cause && (!by_code || other.code == loss.code);
  };
  if (static_cast<size_t>(std::ranges::count_if(told, is_same)) < most) return false;
  Extend(*std::ranges::find_if(told | std::views::reverse, is_same), loss);
  return true;
}

}  // namespace

void FlowTotals::AddLoss(DataLoss loss) {
  // Most of very many are of one kind: that the last one stands for several says it is full.
  if (!losses.empty() && losses.back().count > 1 && losses.back().after == loss.after &&
      losses.back().cause == loss.cause && losses.back().code == loss.code)
    return Extend(losses.back(), loss);
  size_t row = losses.size();
  while (row != 0 && losses[row - 1].after == loss.after) --row;
  if (AddToLast(std::span(losses).subspan(row), kToldInARow, loss)) return;
  if (losses.size() > kTold && AddToLast(std::span(losses).subspan(kTold), 1, loss)) return;
  losses.push_back(std::move(loss));
}

uint64_t FlowTotals::LossCount() const {
  uint64_t count = 0;
  for (const DataLoss& loss : losses) count += loss.count;
  return count;
}

void FlowTotals::Append(const FlowTotals& next) {
  const uint64_t before = digest.count;
  digest.Append(next.digest);
  for (const auto counter :
       {&FlowTotals::blocks, &FlowTotals::taken, &FlowTotals::not_taken, &FlowTotals::jumps,
        &FlowTotals::indirect_jumps, &FlowTotals::calls, &FlowTotals::indirect_calls,
        &FlowTotals::returns, &FlowTotals::far, &FlowTotals::bytes_decoded,
        &FlowTotals::bytes_padding, &FlowTotals::bytes_lost})
    this->*counter += next.*counter;
  if (first_tsc == 0) first_tsc = next.first_tsc;
  if (next.last_tsc != 0) last_tsc = next.last_tsc;
  for (DataLoss loss : next.losses) {
    loss.after += before;
    AddLoss(std::move(loss));
  }
}

}  // namespace flowback
