// SPDX-License-Identifier: MIT
// The formats that the library writes: writers.def has one row for each.
//
//   for (const WriterOf<CoverageWriter>& each : WritersOf<CoverageWriter>())
//     each.write(view, sink);
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "flowback/base/error.h"
#include "replay/writers/text/text_sink.h"

namespace flowback {

struct CoverageView;   // replay/writers/coverage/coverage_view.h
struct FlowExport;     // replay/writers/export/export_input.h
struct ProfileExport;  // same
struct SamplesExport;  // same
struct TimelineView;   // replay/writers/timeline/timeline_view.h
struct OverviewView;   // replay/writers/timeline/overview_view.h
struct SamplesView;    // replay/writers/timeline/samples_view.h

// What a format is written from decides the type of its function.
using CoverageWriter = void(const CoverageView& view, TextSink& sink);
using TimelineWriter = void(const TimelineView& view, TextSink& sink);
using OverviewWriter = void(const OverviewView& view, TextSink& sink);
using SampleTimelineWriter = void(const SamplesView& view, TextSink& sink);
// These three return what keeps the format from being written whole.
using ProfileWriter = Status(const ProfileExport& input, TextSink& sink);
using SamplesWriter = Status(const SamplesExport& input, TextSink& sink);
using FlowWriter = Status(const FlowExport& input, TextSink& sink);

#define FLOWBACK_WRITER(of, name, function, summary) of##Writer function;
#include "replay/writers/writers.def"
#undef FLOWBACK_WRITER

// A row of the table.
struct Writer {
  std::string_view name;  // as options take it
  std::variant<CoverageWriter*, ProfileWriter*, SamplesWriter*, FlowWriter*, TimelineWriter*,
               OverviewWriter*, SampleTimelineWriter*>
      write;
  std::string_view summary;
};

// Returns all rows, in the order of the table.
std::span<const Writer> Writers();

// A row whose function has this type.
template <class Function>
struct WriterOf {
  std::string_view name;
  Function* write;
  std::string_view summary;
};

// Returns the rows whose functions have this type, in the order of the table.
template <class Function>
std::vector<WriterOf<Function>> WritersOf() {
  std::vector<WriterOf<Function>> found;
  for (const Writer& each : Writers())
    if (Function* const* write = std::get_if<Function*>(&each.write))
      found.push_back({each.name, *write, each.summary});
  return found;
}

// Returns nothing if no row of this type has the name.
template <class Function>
std::optional<WriterOf<Function>> FindWriter(std::string_view name) {
  const std::vector<WriterOf<Function>> all = WritersOf<Function>();
  const auto found = std::ranges::find(all, name, &WriterOf<Function>::name);
  if (found == all.end()) return std::nullopt;
  return *found;
}

}  // namespace flowback
