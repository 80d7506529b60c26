// SPDX-License-Identifier: MIT
// A recording with its machine, and the listing of its flow to judge that by.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "flowback/session.h"
#include "replay/debug/machine/machine.h"
#include "tests/debug/machine_commands.h"

namespace flowback::listed {

class Opened {
 public:
  explicit Opened(SessionOptions options) {
    options.index = false;
    Result<Session> opened = Session::Open(options);
    if (!opened) ADD_FAILURE() << opened.error().message();
    if (!opened) return;
    session_ = std::make_unique<Session>(*std::move(opened));
    decoder_ = *session_->NewDecoder();
    auto index = FlowIndex::Build(session_->recording(), session_->inputs(), *decoder_,
                                  {.times = true, .segment_bytes = 2048});
    EXPECT_TRUE(index);
    if (!index) return;
    index_ = std::make_unique<FlowIndex>(*std::move(index));
    std::vector<size_t> threads;
    for (size_t i = 0; i < index_->threads().size(); ++i) threads.push_back(i);
    machine_ = std::make_unique<ReplayedMachine>(*index_, threads);
  }

  Session& session() { return *session_; }
  FlowIndex& index() { return *index_; }
  ReplayedMachine& machine() { return *machine_; }

  std::vector<std::vector<Listed>> List() {
    Listing listing;
    for (const Stream& stream : session_->recording().streams)
      EXPECT_TRUE(decoder_->Decode(session_->inputs().For(stream), listing));
    std::vector<std::vector<Listed>> threads;
    for (const ThreadFlow& flow : session_->flows()) {
      std::vector<const ThreadStay*> stays;
      for (const FlowPiece& piece : flow.pieces) stays.push_back(piece.stay);
      auto places = listing.Of(stays);
      if (!places.empty()) threads.push_back(std::move(places));
    }
    return threads;
  }

  // Random commands must lead where the listing says. Returns the number of its places.
  size_t Judge(uint64_t seed, int commands) {
    auto threads = List();
    EXPECT_EQ(machine_->size(), threads.size());
    if (machine_->size() != threads.size() || threads.empty()) return 0;
    size_t places = 0;
    for (const auto& thread : threads) places += thread.size();
    ListedMachine truth(std::move(threads));
    Commands(*machine_, truth, seed).Run(commands);
    return places;
  }

 private:
  std::unique_ptr<Session> session_;
  std::unique_ptr<Decoder> decoder_;
  std::unique_ptr<FlowIndex> index_;
  std::unique_ptr<ReplayedMachine> machine_;
};

}  // namespace flowback::listed
