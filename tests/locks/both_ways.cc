// SPDX-License-Identifier: MIT
// both_ways RECORDING...: finds the waits of each recording by playing all of its flow, and by
// passing over what can't be a wait, in parts of several sizes. Prints how many parts were passed
// over; its status is 1 where the answers differ.
#include <cstdint>
#include <cstdio>
#include <string>

#include "flowback/session.h"
#include "replay/locks/locks.h"
#include "replay/writers/locks/locks_view.h"
#include "replay/writers/writers.h"

namespace {

using namespace flowback;

std::string FindIn(Session& session, const LockOptions& options) {
  const TimelineSources sources = session.TimelineInput();
  const Result<LockReport> report =
      FindLocks(sources, FlowsOf(session.threads().owners()), options, nullptr);
  if (!report) return report.error().message();
  LocksView view;
  view.report = &*report;
  view.threads = &session.threads();
  view.names = {.lines = &session.lines(),
                .symbolizer = &session.symbols(),
                .recorded_path = &sources.recorded_path};
  view.input = "recording";
  view.all = view.paths = true;
  StringSink sink;
  WriteLocksJson(view, sink);
  WriteLocksText(view, sink);
  return sink.text();
}

struct Way {
  bool blocking = false;
  PassOver how = PassOver::kAlways;
  uint64_t bytes = 0;  // of a part
};

bool IsEqual(const char* path, Session& session, const Way& way, const std::string& all) {
  uint64_t passed_over = 0;
  const std::string parts = FindIn(session, {.paths = true,
                                             .blocking = way.blocking,
                                             .pass_over = way.how,
                                             .segment_bytes = way.bytes,
                                             .passed_over = &passed_over});
  const char* calls = way.how == PassOver::kByLeaps ? "leapt" : "left or leapt";
  std::printf("%s: %llu parts of %llu bytes passed over, calls %s\n", path,
              static_cast<unsigned long long>(passed_over),
              static_cast<unsigned long long>(way.bytes), calls);
  if (parts == all) return true;
  std::fprintf(stderr, "%s: in parts of %llu bytes, calls %s:\n%s\nall:\n%s\n", path,
               static_cast<unsigned long long>(way.bytes), calls, parts.c_str(), all.c_str());
  return false;
}

bool AreEqual(const char* path) {
  SessionOptions options;
  options.open.input = path;
  Result<Session> session = Session::Open(options);
  if (!session) {
    std::fprintf(stderr, "%s\n", session.error().message().c_str());
    return false;
  }
  bool equal = true;
  for (const bool blocking : {false, true}) {
    const std::string all =
        FindIn(*session, {.paths = true, .blocking = blocking, .pass_over = PassOver::kNever});
    for (const uint64_t bytes : {4096, 16384, 65536})
      equal = IsEqual(path, *session, {blocking, PassOver::kAlways, bytes}, all) && equal;
    if (!blocking)
      equal = IsEqual(path, *session, {blocking, PassOver::kByLeaps, 16384}, all) && equal;
  }
  return equal;
}

}  // namespace

int main(int argc, char** argv) {
  bool equal = true;
  for (int i = 1; i < argc; ++i) equal = AreEqual(argv[i]) && equal;
  return equal ? 0 : 1;
}
