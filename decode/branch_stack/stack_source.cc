// SPDX-License-Identifier: MIT
// Branch stacks as a source of trace. What each question needs is in a file of its own.
#include <string>
#include <utility>

#include "base/recorded/branch_records.h"
#include "decode/branch_stack/stack_decoder.h"
#include "decode/branch_stack/stack_index.h"
#include "decode/branch_stack/stack_packets.h"
#include "decode/stream_index.h"
#include "flowback/decode/decoder.h"
#include "flowback/decode/trace_source.h"

namespace flowback {
namespace {

class StackSource final : public TraceSource {
 public:
  StackSource(const BranchStackConfig& config, std::string path)
      : config_(config), path_(std::move(path)) {}

  std::string_view Name() const override { return "branch stacks"; }
  TraceUnit Unit() const override { return {.plural = "records", .bytes = kBranchRecordSize}; }
  bool samples() const override { return !config_.tiled; }
  std::string_view WhyNoFlow() const override {
    return config_.call_stacks
               ? "its branch stacks hold the calls that had not returned (perf record --call-graph "
                 "lbr), not the last branches"
               : "";
  }
  void VisitSamples(const Stream& stream, StreamRange range,
                    const std::function<void(const StreamSample&)>& visit) const override {
    branch_stack::VisitSamples(stream, range, visit);
  }
  uint64_t EmptySamples() const override { return config_.empty_samples; }

  std::vector<TraceSetting> Settings() const override {
    const char* const of =
        config_.call_stacks ? "calls" : (config_.all_kinds ? "any branch" : "some kinds only");
    std::vector<TraceSetting> settings;
    settings.push_back({"branches", "branches:", of, config_.all_kinds && !config_.call_stacks});
    const auto number = [&](std::string_view key, std::string_view name, uint64_t value) {
      settings.push_back({key, name, std::to_string(value), value});
    };
    number("samples", "samples:", config_.samples);
    number("empty_samples",
           config_.empty_samples == 0 ? "" : "of them empty:", config_.empty_samples);
    number("depth", "branches in a sample: up to", config_.depth);
    return settings;
  }
  std::vector<uint64_t> SettingNumbers() const override {
    return {config_.all_kinds,     config_.call_stacks,   config_.tiled,
            config_.names_compare, config_.readable_code, config_.levels.kernel.value_or(true),
            IndexOf(config_.mode)};
  }

  std::shared_ptr<const StreamIndex> Index(
      const Stream& stream, const std::function<bool(const Pause&)>& visit) const override {
    std::shared_ptr<const StreamIndex> index = branch_stack::IndexStream(stream);
    if (visit) branch_stack::VisitPauses(stream, visit);
    return index;
  }
  uint64_t SyncPointBefore(const Stream& stream, uint64_t offset) const override {
    return offset == 0 ? 0 : branch_stack::StackBefore(stream, offset - 1);
  }
  uint64_t FirstTime(const Stream& stream, StreamRange range) const override {
    return branch_stack::FirstTime(stream, range.begin, range.end);
  }
  TscInterval Times(const Stream& stream) const override { return branch_stack::Times(stream); }
  bool VisitPauses(const Stream& stream, const TimeConversion& time,
                   const std::function<bool(const Pause&)>& visit) const override {
    branch_stack::VisitPauses(stream, [&](const Pause& pause) { return visit(pause.In(time)); });
    return Times(stream).hi != 0;
  }
  std::unique_ptr<PacketReader> Packets(const Stream& stream) const override {
    return branch_stack::ReadRecords(stream);
  }

  Result<std::unique_ptr<Decoder>> MakeDecoder(std::string_view engine) const override {
    if (!engine.empty() && engine != "native")
      return Fail(Error(ErrorCode::kUnsupported, path_ +
                                                     ": holds branch stacks, which no engine \"" +
                                                     std::string(engine) + "\" decodes")
                      .Remedy("leave --engine out"));
    if (config_.call_stacks)
      return Fail(
          Error(ErrorCode::kUnsupported,
                path_ + ": " + std::string(WhyNoFlow()) + ": no flow follows from them")
              .Remedy("`flowback stack` and `flowback timeline` show them, `flowback export "
                      "--to folded` adds them up; record the last branches with `perf "
                      "record -b`"));
    return branch_stack::NewStackDecoder();
  }

 private:
  BranchStackConfig config_;
  std::string path_;
};

}  // namespace

std::shared_ptr<const TraceSource> OpenBranchStackSource(const Recording& recording) {
  return std::make_shared<StackSource>(BranchStackConfigOf(recording.config), recording.path);
}

}  // namespace flowback
