// SPDX-License-Identifier: MIT
#include "replay/query/stack_rows.h"

#include <algorithm>

namespace flowback {

size_t StackRows::Follow(size_t share, bool may_skip) {
  execs_.emplace(source().session().recording(), clock(), thread().owner->pid);
  stack_.emplace(source().session().functions(), static_cast<CallListener&>(*this));
  stack_->LookForExec(execs_->AsFunction());
  stack_->LookForPauses(source().session().recording().machine);
  return may_skip ? source().EnterStack(thread(), share, *stack_) : 0;
}

QueryValue StackRows::DurationValue(uint64_t begin, uint64_t end) const {
  if (begin == 0 || end == 0) return {};
  return NumberValue(clock().Value(std::max(begin, end)) - clock().Value(begin));
}

QueryValue StackRows::NameOf(uint32_t function) const {
  if (function == CallPath::kNoFunction) return {};
  return source().functions().all()[function].name;
}

bool StackRows::FitsFunction(uint32_t function) const {
  if (!limits().function) return true;
  if (function == CallPath::kNoFunction) return false;
  return source().functions().all()[function].name == *limits().function;
}

}  // namespace flowback
