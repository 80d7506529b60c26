// SPDX-License-Identifier: MIT
// A way to record, and the table of all there are.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string_view>

#include "flowback/base/error.h"
#include "flowback/capture/record.h"

namespace flowback::record {

class RecordSession;

// One recording. Start and Run are called by one thread, which has no children but the recorder's.
class Recorder {
 public:
  virtual ~Recorder() = default;
  // Starts the command, or takes hold of what runs already, and opens the outputs; nothing of the
  // program has run unrecorded. Returns the process that was started, -1: none was. After an error
  // none is left behind.
  virtual Result<pid_t> Start(RecordSession& session) = 0;
  // Records until all have ended, or Stop. REQUIRES: Start did not fail.
  virtual Result<RecordSummary> Run() = 0;
  // Ends the recording soon; the programs go on. Any thread may call it once Start returned.
  virtual void RequestStop() = 0;
  // Keeps what was traced until now, where only the latest is kept. As RequestStop.
  virtual void RequestSnapshot() = 0;
};

struct RecorderRow {
  RecorderInfo info;
  // Checks that it can record on this machine as the options say. The error names what the machine
  // lacks.
  Status (*check)(const RecordOptions& options) = nullptr;
  // Options must outlive the recorder. Null: not built.
  std::unique_ptr<Recorder> (*make)(const RecordOptions& options) = nullptr;
};

// Null: no recorder has that name.
const RecorderRow* FindRecorderRow(std::string_view name);

// The rows' functions.
Status CheckEvents(const RecordOptions& options);
std::unique_ptr<Recorder> MakeEventRecorder(const RecordOptions& options);
Status CheckStep(const RecordOptions& options);
std::unique_ptr<Recorder> MakeStepRecorder(const RecordOptions& options);
std::unique_ptr<Recorder> MakeEmulateRecorder(const RecordOptions& options);

}  // namespace flowback::record
