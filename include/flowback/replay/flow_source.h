// SPDX-License-Identifier: MIT
// What every analysis of flow needs: how streams are decoded, by which decoders, and which part.
#pragma once

#include <functional>
#include <memory>

#include "flowback/base/error.h"
#include "flowback/decode/decoder.h"
#include "flowback/decode/stream_input.h"
#include "flowback/replay/thread_flow.h"

namespace flowback {

struct FlowSource {
  const StreamInputs& inputs;
  // Makes a decoder for each thread that decodes. Any thread may call it.
  std::function<Result<std::unique_ptr<Decoder>>()> make_decoder;
  // Returns whether a piece is decoded at all. Any thread may call it. Empty: every piece is.
  std::function<bool(const FlowPiece& piece)> reaches{};
};

}  // namespace flowback
