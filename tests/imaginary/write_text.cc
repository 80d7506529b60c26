// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "replay/writers/writers.h"
#include "tests/imaginary/turns.h"

namespace flowback {

void WriteTurnsText(const TurnsView& view, TextSink& sink) {
  for (const ThreadTurns& each : view.threads)
    sink.Write(fmt::format("thread {} turned back {} times and went ahead {} times\n",
                           each.thread->label, each.back, each.ahead));
}

}  // namespace flowback
