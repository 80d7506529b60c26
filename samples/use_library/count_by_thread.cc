// SPDX-License-Identifier: MIT
// Counts what each thread executed:
//   count_by_thread RECORDING                    a perf.data file
//   count_by_thread PT_FILE CODE_FILE ADDRESS    raw Intel PT, of CODE_FILE's bytes at ADDRESS
// Prints "COUNT H THREAD" for each: the number of instructions, and a hash over their addresses in
// order. Two decoders agree where both numbers do. Losses follow.
#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>

#include "flowback/flowback.h"
#include "report.h"

namespace {

using flowback::Fail;
using flowback::Result;
using flowback::Status;

Result<flowback::SessionOptions> Understand(int argc, char** argv) {
  flowback::SessionOptions options;
  if (argc == 2) {
    options.open.input = argv[1];
    return options;
  }
  if (argc != 4)
    return Fail(flowback::ErrorCode::kUsage,
                "usage: count_by_thread RECORDING | PT_FILE CODE_FILE ADDRESS");
  options.open.raw_pt = {argv[1]};
  std::error_code error;
  const uint64_t size = std::filesystem::file_size(argv[2], error);
  if (error)
    return Fail(flowback::ErrorCode::kUnreadable, std::string(argv[2]) + ": " + error.message());
  const auto section = flowback::ParseSectionSpec(std::string(argv[2]) +
                                                  ":0:" + std::to_string(size) + ":" + argv[3]);
  if (!section) return Fail(section.error());
  options.open.sections = {*section};
  return options;
}

Status Count(const flowback::SessionOptions& options) {
  auto session = flowback::Session::Open(options);
  if (!session) return Fail(session.error());
  const auto sums = session->Sum();
  if (!sums) return Fail(sums.error());
  for (const auto& [thread, totals] : *sums) {
    std::printf("%" PRIu64 " %016" PRIx64 " %s\n", totals.digest.count, totals.digest.hash,
                thread->label.c_str());
    for (const flowback::DataLoss& loss : totals.losses)
      std::printf("# %s\n", TextOf(loss).c_str());
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  const auto options = Understand(argc, argv);
  return ExitStatus("count_by_thread", options ? Count(*options) : Fail(options.error()));
}
