// SPDX-License-Identifier: MIT
#include "replay/values/value_history.h"

#include <algorithm>
#include <utility>

#include "replay/values/last_write.h"
#include "replay/values/value_chain.h"
#include "replay/values/value_graph.h"
#include "replay/values/value_solver.h"

namespace flowback::values {

class ValueHistory::Impl {
 public:
  Impl(ExecutedPath path, Surroundings surroundings)
      : path_(std::move(path)),
        surroundings_(std::move(surroundings)),
        graph_(GraphOf(path_)),
        solver_(graph_, surroundings_) {
    solver_.Solve();
  }

  const ExecutedPath& path() const { return path_; }
  const ValueSolver& solver() const { return solver_; }
  ValueId ValueOf(size_t point, uint8_t number) const {
    const size_t index = FollowedIndex(number);
    if (index == kNotFollowed || point >= graph_.registers.size()) return kNoValue;
    return graph_.registers[point][index];
  }
  // Null: it made none.
  const GraphCall* CallOf(size_t instruction) const {
    const auto call =
        std::ranges::lower_bound(graph_.calls, instruction, {}, &GraphCall::instruction);
    return call != graph_.calls.end() && call->instruction == instruction ? &*call : nullptr;
  }
  ChainFinder Finder() const { return {graph_, solver_}; }
  WriteFinder Writes(bool stack_keeps_away) const {
    return {path_, graph_, surroundings_, solver_.values(), stack_keeps_away};
  }

 private:
  ExecutedPath path_;
  Surroundings surroundings_;
  ValueGraph graph_;
  ValueSolver solver_;
};

ValueHistory::ValueHistory(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ValueHistory::ValueHistory(ValueHistory&&) noexcept = default;
ValueHistory& ValueHistory::operator=(ValueHistory&&) noexcept = default;
ValueHistory::~ValueHistory() = default;

ValueHistory ValueHistory::Of(ExecutedPath path, Surroundings surroundings) {
  return ValueHistory(std::make_unique<Impl>(std::move(path), std::move(surroundings)));
}

const ExecutedPath& ValueHistory::path() const { return impl_->path(); }

std::optional<size_t> ValueHistory::contradiction() const {
  return impl_->solver().contradiction();
}

KnownBits ValueHistory::Bits(size_t point, uint8_t number) const {
  const ValueId value = impl_->ValueOf(point, number);
  if (value == kNoValue || contradiction()) return {};
  return impl_->solver().values()[value];
}

bool ValueHistory::MakesCall(size_t instruction) const {
  return impl_->CallOf(instruction) != nullptr;
}

std::optional<uint64_t> ValueHistory::CallRegister(size_t instruction, uint8_t number) const {
  const GraphCall* const call = impl_->CallOf(instruction);
  const size_t index = FollowedIndex(number);
  if (call == nullptr || index == kNotFollowed || contradiction()) return std::nullopt;
  const KnownBits& bits = impl_->solver().values()[call->before[index]];
  return bits.all() ? std::optional(bits.value) : std::nullopt;
}

std::optional<uint64_t> ValueHistory::CallResult(size_t instruction) const {
  const GraphCall* const call = impl_->CallOf(instruction);
  if (call == nullptr || contradiction()) return std::nullopt;
  const KnownBits& bits = impl_->solver().values()[call->result];
  return bits.all() ? std::optional(bits.value) : std::nullopt;
}

Proof ValueHistory::ProofOf(size_t point, uint8_t number) const {
  const ValueId value = impl_->ValueOf(point, number);
  if (value == kNoValue || contradiction()) return {};
  return impl_->solver().ProofOf(value);
}

std::optional<uint8_t> ValueHistory::Byte(size_t point, uint64_t address) const {
  if (contradiction() || point > path().instructions.size()) return std::nullopt;
  return impl_->solver().cells().At(point, address);
}

std::optional<uint64_t> ValueHistory::OwnWord(size_t point, uint64_t address,
                                              unsigned bytes) const {
  if (contradiction() || point > path().instructions.size()) return std::nullopt;
  return impl_->Writes(false).Word(point, address, bytes);
}

ValueChain ValueHistory::WhyRegister(size_t point, uint8_t number) const {
  const ValueId value = impl_->ValueOf(point, number);
  if (value == kNoValue || contradiction()) return {.end = ChainEnd::kUnknown};
  return impl_->Finder().OfValue(value);
}

ValueChain ValueHistory::WhyMemory(size_t point, uint64_t address) const {
  if (contradiction() || point > path().instructions.size()) return {.end = ChainEnd::kUnknown};
  return impl_->Finder().OfMemory(point, address);
}

LastWrite ValueHistory::LastWriteTo(size_t point, const StoredValue& wanted,
                                    bool stack_keeps_away) const {
  if (contradiction() || point > path().instructions.size())
    return {.kind = LastWrite::Kind::kOther, .instruction = point};
  return impl_->Writes(stack_keeps_away).Before(point, wanted);
}

LastWrite ValueHistory::OnlyWriteTo(size_t from, size_t to, const StoredValue& wanted,
                                    bool stack_keeps_away,
                                    const std::function<bool(uint64_t)>& is_innocent) const {
  if (contradiction() || to > path().instructions.size() || from > to)
    return {.kind = LastWrite::Kind::kOther, .instruction = to};
  return impl_->Writes(stack_keeps_away).Only(from, to, wanted, is_innocent);
}

}  // namespace flowback::values
