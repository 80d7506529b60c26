// SPDX-License-Identifier: MIT
#include <algorithm>
#include <filesystem>
#include <string_view>

#include "capture/formats/input/format.h"
#include "capture/formats/input/samples.h"
#include "capture/formats/samples/perf_event_samples.h"

namespace flowback {

bool HasAccessSamples(const Recording& recording) {
  return std::ranges::any_of(recording.record_counts,
                             [](const auto& each) { return each.first == perf::kAccessSamples; });
}

// The same bytes are gone through again, for nothing but samples.
Status VisitSamples(const Recording& recording, const SampleVisitor& visit) {
  std::error_code ignored;
  Candidate candidate;
  candidate.path = recording.path;
  candidate.is_directory = std::filesystem::is_directory(recording.path, ignored);
  if (!candidate.is_directory && !recording.files.empty())
    candidate.bytes = recording.files.back()->bytes();
  candidate.visit_samples = &visit;
  Recording scratch;
  scratch.path = recording.path;
  for (const Format& format : Formats())
    if (format.matches(candidate)) return format.read(candidate, scratch);
  return {};
}

}  // namespace flowback
