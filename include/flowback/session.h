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
//
//   options -> recording -> trace -> code -> streams -> threads -> (flow, losses, ...) -> caches
//
// Open takes all steps up to the threads. A program that has work to do between two steps, or that
// does not need all of them, constructs the session from a Recording and takes the steps itself.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flowback/base/error.h"
#include "flowback/capture/open.h"
#include "flowback/decode/decoder.h"
#include "flowback/decode/recording_code.h"
#include "flowback/decode/stream_input.h"
#include "flowback/decode/trace_source.h"
#include "flowback/model/execution.h"
#include "flowback/model/recording.h"
#include "flowback/replay/coverage_counter.h"
#include "flowback/replay/flow_index.h"
#include "flowback/replay/functions.h"
#include "flowback/replay/loss_tally.h"
#include "flowback/replay/player.h"
#include "flowback/replay/recording_clock.h"
#include "flowback/replay/source_lines.h"
#include "flowback/replay/symbolizer.h"
#include "flowback/replay/thread_stack.h"
#include "flowback/replay/threads.h"
#include "flowback/replay/timeline.h"

namespace flowback {

namespace bundle {
class UnpackedBundle;  // capture/bundle/unpacked_bundle.h
}

struct SessionOptions {
  OpenOptions open;                   // which files, and what they do not say of themselves
  ImageSearch search;                 // where code, debug files and the cache are
  std::string engine = "native";      // "libipt": the slow reference engine for Intel PT
  Resync resync = Resync::kEarliest;  // where the flow resumes after an error in the trace
  ThreadSelection selection;          // which threads; by default all
  unsigned threads = 0;               // that decode; 0: one for each processor
  size_t in_flight = 0;               // decoded segments in memory; 0: chosen automatically
  bool index = true;                  // the cache may hold indexes, sums and timelines, too
  // The bundle that the files in `open` and `search` come from; null: the input is no bundle.
  std::shared_ptr<const bundle::UnpackedBundle> bundle = nullptr;

  // Returns the name of the input for messages: a path, as given.
  std::string InputName() const;
  // Returns `threads`, or the machine's number of processors.
  unsigned ThreadCount() const;
};

// A result that a cache keeps for a recording. The longer a result takes to make, the shorter the
// trace for which looking into the cache pays.
enum class CachedResult : uint8_t {
  kIndex,     // the flow index; for any trace
  kSums,      // results of decoding the trace once
  kTimeline,  // takes several times as long to make
  kLasting,   // the index and what lies beside it, if they are long enough to be written at all
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
  // Opens a perf.data file or folder, an LLDB bundle or a bundle of `flowback pack`, with the
  // default options.
  static Result<Session> Open(const std::string& path);
  // Takes a recording that is open. The caller takes the steps below before using what they open.
  Session(const SessionOptions& options, Recording recording);
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  // The steps of opening, in their order. Each requires those before it, unless it says otherwise.
  //
  // Finds the source for the recording's kind of trace. Errors: kUnsupported if none knows it.
  Status OpenSource();
  // As OpenSource. Errors: kUnsupported also if the recording holds no trace.
  Status OpenTrace();
  // Keeps the packets' index of each stream in memory, for callers who ask for it more than once.
  void KeepIndexes();
  // Finds the images; needs no source. Errors: as RecordingCode::Load's.
  Status LoadCode();
  // As LoadCode. Errors: also if the engine is unknown, which is found out before files are read.
  Status OpenCode();
  // Finds out which thread ran when on which stream. `times`: the flow has times.
  void PrepareStreams(bool times);
  // Puts each thread's flow together and keeps the selected threads. Returns false if none is left.
  bool SelectThreads();

  // The opened parts. REQUIRES: the step that opens it has succeeded.
  const SessionOptions& options() const;
  const Recording& recording() const;
  bool has_code() const;
  const RecordingCode& code() const;
  const TraceSource* source_or_null() const;
  const TraceSource& source() const;
  bool has_inputs() const;
  StreamInputs& inputs();
  const StreamInputs& inputs() const;  // with times, if Open opened the session
  RecordingClock& clock();
  const RecordingClock& clock() const;
  Threads& threads();
  const Threads& threads() const;  // the selected threads
  // Returns the flows of all threads, selected or not. Call it after PrepareStreams.
  const std::vector<ThreadFlow>& flows() const;
  // As RecordingCode::RecordedPath.
  std::string_view RecordedPath(const std::string& file) const;
  // Returns the size of all streams.
  uint64_t trace_bytes() const;
  // Returns the size of the selected threads' flow.
  uint64_t SelectedBytes() const;
  // Returns from when to when the trace lasts, or, if it has no times, the samples of calls.
  std::optional<TimeSpan> Span() const;
  // Counts the bytes that were decoded, for a display of progress. The caller may set it back.
  std::atomic<uint64_t>& bytes_done();

  // Names and lines of the recorded code.
  Symbolizer& symbols();
  SymbolFunctions& functions();
  SourceLines& lines();

  // Returns a new decoder of the chosen engine. Errors: once the session is open, only the engine's
  // own.
  Result<std::unique_ptr<Decoder>> NewDecoder() const;

  // Returns what analyses decode the flow with; valid as long as the session, which may be moved.
  FlowSource Flow() const;

  // Plays the flow of all selected threads, one after the other, and decodes it on
  // `options().threads` threads. Blocks point into decoders that live as long as the session.
  // Errors: as Player::Play's; `consumer` has received what came before.
  Status Play(PlayConsumer& consumer);
  // Plays one of threads().
  Status Play(const ThreadFlow& thread, PlayConsumer& consumer);
  // Plays only what happened between two values of clock(), both included, and decodes only what
  // can lie there. Elements without a time are left out, but losses are not.
  Status Play(TimeSpan span, PlayConsumer& consumer);

  // Plays the flow of all selected threads as Play does, and accounts for it: adds all losses to
  // losses(), and checks that the bytes of each stream add up. Errors: as Player::Play's; kSystem.
  Status PlayAccounted(PlayConsumer& consumer);

  // Sums up each selected thread without playing it: instructions, branches, digest, losses.
  // Faster than Play. Errors: as Decoder::Summarize's.
  Result<std::vector<ThreadTotals>> Sum();

  // Returns the flow index, which cursors start from. The first call decodes everything once,
  // unless the cache (SessionOptions::search.cache) holds the index of an earlier session. Errors:
  // as FlowIndex::Open's.
  Result<FlowIndex*> Index();
  // Makes another one, not from the cache, which knows what each share of the flow did to the call
  // stack. Valid as long as the session. Errors: as FlowIndex::Build's.
  Result<FlowIndex> IndexAnew();

  // Returns the call stack of one of threads() at a place of its flow. Errors: as Player::Play's.
  Result<ThreadStack> StackAt(const StreamOwner& thread, const StackPlace& place);

  // Returns what CountCoverage counts the selected threads' coverage from; valid as long as the
  // session, which may be moved. It checks that the bytes of each stream add up (kSystem).
  CoverageRequest CoverageInput() const;

  // Returns what timelines are made from; valid as long as the session, which may be moved.
  TimelineSources TimelineInput();
  // Returns what the selected threads did when. Its names and address spaces are the session's.
  // `options.threads` 0 means the session's number of threads. Errors: as MakeTimeline's.
  Result<Timeline> MakeTimeline(TimelineOptions options = {});

  // The losses that are known so far. Flow that is played or summed up is not counted by itself:
  // the caller adds its losses, calls FindLosses, or plays it by PlayAccounted.
  LossTally& losses();
  const LossTally& losses() const;
  // Adds what the recorder lost, and damage to the file. A second call adds nothing.
  void AddRecordedLosses();
  // Adds all losses that are known before anything is decoded, and the size of the flow.
  void AddKnownLosses();
  // Adds all losses that decoding the selected threads meets. The cache may know them already.
  // Errors: as Decoder::Summarize's; kSystem if a stream's bytes do not add up.
  Status FindLosses();

  // Returns where such a result is kept, with the recording's key. The folder is empty if nothing
  // is to be used or kept: the options say so, an engine other than the native one decodes, or the
  // trace is so short that decoding takes hardly longer than looking. REQUIRES: PrepareStreams.
  IndexCache CacheFor(CachedResult result) const;
  // Returns whether decoding the trace once takes long enough for CachedResult::kLasting.
  bool HasLongTrace() const;
  // Returns whether decoding found nothing to report about the code. Otherwise results are not
  // cached: a later session that takes them from the cache could not report it.
  bool MayKeepResults() const;
  // Writes what decoding found out into the cache: blocks, source lines, losses; then calls
  // `keep_more`, if it is not empty. Does nothing if a file has changed since it was opened.
  void Keep(const std::function<void()>& keep_more = {}) const;

 private:
  class Impl;
  explicit Session(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace flowback
