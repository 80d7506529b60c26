// SPDX-License-Identifier: MIT
// A recording that is open and ready to be asked: the library's front door.
//
//   auto session = flowback::Session::Open("perf.data");
//   if (!session) return Report(session.error());
//   MyConsumer consumer;                          // a flowback::PlayConsumer
//   flowback::Status played = session->Play(consumer);
//
// Opening reads the recording, finds the files whose code ran, and divides the trace among the
// threads. Everything else is made when it is first asked for: names, source lines, the flow index.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "flowback/base/error.h"
#include "flowback/capture/open.h"
#include "flowback/decode/decoder.h"
#include "flowback/decode/recording_code.h"
#include "flowback/decode/stream_input.h"
#include "flowback/decode/trace_source.h"
#include "flowback/model/execution.h"
#include "flowback/model/recording.h"
#include "flowback/replay/flow_index.h"
#include "flowback/replay/functions.h"
#include "flowback/replay/player.h"
#include "flowback/replay/recording_clock.h"
#include "flowback/replay/source_lines.h"
#include "flowback/replay/symbolizer.h"
#include "flowback/replay/thread_stack.h"
#include "flowback/replay/threads.h"
#include "flowback/replay/timeline.h"

namespace flowback {

struct SessionOptions {
  OpenOptions open;                   // which files, and what they do not say of themselves
  ImageSearch search;                 // where code, debug files and the cache are
  std::string engine = "native";      // "libipt": the slow reference engine for Intel PT
  Resync resync = Resync::kEarliest;  // where the flow resumes after an error in the trace
  ThreadSelection selection;          // which threads; by default all
  unsigned threads = 0;               // that decode; 0: one for each processor
  size_t in_flight = 0;               // decoded segments in memory; 0: as many as are useful
};

// Totals of one thread, in the order of the flow.
struct ThreadTotals {
  const StreamOwner* thread = nullptr;
  FlowTotals totals;
};

// Use it from one thread. References that it returns are valid as long as the session, which may be
// moved.
class Session {
 public:
  // Errors: as OpenRecording's and RecordingCode::Load's; kUnsupported where the recording holds no
  // branch trace or `engine` is unknown; kUsage where `selection` leaves no thread. A missing image
  // is no error: code().images() names it, and decoding reports a loss at each place that needs it.
  static Result<Session> Open(const SessionOptions& options);
  // Opens a perf.data file or folder, or an LLDB bundle, with the default options.
  static Result<Session> Open(const std::string& path);
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  const SessionOptions& options() const;
  const Recording& recording() const;
  const RecordingCode& code() const;
  const TraceSource& source() const;
  const StreamInputs& inputs() const;  // with times
  const RecordingClock& clock() const;
  const Threads& threads() const;  // the selected threads

  // Names and lines of the recorded code.
  Symbolizer& symbols();
  SymbolFunctions& functions();
  SourceLines& lines();

  // Returns a new decoder of the chosen engine. Errors: none once the session is open, but what
  // the engine itself reports.
  Result<std::unique_ptr<Decoder>> NewDecoder() const;

  // Plays the flow of all selected threads, one after the other, and decodes it on
  // `options().threads` threads. Blocks point into decoders that live as long as the session.
  // Errors: as Player::Play's; `consumer` has received what came before.
  Status Play(PlayConsumer& consumer);
  // Plays one of threads().
  Status Play(const ThreadFlow& thread, PlayConsumer& consumer);
  // Plays only what happened between two values of clock(), both included, and decodes only what
  // can lie there. Elements without a time are left out, but losses are not.
  Status Play(TimeSpan span, PlayConsumer& consumer);

  // Sums up each selected thread without playing it: instructions, branches, digest, losses.
  // Faster than Play. Errors: as Decoder::Summarize's.
  Result<std::vector<ThreadTotals>> Sum();

  // Returns the flow index, which cursors start from. The first call decodes everything once,
  // unless the cache (SessionOptions::search.cache) holds the index of an earlier session. Errors:
  // as FlowIndex::Open's.
  Result<FlowIndex*> Index();

  // Returns the call stack of one of threads() at a place of its flow. Errors: as Player::Play's.
  Result<ThreadStack> StackAt(const StreamOwner& thread, const StackPlace& place);

  // Returns what the selected threads did when. Its names and address spaces are the session's.
  // `options.threads` 0 means the session's number of threads. Errors: as MakeTimeline's.
  Result<Timeline> MakeTimeline(TimelineOptions options = {});

 private:
  class Impl;
  explicit Session(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace flowback
