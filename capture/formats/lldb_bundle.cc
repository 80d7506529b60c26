// SPDX-License-Identifier: MIT
//
// An LLDB trace bundle is a folder with a description in JSON, the raw trace of each thread or of
// each CPU, and perhaps copies of the modules. A bundle with traces of CPUs has, for each, the
// kernel's SWITCH_CPU_WIDE records as the ring buffer held them.
#include "capture/formats/lldb_bundle.h"

#include <algorithm>
#include <filesystem>

#include "base/mapped_file.h"
#include "capture/formats/input/format.h"
#include "capture/formats/input/text.h"
#include "capture/formats/perf_data/perf_session.h"

namespace flowback {
namespace lldb {
namespace {

// A bundle's description is small; the identifying key is in its first lines.
constexpr size_t kJsonSearch = 64 << 10;
constexpr uint64_t kLargestDescription = uint64_t{64} << 20;

Result<std::shared_ptr<const MappedFile>> Open(const std::string& path, const std::string& key,
                                               const std::string& file) {
  auto opened = MappedFile::Open(file);
  if (opened) return opened;
  return Fail(Error(ErrorCode::kUnreadable, path + ": " + key + ": " + opened.error().message())
                  .Remedy("copy the whole folder of the bundle; its files are named relative to "
                          "its description"));
}

Status AddStream(const std::string& key, const std::string& file, Stream stream,
                 Recording& recording) {
  const auto opened = Open(recording.path, key, file);
  if (!opened) return Fail(opened.error());
  stream.index = static_cast<uint32_t>(recording.streams.size());
  stream.bytes = (*opened)->bytes();
  stream.file = file;
  recording.file_size += stream.bytes.size();
  recording.storage.push_back(*opened);
  recording.files.push_back(*opened);
  if (stream.bytes.empty()) {
    recording.warnings.push_back({file + " is empty: nothing was traced, or the file was cut",
                                  "copy the bundle's folder again, or trace again"});
  }
  recording.streams.push_back(std::move(stream));
  return {};
}

Status AddThreads(const Bundle& bundle, const std::string& folder, Recording& recording) {
  for (const Process& process : bundle.processes) {
    for (const Thread& thread : process.threads) {
      if (thread.trace.empty()) {
        if (bundle.cpus.empty()) {
          recording.warnings.push_back({thread.key + " (thread " +
                                            Dec(static_cast<uint64_t>(thread.tid)) +
                                            ") has no iptTrace: nothing is known of it",
                                        "save the trace again while all threads are traced"});
        }
        continue;
      }
      Stream stream;
      stream.pid = process.pid;
      stream.tid = thread.tid;
      const std::string file = InBundle(folder, thread.trace);
      Status status = AddStream(thread.key + ".iptTrace", file, std::move(stream), recording);
      if (!status) return status;
    }
  }
  return {};
}

// LLDB asks for TID and TIME at the end of each record; the CPU is the file's.
Status AddCpus(const Bundle& bundle, const std::string& folder, perf::RecordingReader& session,
               Recording& recording) {
  for (const Cpu& cpu : bundle.cpus) {
    Stream stream;
    stream.cpu = cpu.id;
    const std::string trace = InBundle(folder, cpu.trace);
    if (Status status = AddStream(cpu.key + ".iptTrace", trace, std::move(stream), recording);
        !status) {
      return status;
    }
    const std::string name = InBundle(folder, cpu.context_switches);
    const auto file = Open(recording.path, cpu.key + ".contextSwitchTrace", name);
    if (!file) return Fail(file.error());
    recording.file_size += (*file)->bytes().size();
    session.SetDefaultCpu(cpu.id);
    const Bytes bytes = (*file)->bytes();
    if (Status status = session.Read({name, bytes, 0, bytes.size()}); !status) return status;
  }
  return {};
}

perf::EventAttr SwitchEvent() {
  perf::EventAttr attr;
  attr.sample_type = perf::kSampleTid | perf::kSampleTime;
  attr.flags = perf::kAttrSampleIdAll;
  return attr;
}

Status AddMaps(const Bundle& bundle, const std::string& folder, const std::string& path,
               perf::RecordingReader& session) {
  for (const Process& process : bundle.processes) {
    auto maps = MapModules(process, folder, path);
    if (!maps) return Fail(maps.error());
    for (MmapRecord& map : *maps) session.Add(std::move(map));
  }
  return {};
}

void AddFacts(const Bundle& bundle, const std::string& folder, Recording& recording) {
  recording.machine.cpu = bundle.cpu;
  if (bundle.time) recording.time = *bundle.time;
  recording.machine.cpuid = std::string(bundle.cpu.intel ? "GenuineIntel" : "unknown") + "," +
                            Dec(bundle.cpu.family) + "," + Dec(bundle.cpu.model) + "," +
                            Dec(bundle.cpu.stepping);
  if (bundle.kernel) {
    recording.images.push_back(
        {InBundle(folder, bundle.kernel->file), bundle.kernel->load_address});
  }
}

}  // namespace
}  // namespace lldb

bool MatchesLldbBundle(const Candidate& candidate) {
  const Bytes head = Slice(candidate.bytes, 0, lldb::kJsonSearch);
  const auto is_space = [](uint8_t c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; };
  const auto first = std::find_if_not(head.begin(), head.end(), is_space);
  constexpr std::string_view kKey = "\"intel-pt\"";
  return first != head.end() && *first == '{' &&
         std::search(first, head.end(), kKey.begin(), kKey.end()) != head.end();
}

Status ReadLldbBundle(const Candidate& candidate, Recording& recording) {
  using namespace lldb;
  if (candidate.bytes.size() > kLargestDescription) {
    return Fail(Error(ErrorCode::kUnreadable, candidate.path + ": a bundle's description of " +
                                                  ByteCount(candidate.bytes.size()) +
                                                  " is no description")
                    .At(0)
                    .Remedy("name the trace.json that `trace save` wrote"));
  }
  const auto json = ParseJson(candidate.bytes, candidate.path);
  if (!json) return Fail(json.error());
  const auto bundle = ReadBundle(*json, candidate.path);
  if (!bundle) return Fail(bundle.error());
  const std::string folder = std::filesystem::path(candidate.path).parent_path();
  perf::RecordingReader session({SwitchEvent()}, ByteOrder::kLittle, recording);
  session.IgnoreRounds();
  session.TakeSidebandOnly();
  if (Status status = AddMaps(*bundle, folder, candidate.path, session); !status) return status;
  if (Status status = AddThreads(*bundle, folder, recording); !status) return status;
  if (Status status = AddCpus(*bundle, folder, session, recording); !status) return status;
  AddFacts(*bundle, folder, recording);
  session.Finish();
  return {};
}

}  // namespace flowback
