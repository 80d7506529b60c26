// SPDX-License-Identifier: MIT
// Steps backwards from the end of each thread:
//   steps_back RECORDING COUNT    that many instructions
// Prints "NUMBER ADDRESS" for each, the last one first, with the events and losses between them.
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "flowback/flowback.h"
#include "report.h"

namespace {

using flowback::Fail;
using flowback::Status;
using flowback::ThreadCursor;

void Print(const ThreadCursor& cursor) {
  switch (cursor.kind()) {
    case ThreadCursor::Kind::kInstruction:
      std::printf("%" PRIu64 " %" PRIx64 "\n", cursor.number(), cursor.instruction().address);
      break;
    case ThreadCursor::Kind::kEvent:
      std::printf("# %s\n", flowback::Name(cursor.event().kind));
      break;
    case ThreadCursor::Kind::kLoss:
      std::printf("# %s\n", TextOf(cursor.loss()).c_str());
      break;
    case ThreadCursor::Kind::kUnknown:
      std::printf("# unknown\n");
      break;
    case ThreadCursor::Kind::kEnd:
      break;
  }
}

Status StepBack(const std::string& path, uint64_t count) {
  auto session = flowback::Session::Open(path);
  if (!session) return Fail(session.error());
  // Decodes everything once; after that, any place is near.
  const auto index = session->Index();
  if (!index) return Fail(index.error());
  for (const flowback::IndexedThread& thread : (*index)->threads()) {
    if (thread.shares.empty()) continue;
    std::printf("thread %d\n", thread.tid);
    ThreadCursor cursor(**index, thread);
    cursor.ToEnd();
    for (uint64_t left = count; left > 0 && cursor.Previous();) {
      Print(cursor);
      left -= cursor.kind() == ThreadCursor::Kind::kInstruction ? 1 : 0;
    }
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  return ExitStatus("steps_back", argc == 3 ? StepBack(argv[1], std::strtoull(argv[2], nullptr, 10))
                                            : Fail(flowback::ErrorCode::kUsage,
                                                   "usage: steps_back RECORDING COUNT"));
}
