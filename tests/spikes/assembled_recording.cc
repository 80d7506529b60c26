// SPDX-License-Identifier: MIT
#include "tests/spikes/assembled_recording.h"

#include <sstream>

#include "capture/formats/perf_records/perf_layout.h"
#include "capture/formats/perf_records/perf_sample_id.h"
#include "flowback/model/recording.h"
#include "tests/support/perf_data_builder.h"
#include "tests/support/places.h"

namespace flowback::spikes {
namespace {

using support::FieldWriter;
using support::PerfDataBuilder;
using support::Trailer;

constexpr uint32_t kSwitch = 14, kSwitchCpuWide = 15;
constexpr uint16_t kOut = 0x2000;
constexpr uint64_t kCyc = 1 << 1, kMtc = 1 << 9, kTsc = 1 << 10, kNoReturnCompression = 1 << 11;
constexpr uint64_t kPtwrite = 1 << 12, kBranches = 1 << 13, kMtcPeriod = 3 << 14;

uint64_t ConfigOf(const testing::GeneratorOptions& options) {
  uint64_t config = 1 | kBranches;
  if (options.tsc) config |= kTsc;
  if (options.mtc) config |= kMtc | kMtcPeriod;
  if (options.cyc) config |= kCyc;
  if (options.ptwrite) config |= kPtwrite;
  if (!options.return_compression) config |= kNoReturnCompression;
  return config;
}

PerfDataBuilder FileFor(const testing::GeneratorOptions& options) {
  PerfDataBuilder file;
  file.AddEvent({.config = ConfigOf(options),
                 .sample_type = PerfDataBuilder::kUsualSampleType,
                 .ids = {100},
                 .exclude_kernel = true});
  file.AddEvent({1, 9, PerfDataBuilder::kUsualSampleType, true, {102}});
  std::vector<uint64_t> info = PerfDataBuilder::UsualPtInfo();
  info[12] = testing::kTscPerCtcNumerator;
  info[13] = testing::kTscPerCtcDenominator;
  file.AuxtraceInfo(info);
  return file;
}

// Attributes are not looked at there.
FieldWriter Descriptions(const std::vector<std::string>& events) {
  constexpr uint32_t kAttribute = 128;
  FieldWriter table;
  table.U32(static_cast<uint32_t>(events.size())).U32(kAttribute);
  for (const std::string& event : events) {
    FieldWriter name;
    name.Text(event);
    table.Raw(std::vector<uint8_t>(kAttribute)).U32(0);
    table.U32(static_cast<uint32_t>(name.bytes.size())).Raw(name.bytes);
  }
  return table;
}

constexpr uint64_t kLoadId = 104;

void AddLoadEvent(PerfDataBuilder& file) {
  using namespace perf;
  file.AddEvent({.type = 4,
                 .config = 0x1cd,
                 .sample_type = kSampleIdentifier | kSampleIp | kSampleTid | kSampleTime |
                                kSampleCpu | kSampleAddr | kSampleWeight,
                 .sample_id_all = true,
                 .ids = {kLoadId}});
}

void WriteLoad(PerfDataBuilder& file, const SampledLoad& load) {
  FieldWriter body;
  body.U64(kLoadId).U64(load.ip).U32(kServer).U32(kServer);
  body.U64(AssembledRecording::TimeOf(load.tsc));
  body.U64(0x7000).U32(0).U32(0).U64(load.cycles);
  file.Record(perf::kRecordSample, static_cast<uint16_t>(2 | perf::kMiscExactIp), body);
}

void WriteSwitch(PerfDataBuilder& file, const CpuSwitch& change, SwitchRecords records,
                 Trailer trailer) {
  const bool wide = records == SwitchRecords::kCpuWide;
  const auto write = [&](int32_t who, int32_t other, bool out) {
    trailer.pid = who == 0 ? 0 : kServer;
    trailer.tid = who;
    FieldWriter body;
    if (wide) body.U32(other == 0 ? 0 : kServer).U32(static_cast<uint32_t>(other));
    file.KernelRecord(wide ? kSwitchCpuWide : kSwitch, out ? kOut : 0, std::move(body), trailer);
  };
  const int32_t other = change.neighbour ? kNeighbour : 0;
  const int32_t from = change.to_server ? other : kServer;
  const int32_t to = change.to_server ? kServer : other;
  if (wide || from != 0) write(from, to, true);
  if (wide || to != 0) write(to, from, false);
}

}  // namespace

AssembledRecording::AssembledRecording(const AssembledCode& code, AssembledServer& server,
                                       const testing::GeneratorOptions& options,
                                       SwitchRecords switches,
                                       const std::vector<std::string>& events) {
  const std::vector<uint8_t> trace = server.Finish();
  Write(code, server, trace, options, switches, events);
}

AssembledRecording::AssembledRecording(const AssembledCode& code, AssembledServer& server,
                                       const testing::GeneratorOptions& options,
                                       const std::function<std::vector<SampledLoad>()>& loads) {
  const std::vector<uint8_t> trace = server.Finish();
  Write(code, server, trace, options, SwitchRecords::kOwn, {}, loads());
}

void AssembledRecording::Write(const AssembledCode& code, const AssembledServer& server,
                               const std::vector<uint8_t>& trace,
                               const testing::GeneratorOptions& options, SwitchRecords records,
                               const std::vector<std::string>& events,
                               const std::vector<SampledLoad>& loads) {
  PerfDataBuilder file = FileFor(options);
  if (!loads.empty()) AddLoadEvent(file);
  Trailer trailer{.time = TimeOf(1), .pid = kServer, .tid = kServer, .cpu = 0, .id = 102};
  const auto begin = [&] {
    file.Comm(kServer, kServer, "server", true, trailer);
    file.Mmap2(kServer, code.address, code.size, code.offset, code.path, trailer);
  };
  begin();
  file.ItraceStart(kServer, kServer, trailer);
  if (records == SwitchRecords::kCpuWide) {
    file.Fork(kServer, kNeighbour, kServer, kServer, trailer);
    trailer.tid = kNeighbour;
    file.Comm(kServer, kNeighbour, "neighbour", false, trailer);
  }
  for (const CpuSwitch& change : server.switches) {
    if (records == SwitchRecords::kNone) break;
    if (change.to_server && server.restarted != 0 && trailer.time < TimeOf(server.restarted) &&
        change.tsc > server.restarted) {
      trailer = {.time = TimeOf(server.restarted), .pid = kServer, .tid = kServer, .id = 102};
      file.Exit(kServer, kServer, trailer);
      file.Fork(kServer, kServer, 1, 1, trailer);
      begin();
    }
    trailer.time = TimeOf(change.tsc);
    WriteSwitch(file, change, records, trailer);
  }
  for (const SampledLoad& load : loads) WriteLoad(file, load);
  file.Auxtrace(0, 0, -1, 0, trace);
  if (!events.empty()) file.Feature(perf::kFeatureEventDescriptions, Descriptions(events));
  const std::vector<uint8_t> bytes = file.Build();
  folder_.Write("perf.data", {bytes.begin(), bytes.end()});
}

uint64_t AssembledRecording::TimeOf(uint64_t tsc) {
  return TimeConversion{.shift = 31, .mult = 894784853, .zero = 1000000000000}.ToNanoseconds(tsc);
}

test::ProgramResult AssembledRecording::Run(std::vector<std::string> words) const {
  words.insert(words.begin(), "handle");
  return RunFor(std::move(words));
}

test::ProgramResult AssembledRecording::RunFor(std::vector<std::string> words) const {
  words.insert(words.begin(),
               {"spikes", folder_.File("perf.data"), "--cache-dir", folder_.File("cache")});
  return test::RunFlowback(words);
}

nlohmann::json AssembledRecording::Json(std::vector<std::string> words) const {
  words.emplace_back("--json");
  return nlohmann::json::parse(Run(words).out, nullptr, false);
}

std::vector<std::map<std::string, std::string>> AssembledRecording::Instances() const {
  const std::string path = folder_.File("instances.csv");
  Run({"--save-instances", path});
  const auto cells_of = [](const std::string& line) {
    std::vector<std::string> cells;
    std::istringstream stream(line);
    for (std::string cell; std::getline(stream, cell, ',');) cells.push_back(cell);
    return cells;
  };
  const std::vector<std::string> lines = test::Lines(test::ReadFile(path));
  std::vector<std::map<std::string, std::string>> rows;
  if (lines.empty()) return rows;
  const std::vector<std::string> names = cells_of(lines.front());
  for (size_t i = 1; i < lines.size(); ++i) {
    const std::vector<std::string> cells = cells_of(lines[i]);
    std::map<std::string, std::string> row;
    for (size_t column = 0; column < cells.size(); ++column) row[names[column]] = cells[column];
    rows.push_back(std::move(row));
  }
  return rows;
}

bool Says(const nlohmann::json& answer, const std::string& words) {
  for (const nlohmann::json& sentence : answer["sentences"])
    if (sentence.get<std::string>().contains(words)) return true;
  return false;
}

std::string ServerPath() { return BuildFolder() + "/tests/spikes/programs/assembled_server"; }

std::set<int> LinesWith(const std::string& comment) {
  std::istringstream source(
      test::ReadFile(SourceFolder() + "/tests/spikes/programs/assembled_server.s"));
  std::set<int> lines;
  int number = 0;
  for (std::string line; std::getline(source, line);) {
    ++number;
    if (line.ends_with("# " + comment)) lines.insert(number);
  }
  return lines;
}

}  // namespace flowback::spikes
