// SPDX-License-Identifier: MIT
#include "replay/values/value_history.h"

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
  ChainFinder Finder() const { return {graph_, solver_}; }
  WriteFinder Writes(bool stack_keeps_away) const {
    return {graph_, surroundings_, solver_.values(), stack_keeps_away};
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

Proof ValueHistory::ProofOf(size_t point, uint8_t number) const {
  const ValueId value = impl_->ValueOf(point, number);
  if (value == kNoValue || contradiction()) return {};
  return impl_->solver().ProofOf(value);
}

std::optional<uint8_t> ValueHistory::Byte(size_t point, uint64_t address) const {
  if (contradiction() || point > path().instructions.size()) return std::nullopt;
  return impl_->solver().cells().At(point, address);
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

}  // namespace flowback::values
