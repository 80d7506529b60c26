// SPDX-License-Identifier: MIT
// `decode --as samples`: what hardware sampled into the trace, a line each, `key=value ...`.
#include <fmt/format.h>

#include <bit>
#include <iterator>
#include <optional>
#include <string>

#include "cli/listing/flow_printer.h"
#include "replay/samples/sample_assembler.h"
#include "replay/writers/text/json.h"

namespace flowback::cli {
namespace {

std::string_view PlaceWord(EventSample::Place place) {
  switch (place) {
    case EventSample::Place::kNotTold:
      break;
    case EventSample::Place::kExact:
      return "exact";
    case EventSample::Place::kSkid:
      return "skid";
    case EventSample::Place::kDisputed:
      return "disputed";
  }
  return "unknown";
}

template <class Visit>
void VisitWords(const NumberedWords& words, const Visit& visit) {
  for (uint32_t left = words.told(); left != 0; left &= left - 1) {
    const auto number = static_cast<unsigned>(std::countr_zero(left));
    visit(number, *words.Get(number));
  }
}
std::string_view RegisterName(unsigned number) {
  return Name(static_cast<SampledRegister>(number));
}
std::string XmmName(unsigned number) {
  return fmt::format("xmm{}.{}", number / 2, number % 2 == 0 ? "low" : "high");
}

class SamplePrinter final : public FlowPrinter {
 public:
  explicit SamplePrinter(const PrintSettings& settings)
      : FlowPrinter(settings, "sample"),
        assembler_([this](const EventSample& sample) { Print(sample); }) {}

 private:
  bool TakesBatches() const override { return true; }
  void PrintBlocks(const BlockBatch&) override {}
  void PrintBegin(const StreamOwner& owner) override {
    assembler_.BeginThread(owner.pid, owner.tid);
  }
  void PrintEvent(const TraceEvent& event) override { assembler_.OnEvent(event); }
  void BeforeLoss(const DataLoss&) override { assembler_.OnLoss(); }
  void PrintEnd() override { assembler_.EndThread(); }

  void Print(const EventSample& sample) {
    BeginLine({sample.tsc, {sample.tsc_lo, sample.tsc_hi}});
    settings().layout.json ? PrintJson(sample) : PrintText(sample);
  }

  void Field(std::string_view name, const std::optional<uint64_t>& value, bool hex) {
    if (!value) return;
    auto to = std::back_inserter(out());
    hex ? fmt::format_to(to, " {}={:x}", name, *value) : fmt::format_to(to, " {}={}", name, *value);
  }
  void PrintText(const EventSample& sample) {
    const bool has_place = sample.place != EventSample::Place::kNotTold;
    out() += "sample";
    Field("ip", has_place ? std::optional(sample.ip) : std::nullopt, true);
    out() += fmt::format(" place={}", PlaceWord(sample.place));
    if (sample.counters != 0) Field("counters", sample.counters, true);
    const MemoryAccess& access = sample.access;
    Field("address", access.address, true);
    Field("latency", access.latency, false);
    Field("instruction-latency", access.instruction_latency, false);
    Field("code", access.code, true);
    if (sample.context != nullptr) {
      const SampleContext& context = *sample.context;
      Field("transaction", context.transaction, true);
      VisitWords(context.registers, [this](unsigned number, uint64_t word) {
        Field(fmt::format("%{}", RegisterName(number)), word, true);
      });
      VisitWords(context.xmm, [this](unsigned number, uint64_t word) {
        Field(fmt::format("%{}", XmmName(number)), word, true);
      });
      for (const SampledBranch& branch : context.branches)
        out() += fmt::format(" branch={:x}/{:x}/{:x}", branch.from, branch.to, branch.info);
    }
    if (sample.unread != 0) Field("unread", sample.unread, false);
    out() += sample.cut ? " cut\n" : "\n";
  }

  static void Hex(JsonLine& line, std::string_view key, const std::optional<uint64_t>& value) {
    value ? line.Hex(key, *value) : line.Null(key);
  }
  static void Number(JsonLine& line, std::string_view key, const std::optional<uint64_t>& value) {
    value ? line.Number(key, *value) : line.Null(key);
  }
  void PrintJson(const EventSample& sample) {
    static const SampleContext none;
    const SampleContext& context = sample.context == nullptr ? none : *sample.context;
    JsonLine line = JsonLine::Continue(out());
    const bool has_place = sample.place != EventSample::Place::kNotTold;
    Hex(line, "ip", has_place ? std::optional(sample.ip) : std::nullopt);
    line.Text("place", PlaceWord(sample.place));
    Hex(line, "counters", sample.counters == 0 ? std::nullopt : std::optional(sample.counters));
    Hex(line, "address", sample.access.address);
    Number(line, "latency", sample.access.latency);
    Number(line, "instruction_latency", sample.access.instruction_latency);
    Hex(line, "code", sample.access.code);
    Hex(line, "transaction", context.transaction);
    line.Raw("registers", RegistersJson(context)).Raw("branches", BranchesJson(context));
    line.Number("unread", sample.unread).Bool("cut", sample.cut).End();
  }
  static std::string RegistersJson(const SampleContext& context) {
    std::string json = "{";
    const auto add = [&json](std::string_view name, uint64_t word) {
      json += fmt::format("{}\"{}\":\"{:x}\"", json.size() > 1 ? "," : "", name, word);
    };
    VisitWords(context.registers,
               [&](unsigned number, uint64_t word) { add(RegisterName(number), word); });
    VisitWords(context.xmm, [&](unsigned number, uint64_t word) { add(XmmName(number), word); });
    return json + '}';
  }
  static std::string BranchesJson(const SampleContext& context) {
    std::string json = "[";
    for (const SampledBranch& branch : context.branches)
      json += fmt::format(R"({}{{"from":"{:x}","to":"{:x}","info":"{:x}"}})",
                          json.size() > 1 ? "," : "", branch.from, branch.to, branch.info);
    return json + ']';
  }

  SampleAssembler assembler_;
};

}  // namespace

std::unique_ptr<FlowPrinter> MakeSamplePrinter(const PrintSettings& settings) {
  return std::make_unique<SamplePrinter>(settings);
}

}  // namespace flowback::cli
