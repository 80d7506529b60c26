// SPDX-License-Identifier: MIT
#include "cli/text/counters.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "replay/writers/text/printable.h"

namespace flowback::cli {
namespace {

using Json = nlohmann::ordered_json;

// The software's clocks count nanoseconds.
bool IsTime(std::string_view name) {
  return name.starts_with("task-clock") || name.starts_with("cpu-clock");
}

std::string NoteOf(const EventCounter& event) {
  static constexpr const char* kSkids[] = {"", "constant skid (p)", "no skid wanted (pp)",
                                           "no skid (ppp)"};
  std::string note = IsTime(event.name) ? "ns" : "";
  const auto add = [&](const std::string& text) { note += (note.empty() ? "" : "; ") + text; };
  const CounterValue& total = event.total;
  if (total.enabled != 0 && total.running == 0)
    add("never counted: other events had the counters");
  else if (total.multiplexed())
    add(fmt::format("scaled: counted {:.1f} % of the time",
                    100 * static_cast<double>(total.running) / static_cast<double>(total.enabled)));
  if (event.precision != 0) add(kSkids[event.precision & 3]);
  return note;
}

Json ValueJson(const CounterValue& value) {
  return {{"count", value.scaled()},
          {"counted", value.value},
          {"enabled_ns", value.enabled},
          {"running_ns", value.running}};
}

}  // namespace

std::string CounterLines(const CountedEvents& counters) {
  size_t width = 0;
  for (const EventCounter& event : counters.events) width = std::max(width, event.name.size());
  std::string lines;
  for (const EventCounter& event : counters.events) {
    lines += fmt::format("  {:<{}} {:>16}  {}", Printable(event.name), width, event.total.scaled(),
                         NoteOf(event));
    lines.erase(lines.find_last_not_of(' ') + 1);
    lines += '\n';
  }
  return lines;
}

Json CountersJson(const CountedEvents& counters) {
  Json json;
  json["readings"] = counters.readings;
  json["events"] = Json::array();
  for (const EventCounter& event : counters.events) {
    Json one{{"event", event.name}, {"precise", event.precision}};
    one.update(ValueJson(event.total));
    json["events"].push_back(std::move(one));
  }
  return json;
}

Json ThreadCountJson(const CountedEvents& counters, const ThreadCount& count) {
  Json json{{"pid", count.pid}, {"tid", count.tid}, {"event", counters.events[count.event].name}};
  json.update(ValueJson(count.value));
  return json;
}

}  // namespace flowback::cli
