// SPDX-License-Identifier: MIT
// The engines every recording is decoded with, and what tests ask of their results.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "flowback/decode/decoder.h"

namespace flowback::golden {

inline const std::string kEngines[] = {"native", "libipt"};

// Null when this build leaves the engine out; a failed test when it is missing otherwise.
inline std::unique_ptr<Decoder> Engine(const std::string& name) {
  Result<std::unique_ptr<Decoder>> decoder = MakeDecoder(name);
  if (decoder) return std::move(*decoder);
  EXPECT_EQ(name, "libipt") << decoder.error().message();
  EXPECT_EQ(decoder.error().code(), ErrorCode::kUnsupported) << decoder.error().message();
  return nullptr;
}

// The losses but for the bytes before a stream's first PSB, which any recording may start with.
inline std::vector<DataLoss> RealLosses(const std::vector<DataLoss>& losses) {
  std::vector<DataLoss> rest;
  for (const DataLoss& loss : losses)
    if (loss.cause != LossCause::kNoSync || loss.begin != 0) rest.push_back(loss);
  return rest;
}

inline std::string Describe(const std::vector<DataLoss>& losses) {
  std::string text;
  for (const DataLoss& loss : losses)
    text += std::string(Name(loss.cause)) + " [" + std::to_string(loss.begin) + ", " +
            std::to_string(loss.end) + ") " + loss.detail + "\n";
  return text;
}

// Law 1 of the product.
inline void ExpectEveryByteCounted(const FlowSummary& summary, size_t stream_size) {
  EXPECT_EQ(summary.bytes_decoded + summary.bytes_padding + summary.bytes_lost, stream_size);
  uint64_t in_losses = 0;
  for (const DataLoss& loss : summary.losses) in_losses += loss.bytes();
  EXPECT_EQ(in_losses, summary.bytes_lost);
}

}  // namespace flowback::golden

#define FLOWBACK_NEEDS_ENGINE(decoder) \
  if ((decoder) == nullptr) GTEST_SKIP() << "this build leaves the engine out"
