// SPDX-License-Identifier: MIT
// What the JSON of a timeline and of an overview have in common.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "flowback/writers.h"
#include "replay/writers/text/json.h"
#include "replay/writers/timeline/timeline_view.h"

namespace flowback {

// The first keys, up to `times`.
void AddTimelineHead(const TimelineView& view, std::string_view schema, JsonLine& line);
void AddThreadName(const TimelineView& view, const ThreadTimeline& thread, JsonLine& line);
void AddFunctionName(const TimelineFunction& function, size_t number, JsonLine& line);
std::string TimesJson(const ClassTimes& times);
std::string StripJson(const TimelineView& view, const ThreadTimeline& thread);
void AppendCpuJson(const CpuStrip& cpu, std::string& out);

// `item` appends one object, with its end of line, for each number.
template <class Item>
void AppendJsonArray(std::string_view key, size_t count, TextSink& sink, Item item) {
  std::string& out = sink.buffer();
  out.append(",\"").append(key).append("\":[\n");
  for (size_t i = 0; i < count; ++i) {
    item(i);
    out.pop_back();
    out += i + 1 == count ? "\n" : ",\n";
    sink.Commit();
  }
  out += ']';
}

}  // namespace flowback
