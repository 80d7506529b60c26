// SPDX-License-Identifier: MIT
#include "capture/record/output/process_files.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "decode/code/images/kept_images.h"

namespace flowback::record {
namespace {

constexpr const char* kName = "perf.data";

const SidebandBase& BaseOf(const SidebandRecord& record) {
  return std::visit([](const auto& one) -> const SidebandBase& { return one; }, record);
}

Error CannotMake(const std::string& path) {
  return Error(ErrorCode::kSystem,
               "can't make '" + path + "' for a process's recording: " + std::strerror(errno))
      .Remedy("TMPDIR=FOLDER with one that you may write to");
}

}  // namespace

std::string SharedImagesOf(const std::string& process_folder) {
  return ImagesFolderOf(process_folder + "/all");
}

// Once one can't be begun, its trace is nowhere, and no more is taken.
Result<ProcessFiles::Process*> ProcessFiles::Of(int32_t pid) {
  if (failure_) return Fail(*failure_);
  auto process = processes_.find(pid);
  if (process == processes_.end()) {
    Result<Process> begun = Begin();
    if (!begun) {
      failure_ = begun.error();
      return Fail(begun.error());
    }
    process = processes_.emplace(pid, *std::move(begun)).first;
  }
  process->second.had_ended = false;
  return &process->second;
}

Result<ProcessFiles::Process> ProcessFiles::Begin() {
  Process process;
  const std::string folder = folder_ + "/" + std::to_string(++number_);
  process.path = folder + "/" + kName;
  if (mkdir(folder.c_str(), S_IRWXU) != 0) return Fail(CannotMake(folder));
  const std::string images = ImagesFolderOf(process.path);
  if (!images_.empty() && symlink(images_.c_str(), images.c_str()) != 0)
    return Fail(CannotMake(images));
  auto file = open_(process.path);
  if (!file)
    return Fail(
        Error(file.error().code(), file.error().message())
            .Remedy("TMPDIR=FOLDER with one that has room, or more open files (ulimit -n)"));
  process.file = std::move(*file);
  return process;
}

// Streams of a process are numbered from 0 in its file.
Result<const RecordedStream*> ProcessFiles::StreamIn(Process& process,
                                                     const RecordedStream& stream) {
  process.live.insert(stream.index);
  const auto [found, is_new] = process.streams.try_emplace(stream.index, stream);
  if (!is_new) return &found->second;
  found->second.index = static_cast<uint32_t>(process.streams.size() - 1);
  if (Status added = process.file->AddStream(found->second); !added)
    return Fail(std::move(added.error()));
  return &found->second;
}

Status ProcessFiles::AddStream(const RecordedStream& stream) {
  const auto process = Of(stream.pid);
  if (!process) return Fail(process.error());
  const auto own = StreamIn(**process, stream);
  return own ? Status() : Fail(own.error());
}

Status ProcessFiles::AddTrace(const RecordedStream& stream, Bytes bytes, uint64_t tsc) {
  const auto process = Of(stream.pid);
  if (!process) return Fail(process.error());
  const auto own = StreamIn(**process, stream);
  if (!own) return Fail(own.error());
  return (*process)->file->AddTrace(**own, bytes, tsc);
}

Status ProcessFiles::EndStream(const RecordedStream& stream) {
  if (const auto process = processes_.find(stream.pid); process != processes_.end())
    process->second.live.erase(stream.index);
  return {};
}

Status ProcessFiles::AddSideband(const SidebandRecord& record) {
  const int32_t pid = BaseOf(record).pid;
  if (std::holds_alternative<LostRecord>(record) || pid <= 0) return {};
  const auto found = Of(pid);
  if (!found) return Fail(found.error());
  Process& process = **found;
  const auto* fork = std::get_if<ForkRecord>(&record);
  if (fork != nullptr && fork->parent_pid != pid)
    if (Status begun = Inherit(process, *fork); !begun) return begun;
  const auto* exit = std::get_if<ExitRecord>(&record);
  process.exits |= exit != nullptr && exit->tid == pid;
  Note(process, record);
  return process.file->AddSideband(record);
}

Status ProcessFiles::AddCode(const MemoryCode& code) {
  const auto found = Of(code.pid);
  if (!found) return Fail(found.error());
  Process& process = **found;
  MmapRecord there;
  there.pid = code.pid;
  there.address = code.address;
  there.size = code.bytes.size();
  Replace(process.facts, there);
  process.facts.push_back(Code{code, {code.bytes.begin(), code.bytes.end()}});
  return process.file->AddCode(code);
}

// The records of the parent, under its own number, and behind them the fork. One whose parent has
// ended long since, or was never seen, has none.
Status ProcessFiles::Inherit(Process& child, const ForkRecord& fork) {
  const auto parent = processes_.find(fork.parent_pid);
  if (parent == processes_.end()) return {};
  child.facts = parent->second.facts;
  for (const Fact& fact : child.facts)
    if (Status told = Tell(*child.file, fact); !told) return told;
  return {};
}

void ProcessFiles::Note(Process& process, const SidebandRecord& record) {
  const auto* comm = std::get_if<CommRecord>(&record);
  if (comm != nullptr && comm->exec) process.facts.clear();
  const auto* fork = std::get_if<ForkRecord>(&record);
  const auto* map = std::get_if<MmapRecord>(&record);
  if (map != nullptr) Replace(process.facts, *map);
  const bool begins = fork != nullptr && fork->pid != fork->parent_pid;
  const bool names = comm != nullptr && comm->tid == comm->pid;
  if (begins || names || map != nullptr) process.facts.emplace_back(record);
}

// Removes older facts in the mapping's range.
void ProcessFiles::Replace(std::vector<Fact>& facts, const MmapRecord& map) {
  const auto is_under = [&](int32_t pid, uint64_t address, uint64_t size) {
    return pid == map.pid && address >= map.address && address + size <= map.address + map.size;
  };
  std::erase_if(facts, [&](const Fact& fact) {
    if (const auto* code = std::get_if<Code>(&fact))
      return is_under(code->told.pid, code->told.address, code->bytes.size());
    const auto* old = std::get_if<MmapRecord>(&std::get<SidebandRecord>(fact));
    return old != nullptr && is_under(old->pid, old->address, old->size);
  });
}

Status ProcessFiles::Tell(RecordingSink& file, const Fact& fact) {
  if (const auto* record = std::get_if<SidebandRecord>(&fact)) return file.AddSideband(*record);
  const auto& code = std::get<Code>(fact);
  MemoryCode told = code.told;
  told.bytes = code.bytes;
  return file.AddCode(told);
}

Status ProcessFiles::HandOver(Process& process) {
  Status finished = process.file->Finish({});
  handed_over_ += process.file->file_size();
  process.file.reset();
  return finished ? take_(process.path) : finished;
}

Status ProcessFiles::Settle() {
  for (auto each = processes_.begin(); each != processes_.end();) {
    Process& process = each->second;
    const bool complete = std::exchange(process.had_ended, process.HasEnded());
    if (!complete || !process.had_ended) {
      ++each;
      continue;
    }
    const Status handed_over = HandOver(process);
    each = processes_.erase(each);
    if (!handed_over) return handed_over;
  }
  return {};
}

Status ProcessFiles::Finish(const RecordSummary&) {
  Status all;
  for (auto& [pid, process] : processes_) {
    Status handed_over = HandOver(process);
    if (all && !handed_over) all = std::move(handed_over);
  }
  processes_.clear();
  return all;
}

uint64_t ProcessFiles::file_size() const {
  uint64_t size = handed_over_;
  for (const auto& [pid, process] : processes_)
    if (process.file != nullptr) size += process.file->file_size();
  return size;
}

}  // namespace flowback::record
