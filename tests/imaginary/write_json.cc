// SPDX-License-Identifier: MIT
#include "replay/writers/text/json.h"
#include "replay/writers/writers.h"
#include "tests/imaginary/turns.h"

namespace flowback {

void WriteTurnsJson(const TurnsView& view, TextSink& sink) {
  for (const ThreadTurns& each : view.threads) {
    JsonLine(sink.buffer())
        .Text("thread", each.thread->label)
        .Number("back", each.back)
        .Number("ahead", each.ahead)
        .End();
    sink.Commit();
  }
}

}  // namespace flowback
