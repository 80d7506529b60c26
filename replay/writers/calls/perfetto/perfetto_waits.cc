// SPDX-License-Identifier: MIT
#include "replay/writers/calls/perfetto/perfetto_waits.h"

#include <algorithm>
#include <string>
#include <vector>

namespace flowback {
namespace {

using Event = PerfettoPackets::Event;

// A moment of a wait. At one time they come in the order of the enumerators: a reader finds a
// flow's begin ahead of its end.
enum class WaitMoment : uint8_t { kLetsGo, kGoesOn, kEnds, kBegins, kIsWaitedFor };

struct WaitEvent {
  uint64_t time = 0;
  WaitMoment moment{};
  size_t wait = 0;
};

// Two flows of each wait: to the holder, and back.
uint64_t FlowTo(size_t wait) { return 2 * wait + 1; }
uint64_t FlowBack(size_t wait) { return 2 * wait + 2; }

std::string WaitName(const LockReport& report, const LockWait& wait) {
  const LockSite& site = report.sites[wait.site];
  std::string name = "waits in " + FunctionName(report, site.function);
  if (site.caller != CallPath::kNoFunction)
    name += ", called by " + FunctionName(report, site.caller);
  return ExportedName(name, wait.site);
}

class PerfettoWaits {
 public:
  PerfettoWaits(const LocksView& view, PerfettoPackets& packets)
      : view_(view), report_(*view.report), packets_(packets) {}

  void Write(TimeSpan span) {
    for (const size_t wait : ByBegin()) Gather(wait, span);
    std::ranges::stable_sort(
        events_, {}, [](const WaitEvent& event) { return std::pair(event.time, event.moment); });
    for (const WaitEvent& event : events_) Write(event, report_.worst[event.wait]);
  }

 private:
  std::vector<size_t> ByBegin() const {
    std::vector<size_t> waits(report_.worst.size());
    for (size_t i = 0; i < waits.size(); ++i) waits[i] = i;
    std::ranges::sort(waits, {}, [&](size_t i) { return report_.worst[i].begin.time; });
    return waits;
  }
  // Slices of a track may not overlap, and a slice without a length could end before it begins.
  void Gather(size_t number, TimeSpan span) {
    const LockWait& wait = report_.worst[number];
    until_.resize(report_.threads.size());
    const bool fits = wait.begin.time >= std::max(span.begin, until_[wait.thread]) &&
                      wait.end.time <= span.end && wait.begin.time < wait.end.time;
    if (!fits) return;
    until_[wait.thread] = wait.end.time;
    events_.push_back({wait.begin.time, WaitMoment::kBegins, number});
    events_.push_back({wait.end.time, WaitMoment::kEnds, number});
    if (wait.holder == LockWait::kNoThread) return;
    events_.push_back({wait.begin.time, WaitMoment::kIsWaitedFor, number});
    events_.push_back({wait.end.time, WaitMoment::kLetsGo, number});
    events_.push_back({wait.end.time, WaitMoment::kGoesOn, number});
  }

  void Write(const WaitEvent& event, const LockWait& wait) {
    const bool has_holder = wait.holder != LockWait::kNoThread;
    switch (event.moment) {
      case WaitMoment::kBegins: {
        Event& begun = Begin(Event::TYPE_SLICE_BEGIN, event, wait.thread, PerfettoTrack::kWaits);
        begun.set_name(WaitName(report_, wait));
        if (has_holder) begun.add_flow_ids(FlowTo(event.wait));
        break;
      }
      case WaitMoment::kEnds:
        Begin(Event::TYPE_SLICE_END, event, wait.thread, PerfettoTrack::kWaits);
        break;
      case WaitMoment::kIsWaitedFor: {
        Event& told = Begin(Event::TYPE_INSTANT, event, wait.holder, PerfettoTrack::kHolds);
        told.set_name("is waited for by " + ThreadText(wait.thread));
        told.add_terminating_flow_ids(FlowTo(event.wait));
        break;
      }
      case WaitMoment::kLetsGo: {
        Event& told = Begin(Event::TYPE_INSTANT, event, wait.holder, PerfettoTrack::kHolds);
        told.set_name("lets go on " + ThreadText(wait.thread));
        told.add_flow_ids(FlowBack(event.wait));
        break;
      }
      case WaitMoment::kGoesOn: {
        Event& told = Begin(Event::TYPE_INSTANT, event, wait.thread, PerfettoTrack::kWaits);
        told.set_name("goes on after " + ThreadText(wait.holder));
        told.add_terminating_flow_ids(FlowBack(event.wait));
        break;
      }
    }
    packets_.End();
  }
  Event& Begin(Event::Type type, const WaitEvent& event, uint32_t thread, PerfettoTrack track) {
    packets_.GoBackTo(thread);
    packets_.NeedTrack(track, track == PerfettoTrack::kWaits ? "waits" : "holds");
    return packets_.Begin(type, event.time, track);
  }
  std::string ThreadText(uint32_t thread) const {
    return ExportedName(ThreadWords(view_, thread), thread);
  }

  const LocksView& view_;
  const LockReport& report_;
  PerfettoPackets& packets_;
  std::vector<WaitEvent> events_;
  std::vector<uint64_t> until_;  // by thread: the end of its last wait
};

}  // namespace

void WritePerfettoWaits(const LocksView& view, TimeSpan span, PerfettoPackets& packets) {
  PerfettoWaits(view, packets).Write(span);
}

}  // namespace flowback
