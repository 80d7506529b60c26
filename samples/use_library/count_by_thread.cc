// SPDX-License-Identifier: MIT
// Counts what each thread executed:
//   count_by_thread RECORDING                    a perf.data file
//   count_by_thread PT_FILE CODE_FILE ADDRESS    raw Intel PT, of CODE_FILE's bytes at ADDRESS
// Prints "COUNT H" with the thread's name for each: instructions, and a hash over their addresses
// in order. Two decoders agree where both numbers do. What was lost follows.
#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <map>
#include <string>
#include <system_error>

#include "opened.h"

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
                "usage: count_by_thread RECORDING | PT_FILE CODE_FILE ADDRESS");
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

Status Count(const flowback::OpenOptions& options) {
  const auto opened = Open(options);
  if (!opened) return Fail(opened.error());
  // Each stream once. It may have parts of several threads, and a thread parts in several streams.
  std::map<std::pair<const flowback::Stream*, const flowback::ThreadStay*>, flowback::FlowTotals>
      parts;
  for (const flowback::Stream& stream : (*opened)->recording.streams) {
    auto summary = (*opened)->decoder->Summarize((*opened)->inputs->For(stream));
    if (!summary) return Fail(summary.error());
    for (flowback::FlowPart& part : summary->parts) parts[{&stream, part.stay}].Append(part.totals);
  }
  for (const flowback::ThreadFlow& flow :
       flowback::ThreadFlows((*opened)->recording, *(*opened)->inputs)) {
    flowback::FlowTotals all;
    for (const flowback::FlowPiece& piece : flow.pieces)
      all.Append(parts[{piece.stream, piece.stay}]);
    std::printf("%" PRIu64 " %016" PRIx64 " %s\n", all.digest.count, all.digest.hash,
                NameOf(flow.tid, flow.pieces.front().stream).c_str());
    for (const flowback::DataLoss& loss : all.losses) std::printf("# %s\n", TextOf(loss).c_str());
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  const auto options = Understand(argc, argv);
  const Status done = options ? Count(*options) : Fail(options.error());
  return done ? 0 : Report("count_by_thread", done.error());
}
