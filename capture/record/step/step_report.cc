// SPDX-License-Identifier: MIT
// The step engine's calls to its sink: programs, mappings, names, trace bytes.
#include <elf.h>
#include <errno.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/proc_path.h"
#include "capture/record/image/file_build_id.h"
#include "capture/record/step/step_engine.h"
#include "capture/record/step/step_thread.h"
#include "capture/record/target/process_maps.h"
#include "capture/record/target/ptrace_calls.h"
#include "capture/record/watch/watched_functions.h"

namespace flowback::record {
namespace {

constexpr size_t kFlushBytes = 64 * 1024;
constexpr std::chrono::milliseconds kFlushInterval{500};

}  // namespace

// After exec.
void StepEngine::AnnounceProgram(Thread& thread) {
  thread.process.announced = true;
  // The kernel hides the memory of what may be executed and not read.
  const pid_t pid = thread.process.pid;
  if (access(ProcPath(pid, "exe").c_str(), R_OK) != 0 && errno == EACCES)
    AddNote("process " + std::to_string(pid) +
            " ran a program that this user may execute but not read: its flow was not recorded");
  thread.process.code.ReadThrough(thread.tid);
  thread.process.code.Reset();
  thread.process.watch.Reset();
  if (const auto ip = ReadIp(thread.tid)) thread.ip = *ip;
  UpdateMode(thread);
  AnnounceComm(thread, true);
  AnnounceMappings(thread);
  Check(sink_.AddSideband(Sideband<ItraceStartRecord>(thread)));
}

// To every process that has this memory: the kernel reports them to the caller only.
void StepEngine::AnnounceMappings(Thread& thread) {
  thread.process.code.ReadThrough(thread.tid);
  AnnounceMappingsOf(thread.process, thread.tid);
  for (const auto& [pid, process] : processes_) {
    if (pid == thread.process.pid || process->memory != thread.process.memory) continue;
    process->code.ReadThrough(thread.tid);
    AnnounceMappingsOf(*process, pid);
  }
  if (passes_) Redirect(thread.process);
}

void StepEngine::AnnounceMappingsOf(Process& process, pid_t tid) {
  for (const ExecutableMapping& mapping : process.code.Refresh()) {
    auto record = Sideband<MmapRecord>(process.pid, tid);
    record.address = mapping.begin;
    record.size = mapping.end - mapping.begin;
    record.file_offset = mapping.file_offset;
    record.path = mapping.path;
    Watch(process, mapping);
    if (mapping.path == "[vdso]") {
      const auto bytes = process.code.ReadMemory(mapping.begin, mapping.end - mapping.begin);
      record.build_id = BuildIdOf(bytes);
      Check(sink_.AddSideband(record));
      TellVdso(record, bytes);
      continue;
    }
    if (const MappedImage* image = process.code.ImageOf(mapping)) {
      record.build_id = image->build_id;
      sink_.AddImage(record, *image);
    }
    Check(sink_.AddSideband(record));
  }
}

// A reader finds the vDSO of 64-bit processes in itself. Another one is kept as memory is that is
// in no file.
void StepEngine::TellVdso(const MmapRecord& mapping, Bytes bytes) {
  MemoryCode code{.address = mapping.address, .name = mapping.path, .bytes = bytes};
  const bool own_kind = bytes.size() > EI_CLASS && bytes[EI_CLASS] == ELFCLASS64;
  if (!own_kind && !bytes.empty()) {
    code.time = mapping.time;
    code.pid = mapping.pid;
    code.tid = mapping.tid;
  }
  Check(sink_.AddCode(code));
}

void StepEngine::Watch(Process& process, const ExecutableMapping& mapping) {
  const std::string path = mapping.has_file ? mapping.path : "";
  for (const FunctionWatch::Found& found :
       process.watch.OnMapping(mapping.begin, mapping.end, mapping.file_offset, path))
    NoteFunction(found.turns, found.address == 0, found.text, summary_);
}

void StepEngine::AnnounceComm(Thread& thread, bool exec) {
  auto record = Sideband<CommRecord>(thread);
  record.comm = ReadComm(thread.process.pid, thread.tid);
  record.exec = exec;
  Check(sink_.AddSideband(record));
}

// Soon enough that a killed recorder leaves most of its trace.
bool StepEngine::FlushDue(const Thread& thread) const {
  if (thread.generator.size() >= kFlushBytes) return true;
  return std::chrono::steady_clock::now() > thread.flushed + kFlushInterval;
}

void StepEngine::FlushTrace(Thread& thread) {
  thread.flushed = std::chrono::steady_clock::now();
  sink_.CountFlow(summary_.instructions, 0);
  const std::vector<uint8_t> bytes = thread.generator.Take();
  if (bytes.empty()) return;
  summary_.bytes += bytes.size();
  summary_.threads[thread.stream.index].bytes += bytes.size();
  Check(sink_.AddTrace(thread.stream, bytes, clock_.Now()));
}

// Reads the instruction that is to run next. Where its code is new, all threads that may run it get
// a time between what they did before and what they do from now on.
void StepEngine::FetchNext(Thread& thread) {
  StoppedCodeReader& code = thread.process.code;
  code.ReadThrough(thread.tid);
  thread.current = code.Fetch(thread.ip, thread.mode);
  const std::vector<uint64_t> changed = code.TakeChangedPages();
  if (changed.empty()) return;
  const uint64_t time = clock_.ToNanoseconds(thread.generator.clock().Tick());
  for (const uint64_t page : changed) {
    code_changed_ |= !code_pages_.insert({thread.process.pid, page}).second;
    Check(sink_.AddCode({.address = page,
                         .name = "//anon",
                         .bytes = code.Page(page),
                         .time = time,
                         .pid = thread.process.pid,
                         .tid = thread.tid}));
  }
  thread.generator.clock().Tick();  // what runs from now on is later
  for (const auto& [tid, other] : threads_)
    if (&other->process == &thread.process) other->generator.Sync(other->ip, other->mode);
}

void StepEngine::TellChangedCode() {
  if (code_changed_ && !options_.files.raw_directory.empty())
    AddNote(
        "the program changed code while it ran: the raw output's command reads it as it was first");
}

void StepEngine::AddNote(const std::string& text) {
  auto& notes = summary_.notes;
  if (std::find(notes.begin(), notes.end(), text) == notes.end()) notes.push_back(text);
}

void StepEngine::Check(Status status) {
  if (status_ && !status) status_ = std::move(status);
}

}  // namespace flowback::record
