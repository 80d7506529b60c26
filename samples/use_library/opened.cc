// SPDX-License-Identifier: MIT
#include "opened.h"

#include <algorithm>
#include <cstdio>
#include <thread>
#include <utility>

using flowback::Fail;
using flowback::Result;

Result<std::unique_ptr<Opened>> Open(const flowback::OpenOptions& options) {
  auto opened = std::make_unique<Opened>();
  auto recording = flowback::OpenRecording(options);
  if (!recording) return Fail(recording.error());
  opened->recording = *std::move(recording);
  for (const flowback::Warning& warning : opened->recording.warnings)
    std::fprintf(stderr, "%s\n", warning.text.c_str());
  auto code = flowback::RecordingCode::Load(opened->recording, {});
  if (!code) return Fail(code.error());
  opened->code.emplace(*std::move(code));
  opened->inputs.emplace(opened->recording, *opened->code, flowback::Resync::kEarliest);
  auto decoder = opened->inputs->source().MakeDecoder("");
  if (!decoder) return Fail(decoder.error());
  opened->decoder = *std::move(decoder);
  return opened;
}

Result<std::unique_ptr<Opened>> Open(const std::string& path) {
  flowback::OpenOptions options;
  options.input = path;
  return Open(options);
}

flowback::Player NewPlayer(const flowback::StreamInputs& inputs) {
  return flowback::Player(inputs, [&inputs] { return inputs.source().MakeDecoder(""); },
                          {.threads = std::max(1U, std::thread::hardware_concurrency())});
}

std::vector<const flowback::ThreadFlow*> PointersTo(
    const std::vector<flowback::ThreadFlow>& flows) {
  std::vector<const flowback::ThreadFlow*> pointers;
  for (const flowback::ThreadFlow& flow : flows) pointers.push_back(&flow);
  return pointers;
}

std::string NameOf(int32_t tid, const flowback::Stream* stream) {
  if (tid >= 0) return "thread " + std::to_string(tid);
  return "nobody's, stream " + std::to_string(stream != nullptr ? stream->index : 0);
}

std::string TextOf(const flowback::DataLoss& loss) {
  return std::string(flowback::Name(loss.cause)) + ", " + std::to_string(loss.end - loss.begin) +
         " bytes at " + std::to_string(loss.begin) + ": " + flowback::Remedy(loss.cause);
}

int Report(const char* program, const flowback::Error& error) {
  std::fprintf(stderr, "%s: %s\n", program, error.message().c_str());
  if (!error.remedy().empty()) std::fprintf(stderr, "  %s\n", error.remedy().c_str());
  return error.code() == flowback::ErrorCode::kUsage ? 2 : 1;
}
