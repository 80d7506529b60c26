// SPDX-License-Identifier: MIT
// Samples of memory accesses that a recording holds beside its trace.
#pragma once

#include <functional>

#include "base/recorded/event_sample.h"
#include "flowback/base/error.h"
#include "flowback/model/recording.h"

namespace flowback {

using SampleVisitor = std::function<void(const EventSample& sample)>;

// Whether the recording has any. Samples in the trace come with its flow.
bool HasAccessSamples(const Recording& recording);

// Calls `visit` with each sample, in the file's order: only the samples of one CPU are in order of
// time. Keeps none: opening a recording only counts them. REQUIRES: `recording` was opened by
// OpenRecording. Errors: kUnreadable when the file can't be read any more.
Status VisitSamples(const Recording& recording, const SampleVisitor& visit);

}  // namespace flowback
