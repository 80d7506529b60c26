// SPDX-License-Identifier: MIT
// What the step engine tells its sink: programs, mappings, names, trace bytes.
#include <algorithm>
#include <utility>

#include "capture/record/file_build_id.h"
#include "capture/record/ptrace_calls.h"
#include "capture/record/step_engine.h"
#include "capture/record/step_thread.h"

namespace flowback::record {
namespace {

constexpr size_t kFlushBytes = 64 * 1024;
constexpr uint64_t kFlushNanoseconds = 500'000'000;

}  // namespace

void StepEngine::AnnounceProgram(Thread& thread, bool exec) {
  code_.Reset();
  if (const auto ip = ReadIp(thread.tid)) thread.ip = *ip;
  UpdateMode(thread);
  AnnounceComm(thread, exec);
  AnnounceMappings(thread);
  Check(sink_.AddSideband(Sideband<ItraceStartRecord>(thread)));
}

void StepEngine::AnnounceMappings(Thread& thread) {
  for (const ExecutableMapping& mapping : code_.Refresh()) {
    auto record = Sideband<MmapRecord>(thread);
    record.address = mapping.begin;
    record.size = mapping.end - mapping.begin;
    record.file_offset = mapping.file_offset;
    record.path = mapping.path;
    if (mapping.path == "[vdso]") {
      const auto bytes = code_.ReadMemory(mapping.begin, mapping.end - mapping.begin);
      record.build_id = BuildIdOf(bytes);
      Check(sink_.AddCode({.address = mapping.begin, .name = mapping.path, .bytes = bytes}));
    } else if (mapping.has_file) {
      record.build_id = BuildIdOfFile(mapping.path);
    }
    Check(sink_.AddSideband(record));
  }
}

void StepEngine::AnnounceComm(Thread& thread, bool exec) {
  auto record = Sideband<CommRecord>(thread);
  record.comm = ReadComm(pid_, thread.tid);
  record.exec = exec;
  Check(sink_.AddSideband(record));
}

// Soon enough that a killed recorder leaves most of its trace.
bool StepEngine::FlushDue(const Thread& thread) const {
  if (thread.generator.size() >= kFlushBytes) return true;
  return clock_.ToNanoseconds(TraceClock::Now()) > thread.flush_time + kFlushNanoseconds;
}

void StepEngine::FlushTrace(Thread& thread) {
  const uint64_t now = TraceClock::Now();
  thread.flush_time = clock_.ToNanoseconds(now);
  const std::vector<uint8_t> bytes = thread.generator.Take();
  if (bytes.empty()) return;
  summary_.bytes += bytes.size();
  summary_.threads[thread.stream.index].bytes += bytes.size();
  Check(sink_.AddTrace(thread.stream, bytes, now));
}

void StepEngine::KeepAnonymousCode() {
  for (const auto& [address, bytes] : code_.anonymous_pages())
    Check(sink_.AddCode({.address = address, .name = "//anon", .bytes = bytes}));
  if (!code_.anonymous_pages().empty())
    Note(
        "the program ran code that is in no file: it is kept in the raw output only, as it was "
        "when it ran first");
}

void StepEngine::Note(const std::string& text) {
  auto& notes = summary_.notes;
  if (std::find(notes.begin(), notes.end(), text) == notes.end()) notes.push_back(text);
}

void StepEngine::Check(Status status) {
  if (status_ && !status) status_ = std::move(status);
}

}  // namespace flowback::record
