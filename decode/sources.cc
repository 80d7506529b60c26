// SPDX-License-Identifier: MIT
#include <string>

#include "flowback/decode/trace_source.h"

// A test has a table of its own.
#ifndef FLOWBACK_SOURCES
#define FLOWBACK_SOURCES "decode/sources.def"
#endif

namespace flowback {

#define FLOWBACK_SOURCE(name, open) std::shared_ptr<const TraceSource> open(const Recording&);
#include FLOWBACK_SOURCES
#undef FLOWBACK_SOURCE

namespace {

struct Row {
  std::string_view name;
  std::shared_ptr<const TraceSource> (*open)(const Recording& recording);
};

constexpr Row kSources[] = {
#define FLOWBACK_SOURCE(name, open) {name, open},
#include FLOWBACK_SOURCES
#undef FLOWBACK_SOURCE
};

}  // namespace

Result<std::shared_ptr<const TraceSource>> OpenSource(const Recording& recording) {
  for (const Row& row : kSources)
    if (row.name == recording.source) return row.open(recording);
  return Fail(
      Error(ErrorCode::kUnsupported,
            recording.path + ": this build knows no trace of the kind \"" + recording.source + "\"")
          .Remedy("read it with a newer flowback"));
}

}  // namespace flowback
