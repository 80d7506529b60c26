// SPDX-License-Identifier: MIT
// perf.data with a branch stack in each sample, as `perf record -b` writes it: perf script, perf
// report and what reads their files take it, whichever hardware the recording is of.
//
// The header contains the size of the data, and written bytes cannot be changed: so the flow is
// played twice, first only to count.
#include <fmt/format.h>
#include <linux/perf_event.h>

#include <algorithm>
#include <ranges>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "capture/formats/perf_records/perf_layout.h"
#include "capture/record/perf_data/feature_sections.h"
#include "capture/record/perf_data/perf_data_header.h"
#include "capture/record/perf_data/perf_record_buffer.h"
#include "capture/record/perf_data/sideband_buffers.h"
#include "replay/profile/flow_stacks.h"
#include "replay/profile/moved_text.h"
#include "replay/writers/export/export_input.h"
#include "replay/writers/writers.h"

namespace flowback {
namespace {

using record::LittleEndianBuffer;
using record::RecordBuffer;

constexpr uint64_t kStackEventId = 1;
constexpr uint64_t kDataSizeAt = 48;  // in the header
constexpr uint64_t kFeatureBitsAt = 72;

// perf_branch_entry::flags; a count of cycles that does not fit is the most that does.
uint64_t FlagsOf(const BranchFacts& facts) {
  constexpr uint32_t kMostCycles = 0xffff;
  uint64_t flags = uint64_t{std::min(facts.cycles, kMostCycles)} << 4;
  if (facts.prediction == BranchFacts::Prediction::kWrong) flags |= 1;
  if (facts.prediction == BranchFacts::Prediction::kRight) flags |= 2;
  return flags;
}

// Their sizes are known before they are made.
uint64_t SampleSize(size_t entries) { return 8 + 4 * 8 + 8 + entries * perf::kBranchEntrySize; }

class SampleCounter final : public FlowStacks {
 public:
  using FlowStacks::FlowStacks;
  uint64_t bytes() const { return bytes_; }

 private:
  void Take(const ThreadFlow&, uint64_t, std::span<const TakenBranch> stack) override {
    bytes_ += SampleSize(stack.size());
  }
  void Lose(const DataLoss&) override {}

  uint64_t bytes_ = 0;
};

class SampleWriter final : public FlowStacks {
 public:
  SampleWriter(Session& session, TextSink& sink)
      : FlowStacks(session.recording()), session_(session), sink_(sink) {}
  bool Done() const override { return sink_.closed(); }
  uint64_t bytes() const { return bytes_; }

 private:
  void Take(const ThreadFlow& thread, uint64_t tsc, std::span<const TakenBranch> stack) override {
    RecordBuffer sample(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
    sample.U64(kStackEventId);
    sample.U64(stack.back().to);
    sample.U32(static_cast<uint32_t>(thread.pid));
    sample.U32(static_cast<uint32_t>(thread.tid));
    sample.U64(tsc == 0 ? 0 : session_.clock().Value(tsc));
    sample.U64(stack.size());
    for (const TakenBranch& entry : stack | std::views::reverse) {
      sample.U64(entry.from);
      sample.U64(entry.to);
      sample.U64(FlagsOf(entry.facts));
    }
    bytes_ += sample.size();
    Append(sample.Done(), sink_);
  }
  void Lose(const DataLoss& loss) override { session_.losses().Add(loss); }

 public:
  static void Append(Bytes bytes, TextSink& sink) {
    sink.Write({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }

 private:
  Session& session_;
  TextSink& sink_;
  uint64_t bytes_ = 0;
};

record::RecordedEvents EventsOf(const TracedLevels& levels) {
  const bool kernel = levels.kernel.value_or(false);
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = PERF_TYPE_HARDWARE;
  attr.config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS;
  attr.sample_period = 64;  // of 1 perf takes such an event for one of branch trace stores
  attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_IDENTIFIER |
                     PERF_SAMPLE_BRANCH_STACK;
  attr.branch_sample_type =
      perf::kBranchUser | perf::kBranchAny | (kernel ? perf::kBranchKernel : 0);
  attr.exclude_kernel = kernel ? 0 : 1;
  attr.exclude_hv = 1;
  attr.sample_id_all = 1;
  return {{attr, kernel ? "branches" : "branches:u", {kStackEventId}}};
}

// Which code was where, and the threads' names and lives.
class Sideband {
 public:
  explicit Sideband(const Session& session) : session_(session) {
    for (const SidebandRecord& each : session.recording().sideband)
      std::visit([this](const auto& content) { Add(content); }, each);
  }
  const LittleEndianBuffer& bytes() const { return bytes_; }
  const std::vector<MmapRecord>& build_ids() const { return build_ids_; }

 private:
  void Add(const MmapRecord& map) {
    if (map.kernel || !map.executable || HoldsMovedText(session_.code(), map)) return;
    AddRecord(map);
    const auto is_it = [&](const MmapRecord& known) { return known.path == map.path; };
    if (!map.build_id.empty() && std::ranges::none_of(build_ids_, is_it)) build_ids_.push_back(map);
  }
  void Add(const CommRecord& comm) { AddRecord(comm); }
  void Add(const ForkRecord& fork) { AddRecord(fork); }
  void Add(const ExitRecord& exit) { AddRecord(exit); }
  void Add(const SidebandBase&) {}
  void AddRecord(const auto& content) {
    RecordBuffer record = record::EncodeSideband(content);
    record.SampleId(content, false, kStackEventId);
    bytes_.Append(record.Done());
  }

  const Session& session_;
  LittleEndianBuffer bytes_;
  std::vector<MmapRecord> build_ids_;
};

std::vector<record::HeaderFeature> FeaturesOf(const Recording& recording,
                                              const record::RecordedEvents& events,
                                              const Sideband& sideband) {
  const MachineInfo& machine = recording.machine;
  // The source of times and order stays in the header: "flowback (emulated: tcg)".
  std::vector<record::HeaderFeature> features = record::MachineFeatures(
      {"flowback", "export", "--to", "perf", recording.path}, events, {}, machine.architecture);
  for (record::HeaderFeature& each :
       record::IdentityFeatures(machine.recorder, machine.cpu_description, machine.cpuid))
    features.push_back(std::move(each));
  features.push_back(record::BuildIdFeature(sideband.build_ids()));
  return features;
}

// Writes the part that needs the size of the data.
void WriteHead(const record::RecordedEvents& events, const Sideband& sideband, uint64_t data_size,
               const record::FeatureSections& features, TextSink& sink) {
  LittleEndianBuffer header;
  record::AppendFileHeader(header, events);
  header.SetU64(kDataSizeAt, data_size);
  for (size_t i = 0; i < features.bits.size(); ++i)
    header.SetU64(kFeatureBitsAt + i * sizeof(uint64_t), features.bits[i]);
  SampleWriter::Append(header.bytes(), sink);
  SampleWriter::Append(sideband.bytes().bytes(), sink);
}

uint64_t HeaderSize(const record::RecordedEvents& events) {
  LittleEndianBuffer header;
  record::AppendFileHeader(header, events);
  return header.size();
}

}  // namespace

Status WritePerf(const FlowExport& input, TextSink& sink) {
  Session& session = input.session;
  session.AddKnownLosses();
  SampleCounter counter(session.recording());
  if (Status status = PlayStacks(session, counter, input.part); !status) return status;
  const record::RecordedEvents events = EventsOf(session.recording().levels);
  const Sideband sideband(session);
  const uint64_t data_size = sideband.bytes().size() + counter.bytes();
  const record::FeatureSections features = record::EncodeFeatures(
      FeaturesOf(session.recording(), events, sideband), HeaderSize(events) + data_size);
  WriteHead(events, sideband, data_size, features, sink);
  SampleWriter writer(session, sink);
  if (Status status = PlayStacks(session, writer, input.part); !status) return status;
  if (!sink.closed() && writer.bytes() != counter.bytes())
    return Fail(Error(ErrorCode::kSystem,
                      fmt::format("the samples were {} bytes when counted and {} when written: a "
                                  "fault in flowback, or the input changed meanwhile",
                                  counter.bytes(), writer.bytes()))
                    .Remedy("run it again; if it stays, report it with the recording"));
  SampleWriter::Append(features.sections.bytes(), sink);
  return {};
}

}  // namespace flowback
