// SPDX-License-Identifier: MIT
// What stands before the kernel's records: what was there when recording began, and how traces are
// to be read.
#pragma once

#include <vector>

#include "capture/record/event_recorder/event_file.h"
#include "capture/record/events/event_set.h"
#include "capture/record/perf_data/perf_record_buffer.h"

namespace flowback::record {

// Names, threads and mappings of those that ran already; of `command`, its name before its exec.
Status WritePreamble(const EventSet& events, const RecordOptions& options, pid_t command,
                     const kernel::SystemKernel& kernel, EventFile& file);

// What sample_id_all adds to a record of our own, in the kernel's order; the time is 0.
void AddSampleId(const SidebandBase& who, const perf_event_attr& attr, uint64_t id,
                 RecordBuffer& record);
// Writes the preamble of a file that continues another, for the processes that `runs` names.
Status WritePreambleOf(const EventSet& events, const RecordOptions& options,
                       const std::vector<pid_t>& runs, const kernel::SystemKernel& kernel,
                       EventFile& file);

// Returns the processes recorded from the start, without a command's; none if all threads are
// recorded.
std::vector<pid_t> ProcessesToRecord(const RecordOptions& options);

// Returns the machine's identity for the file's header.
EventFileFacts FactsForFile(const RecordOptions& options, const std::vector<kernel::Pmu>& pmus,
                            const kernel::SystemKernel& kernel);

}  // namespace flowback::record
