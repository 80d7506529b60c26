// SPDX-License-Identifier: MIT
// Counts what a recording says was executed, with the library alone:
//   use_library RECORDING                    a perf.data file
//   use_library PT_FILE CODE_FILE ADDRESS    raw Intel PT, of CODE_FILE's bytes at ADDRESS
// Prints "COUNT H" for each stream: the flow digest.
#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>

#include "flowback/capture/open.h"
#include "flowback/decode/decoder.h"
#include "flowback/decode/recording_code.h"

namespace {

using flowback::Fail;
using flowback::Result;
using flowback::Status;

Result<flowback::OpenOptions> Understand(int argc, char** argv) {
  flowback::OpenOptions options;
  if (argc == 2) {
    options.input = argv[1];
    return options;
  }
  if (argc != 4)
    return Fail(flowback::ErrorCode::kUsage,
                "usage: use_library RECORDING | PT_FILE CODE_FILE ADDRESS");
  options.raw_pt = {argv[1]};
  std::error_code error;
  const uint64_t size = std::filesystem::file_size(argv[2], error);
  if (error)
    return Fail(flowback::ErrorCode::kUnreadable, std::string(argv[2]) + ": " + error.message());
  const auto section = flowback::ParseSectionSpec(std::string(argv[2]) +
                                                  ":0:" + std::to_string(size) + ":" + argv[3]);
  if (!section) return Fail(section.error());
  options.sections = {*section};
  return options;
}

Status PrintDigests(const flowback::OpenOptions& options) {
  const auto recording = flowback::OpenRecording(options);
  if (!recording) return Fail(recording.error());
  const auto code = flowback::RecordingCode::Load(*recording, {});
  if (!code) return Fail(code.error());
  const auto decoder = flowback::MakeDecoder("native");
  if (!decoder) return Fail(decoder.error());

  for (const flowback::Stream& stream : recording->streams) {
    flowback::DecodeInput input;
    input.bytes = stream.bytes;
    input.code = &code->ForStream(stream);
    input.config = recording->pt;
    input.gaps = stream.gaps;
    const auto summary = (*decoder)->Summarize(input);
    if (!summary) return Fail(summary.error());
    std::printf("%" PRIu64 " %016" PRIx64 "\n", summary->digest.count, summary->digest.hash);
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  const auto options = Understand(argc, argv);
  const Status done = options ? PrintDigests(*options) : Fail(options.error());
  if (done) return 0;
  std::fprintf(stderr, "use_library: %s\n", done.error().message().c_str());
  return done.error().code() == flowback::ErrorCode::kUsage ? 2 : 1;
}
