// SPDX-License-Identifier: MIT
// Counts what raw Intel PT bytes say was executed, with the library alone:
//   use_library PT_FILE CODE_FILE ADDRESS
// where CODE_FILE's bytes ran at ADDRESS. Prints "COUNT H", the flow digest.
#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <string>

#include "flowback/capture/open.h"
#include "flowback/decode/decoder.h"
#include "flowback/decode/recording_code.h"

namespace {

using flowback::Result;

Result<flowback::FlowSummary> Summarize(const flowback::OpenOptions& options) {
  Result<flowback::Recording> recording = flowback::OpenRecording(options);
  if (!recording) return flowback::Fail(recording.error());
  auto code = flowback::RecordingCode::Load(*recording, {});
  if (!code) return flowback::Fail(code.error());
  auto decoder = flowback::MakeDecoder("native");
  if (!decoder) return flowback::Fail(decoder.error());

  const flowback::Stream& stream = recording->streams.front();
  flowback::DecodeInput input;
  input.bytes = stream.bytes;
  input.code = &code->ForStream(stream);
  input.config = recording->pt;
  return (*decoder)->Summarize(input);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: use_library PT_FILE CODE_FILE ADDRESS\n");
    return 2;
  }
  flowback::OpenOptions options;
  options.raw_pt = {argv[1]};
  std::error_code error;
  const uint64_t size = std::filesystem::file_size(argv[2], error);
  const auto section =
      flowback::ParseSectionSpec(std::string(argv[2]) + ":0:" + std::to_string(size) + ":" + argv[3]);
  if (!section) {
    std::fprintf(stderr, "use_library: %s\n", section.error().message().c_str());
    return 2;
  }
  options.sections = {*section};

  const Result<flowback::FlowSummary> summary = Summarize(options);
  if (!summary) {
    std::fprintf(stderr, "use_library: %s\n", summary.error().message().c_str());
    return 1;
  }
  std::printf("%" PRIu64 " %016" PRIx64 "\n", summary->digest.count, summary->digest.hash);
  return 0;
}
