// SPDX-License-Identifier: MIT
#include "flowback/writers.h"
#include "replay/timeline/cpu_strips.h"

namespace flowback {

TimelineView TimelineView::Of(Session& session, const Timeline& timeline, size_t columns) {
  TimelineView view;
  view.timeline = &timeline;
  view.recording = &session.recording();
  view.threads = &session.threads();
  view.clock = &session.clock();
  view.lines = &session.lines();
  if (columns != 0)
    view.cpus = CpuStripsOf(timeline, session.recording(), session.inputs(), columns);
  view.input = session.options().InputName();
  const ThreadSelection& wanted = session.options().selection;
  view.is_part = !wanted.tids.empty() || !wanted.names.empty() || !wanted.cpus.empty();
  if (timeline.emulated) view.sort = TimelineSort::kInstructions;
  return view;
}

}  // namespace flowback
