// SPDX-License-Identifier: MIT
#include "capture/record/event_recorder/event_preamble.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <sstream>
#include <string>

#include "base/proc_path.h"
#include "capture/formats/perf_records/perf_layout.h"
#include "capture/kernel/event_default.h"
#include "capture/record/image/mapped_image.h"
#include "capture/record/perf_data/sideband_buffers.h"
#include "capture/record/target/process_maps.h"

namespace flowback::record {
namespace {

using namespace perf;
using kernel::PlannedEvent;

// The event that tracks tasks and mappings.
size_t TrackerOf(const EventSet& events) {
  const auto& plan = events.plan();
  const auto tracker =
      std::ranges::find_if(plan, [](const PlannedEvent& event) { return event.attr.mmap != 0; });
  return tracker == plan.end() ? 0 : static_cast<size_t>(tracker - plan.begin());
}

// Writes records of one tracking event.
class Teller {
 public:
  Teller(const EventSet& events, EventFile& file) : file_(file) {
    const size_t tracker = TrackerOf(events);
    attr_ = events.plan()[tracker].attr;
    const RecordedEvents recorded = events.Recorded();
    if (!recorded[tracker].ids.empty()) id_ = recorded[tracker].ids[0];
  }

  template <class Sideband>
  void Tell(const Sideband& sideband) {
    RecordBuffer record = EncodeSideband(sideband);
    AddSampleId(sideband, attr_, id_, record);
    if (Status written = file_.Add(record.Done()); !written && status_) status_ = written;
  }
  // The kernel's own code, as perf names it: by the symbol that its address is of.
  void TellKernel(uint64_t begin, uint64_t end) {
    SidebandBase of_kernel;
    of_kernel.tid = 0;
    RecordBuffer record(kRecordMmap, kMiscKernel);
    record.Thread(of_kernel);
    record.U64(begin);
    record.U64(end - begin);
    record.U64(begin);
    record.Text("[kernel.kallsyms]_text", kRecordUnit);
    AddSampleId(of_kernel, attr_, id_, record);
    if (Status written = file_.Add(record.Done()); !written && status_) status_ = written;
  }
  const Status& status() const { return status_; }

 private:
  EventFile& file_;
  perf_event_attr attr_{};
  uint64_t id_ = 0;
  Status status_;
};

template <class Sideband>
Sideband Of(pid_t pid, pid_t tid) {
  Sideband record;
  record.pid = pid;
  record.tid = tid;
  return record;
}

void TellThread(pid_t pid, pid_t tid, Teller& teller) {
  auto comm = Of<CommRecord>(pid, tid);
  comm.comm = ReadComm(pid, tid);
  teller.Tell(comm);
}

void TellMappings(pid_t pid, Teller& teller) {
  for (const ExecutableMapping& mapping : ReadExecutableMappings(pid)) {
    auto map = Of<MmapRecord>(pid, pid);
    map.address = mapping.begin;
    map.size = mapping.end - mapping.begin;
    map.file_offset = mapping.file_offset;
    map.path = mapping.path;
    if (mapping.has_file) map.build_id = MappedImage::Open(pid, mapping)->build_id;
    teller.Tell(map);
  }
}

void TellProcess(pid_t pid, const kernel::SystemKernel& kernel, Teller& teller) {
  TellThread(pid, pid, teller);
  for (const std::string& name : kernel.List(ProcPath(pid, "task"))) {
    pid_t tid = -1;
    std::from_chars(name.data(), name.data() + name.size(), tid);
    if (tid <= 0 || tid == pid) continue;
    auto fork = Of<ForkRecord>(pid, tid);
    fork.parent_pid = fork.parent_tid = pid;
    teller.Tell(fork);
    TellThread(pid, tid, teller);
  }
  TellMappings(pid, teller);
}

std::vector<pid_t> AllProcesses(const kernel::SystemKernel& kernel) {
  std::vector<pid_t> pids;
  for (const std::string& name : kernel.List("/proc")) {
    pid_t pid = -1;
    const auto [stop, code] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (code == std::errc() && stop == name.data() + name.size()) pids.push_back(pid);
  }
  return pids;
}

// "n:d" or a number; 1 and 0 if missing.
std::pair<uint64_t, uint64_t> Ratio(const kernel::SystemKernel& kernel, const std::string& file) {
  std::istringstream text(kernel.ReadFile(file).value_or("0:1"));
  uint64_t numerator = 0, denominator = 1;
  char colon = 0;
  text >> numerator >> colon >> denominator;
  return {numerator, denominator == 0 ? 1 : denominator};
}

// The bits of a term, all set.
uint64_t BitsOf(const kernel::Pmu& pmu, std::string_view term) {
  const auto bits = pmu.format.find(term);
  if (bits == pmu.format.end()) return 0;
  perf_event_attr attr{};
  bits->second.Set(attr, bits->second.largest());
  return attr.config;
}

// In the order of the PtInfo enumeration.
Status TellTraceInfo(const EventSet& events, const PlannedEvent& trace, bool snapshots,
                     const kernel::SystemKernel& kernel, EventFile& file) {
  constexpr uint64_t kSwitchRecords = 2;
  const kernel::Pmu& pmu = *trace.wanted.pmu;
  const std::string folder = std::string(kernel::kPmuFolder) + "/" + pmu.name;
  const perf_event_mmap_page& page = events.buffers().front().ring.page();
  const auto crystal = Ratio(kernel, folder + "/tsc_art_ratio");
  const bool per_cpu = events.buffers().front().cpu >= 0;
  const std::string& filter = trace.wanted.filter;
  RecordBuffer record(kRecordAuxtraceInfo, 0);
  record.U32(kAuxtraceIntelPt);
  record.U32(0);
  const uint64_t fields[] = {
      pmu.type,
      page.time_shift,
      page.time_mult,
      page.time_zero,
      page.cap_user_time_zero,
      BitsOf(pmu, "tsc"),
      BitsOf(pmu, "noretcomp"),
      events.plan()[TrackerOf(events)].attr.context_switch ? kSwitchRecords : 0,
      snapshots,
      per_cpu,
      BitsOf(pmu, "mtc"),
      BitsOf(pmu, "mtc_period"),
      crystal.first,
      crystal.second,
      BitsOf(pmu, "cyc"),
      Ratio(kernel, folder + "/max_nonturbo_ratio").first,
      filter.size()};
  for (const uint64_t field : fields) record.U64(field);
  record.Append({reinterpret_cast<const uint8_t*>(filter.data()), filter.size()});
  record.Zeros(-filter.size() % kRecordUnit);
  record.U64(0);  // no event trace
  return file.Add(record.Done());
}

Status WriteTimeConversion(const perf_event_mmap_page& page, EventFile& file) {
  if (!page.cap_user_time_zero) return {};
  RecordBuffer record(kRecordTimeConv, 0);
  record.U64(page.time_shift);
  record.U64(page.time_mult);
  record.U64(page.time_zero);
  record.U64(0);             // cycles of a short counter: the TSC is none
  record.U64(~uint64_t{0});  // its mask
  record.U8(1);              // zero is valid
  record.U8(0);              // no short counter
  record.Zeros(6);
  return file.Add(record.Done());
}

Status TellIds(const EventSet& events, EventFile& file) {
  constexpr uint64_t kAny = ~uint64_t{0};
  constexpr size_t kMost = 2000;  // of one record, which has 64 KiB at most
  std::vector<uint64_t> ids;
  for (const RecordedEvent& event : events.Recorded())
    ids.insert(ids.end(), event.ids.begin(), event.ids.end());
  for (size_t begin = 0; begin < ids.size(); begin += kMost) {
    const size_t end = std::min(begin + kMost, ids.size());
    RecordBuffer record(kRecordIdIndex, 0);
    record.U64(end - begin);
    for (size_t i = begin; i < end; ++i) {
      record.U64(ids[i]);
      record.U64(0);
      record.U64(kAny);
      record.U64(kAny);
    }
    if (Status written = file.Add(record.Done()); !written) return written;
  }
  return {};
}

// Zero where the kernel hides it from this user.
uint64_t AddressOf(std::string_view symbols, std::string_view name) {
  const std::string ending = " T " + std::string(name) + "\n";
  const size_t at = symbols.find(ending);
  if (at == std::string_view::npos) return 0;
  const size_t begin = symbols.rfind('\n', at) + 1;  // npos + 1: it is the first line
  uint64_t address = 0;
  std::from_chars(symbols.data() + begin, symbols.data() + at, address, 16);
  return address;
}

void TellKernelCode(const EventSet& events, const kernel::SystemKernel& kernel, Teller& teller) {
  const bool of_kernel = std::ranges::any_of(events.plan(), [](const PlannedEvent& event) {
    return event.attr.exclude_kernel == 0 && !event.wanted.is_dummy();
  });
  if (!of_kernel) return;
  const std::string symbols = kernel.ReadFile("/proc/kallsyms").value_or("");
  const uint64_t begin = AddressOf(symbols, "_text");
  const uint64_t end = AddressOf(symbols, "_etext");
  if (begin != 0 && end > begin) teller.TellKernel(begin, end);
}

// Returns a value of the first CPU: "vendor_id\t: GenuineIntel".
std::string CpuInfo(const kernel::SystemKernel& kernel, std::string_view key) {
  std::istringstream text(kernel.ReadFile("/proc/cpuinfo").value_or(""));
  for (std::string line; std::getline(text, line);) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos || colon + 2 > line.size()) continue;
    const size_t end = line.find_last_not_of(" \t", colon - 1);
    if (line.substr(0, end + 1) == key) return line.substr(colon + 2);
  }
  return "";
}

}  // namespace

void AddSampleId(const SidebandBase& base, const perf_event_attr& attr, uint64_t id,
                 RecordBuffer& record) {
  if ((attr.sample_type & kSampleTid) != 0) record.Thread(base);
  if ((attr.sample_type & kSampleTime) != 0) record.U64(0);
  if ((attr.sample_type & kSampleId) != 0) record.U64(id);
  if ((attr.sample_type & kSampleStreamId) != 0) record.U64(id);
  if ((attr.sample_type & kSampleCpu) != 0) record.U64(0);
  if ((attr.sample_type & kSampleIdentifier) != 0) record.U64(id);
}

EventFileFacts FactsForFile(const RecordOptions& options, const std::vector<kernel::Pmu>& pmus,
                            const kernel::SystemKernel& kernel) {
  EventFileFacts facts;
  facts.recorder = "flowback " FLOWBACK_VERSION;
  facts.cpu = CpuInfo(kernel, "model name");
  facts.cpuid = CpuInfo(kernel, "vendor_id");
  for (const char* key : {"cpu family", "model", "stepping"})
    facts.cpuid += "," + CpuInfo(kernel, key);
  if (!options.files.command_line.empty()) facts.command_line = {options.files.command_line};
  for (const kernel::Pmu& pmu : pmus) facts.pmus.push_back({pmu.type, pmu.name});
  return facts;
}

std::vector<pid_t> ProcessesToRecord(const RecordOptions& options) {
  std::set<pid_t> pids(options.target.pids.begin(), options.target.pids.end());
  for (const int32_t tid : options.target.tids) pids.insert(ReadThreadGroup(tid));
  return {pids.begin(), pids.end()};
}

namespace {

Status TellEvents(const EventSet& events, const RecordOptions& options,
                  const kernel::SystemKernel& kernel, EventFile& file) {
  if (Status told = WriteTimeConversion(events.buffers().front().ring.page(), file); !told)
    return told;
  if (Status told = TellIds(events, file); !told) return told;
  for (const PlannedEvent& event : events.plan())
    if (event.has_aux)
      if (Status told = TellTraceInfo(events, event, options.streams.snapshot_bytes.has_value(),
                                      kernel, file);
          !told)
        return told;
  return {};
}

Status TellRunning(const EventSet& events, const std::vector<pid_t>& runs, pid_t command,
                   const kernel::SystemKernel& kernel, EventFile& file) {
  Teller teller(events, file);
  TellKernelCode(events, kernel, teller);
  if (command >= 0) TellThread(command, command, teller);
  for (const pid_t pid : events.of_cpus() ? AllProcesses(kernel) : runs)
    TellProcess(pid, kernel, teller);
  return teller.status();
}

}  // namespace

Status WritePreamble(const EventSet& events, const RecordOptions& options, pid_t command,
                     const kernel::SystemKernel& kernel, EventFile& file) {
  const Status told = TellEvents(events, options, kernel, file);
  return told ? TellRunning(events, ProcessesToRecord(options), command, kernel, file) : told;
}

Status WritePreambleOf(const EventSet& events, const RecordOptions& options,
                       const std::vector<pid_t>& runs, const kernel::SystemKernel& kernel,
                       EventFile& file) {
  const Status told = TellEvents(events, options, kernel, file);
  return told ? TellRunning(events, runs, -1, kernel, file) : told;
}

}  // namespace flowback::record
