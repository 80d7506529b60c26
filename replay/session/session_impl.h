// SPDX-License-Identifier: MIT
// The parts of a session. They refer to one another, so they stay where they are when it moves.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "flowback/session.h"
#include "replay/flow/kept_sums.h"

namespace flowback {

class Session::Impl {
 public:
  class SpanPlay;  // session_play.cc

  Impl(const SessionOptions& session_options, Recording opened);
  ~Impl();

  Result<std::unique_ptr<Decoder>> NewDecoder() const {
    return source->MakeDecoder(options.engine);
  }
  FlowSource Flow() const {
    return {.inputs = *inputs, .make_decoder = [this] { return NewDecoder(); }};
  }
  StreamInputs NewInputs(bool times) const;
  Player NewPlayer(const FlowSource& flow, PlayOptions play = {}) const;
  // Returns the player that all calls of Play share, whose decoders are warm.
  Player& SharedPlayer();
  Symbolizer& Symbols();
  SymbolFunctions& Functions();
  const std::vector<ThreadFlow>& Flows();

  const SessionOptions options;
  Recording recording;
  RecordingClock clock;
  Threads threads;
  std::shared_ptr<const TraceSource> source;
  std::optional<RecordingCode> code;
  std::optional<StreamInputs> inputs;
  std::atomic<uint64_t> bytes_done = 0;

  LossTally losses;
  bool recorded_losses_known = false;
  std::optional<KeptSums> sums;  // that FindLosses made

  // Made when they are first asked for.
  std::optional<std::vector<ThreadFlow>> flows;
  std::optional<Symbolizer> symbols;
  std::optional<SymbolFunctions> functions;
  std::optional<SourceLines> lines;
  std::unique_ptr<Decoder> index_decoder;
  std::vector<std::unique_ptr<Decoder>> decoders_of_others;  // of indexes made anew
  std::optional<FlowIndex> index;
  std::optional<Player> player;
  std::unique_ptr<SpanPlay> span_play;
};

}  // namespace flowback
