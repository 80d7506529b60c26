// SPDX-License-Identifier: MIT
#include "replay/crash/long_stay.h"

#include <algorithm>
#include <vector>

#include "replay/crash/crash_threads.h"
#include "replay/crash/history/last_calls.h"
#include "replay/crash/thread_values.h"

namespace flowback {

std::optional<CrashStay> LongStayOf(const CrashInput& input, size_t thread,
                                    const ThreadStack& stack) {
  const uint64_t end = input.machine.thread(thread).instructions;
  if (end < kLongStay) return std::nullopt;
  ThreadCursor cursor = EndOf(input, thread);
  const std::vector<LastCall> calls =
      LastCallsBefore(cursor, input.session.functions(), kLongStay, SIZE_MAX);
  if (end - cursor.number() < kLongStay) return std::nullopt;
  // Open calls were made meanwhile.
  const auto frame = static_cast<size_t>(std::ranges::count_if(calls, &LastCall::is_open));
  if (frame >= stack.frames.size() || stack.frames[frame].address == 0) return std::nullopt;
  const StackFrame& stayed = stack.frames[frame];
  CrashStay stay{.place = PlaceOf(input.session, stayed.space, stayed.address, !stayed.is_exact),
                 .instructions = kLongStay,
                 .tsc = TimeOf(input, thread, end - kLongStay)};
  if (stay.place.function.empty() && stay.place.object.empty()) return std::nullopt;
  return stay;
}

}  // namespace flowback
