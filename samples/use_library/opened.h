// SPDX-License-Identifier: MIT
// What all of these programs begin with: a recording, its code, and a decoder.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "flowback/base/error.h"
#include "flowback/capture/open.h"
#include "flowback/decode/decoder.h"
#include "flowback/decode/recording_code.h"
#include "flowback/decode/stream_input.h"
#include "flowback/replay/player.h"
#include "flowback/replay/thread_flow.h"

// Each refers to those before it, so they stay where they are.
struct Opened {
  flowback::Recording recording;
  // The files whose instructions ran, as far as they are there.
  std::optional<flowback::RecordingCode> code;
  // For each stream what decoding it needs, and who ran when.
  std::optional<flowback::StreamInputs> inputs;
  std::unique_ptr<flowback::Decoder> decoder;
};

flowback::Result<std::unique_ptr<Opened>> Open(const flowback::OpenOptions& options);
// A perf.data file or folder, or an LLDB bundle.
flowback::Result<std::unique_ptr<Opened>> Open(const std::string& path);

// Tells flow, decoding it on as many threads as the machine runs. The inputs must outlive it.
flowback::Player NewPlayer(const flowback::StreamInputs& inputs);
// As a player takes them; valid as long as the flows are.
std::vector<const flowback::ThreadFlow*> PointersTo(const std::vector<flowback::ThreadFlow>& flows);

// "thread 1234"; of flow that is no thread's for certain, "nobody's, stream 0".
std::string NameOf(int32_t tid, const flowback::Stream* stream);
// What was lost where, and what helps.
std::string TextOf(const flowback::DataLoss& loss);

// Prints the error, and what helps. The program's exit status.
int Report(const char* program, const flowback::Error& error);
