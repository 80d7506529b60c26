// SPDX-License-Identifier: MIT
#include "tests/bench/workload.h"

#include <filesystem>

#include "base/recorded/pt_config.h"
#include "flowback/capture/open.h"
#include "flowback/decode/recording_code.h"
#include "tests/golden/generated.h"

namespace flowback::bench {
namespace {

// The generator's clock and code are like those of this CPU; naming it lets libipt set its errata,
// which is what a user of it has to do.
constexpr CpuId kGeneratedCpu = {.intel = true, .family = 6, .model = 85, .stepping = 4};

Result<Workload> Generated(const std::string& spec) {
  const size_t colon = spec.find(':');
  const unsigned cpu = colon == std::string::npos ? 1 : std::stoul(spec.substr(colon + 1));
  auto stream = golden::LoadGenerated(spec.substr(0, colon), cpu);
  if (!stream) return Fail(stream.error());
  Workload workload;
  workload.name = spec;
  workload.bytes = stream->file->bytes();
  workload.code = std::move(stream->code);
  workload.config = stream->config;
  workload.time = stream->time;
  workload.config.cpu = kGeneratedCpu;
  workload.storage = stream->file;
  return workload;
}

// One option of a raw stream; false when it is none.
Result<bool> TakeOption(const std::string& name, const std::string& value, OpenOptions& options) {
  if (name == "--raw-pt") {
    options.raw_pt.push_back(value);
  } else if (name == "--section") {
    Result<SectionSpec> section = ParseSectionSpec(value);
    if (!section) return Fail(section.error());
    options.sections.push_back(*section);
  } else if (name == "--image") {
    Result<ImageSpec> image = ParseImageSpec(value);
    if (!image) return Fail(image.error());
    options.images.push_back(*image);
  } else if (name == "--cpu") {
    Result<CpuId> cpu = ParseCpuId(value);
    if (!cpu) return Fail(cpu.error());
    options.cpu = *cpu;
  } else if (name == "--tsc-ctc") {
    options.tsc_ctc_numerator = std::stoul(value);
    options.tsc_ctc_denominator = std::stoul(value.substr(value.find('/') + 1));
  } else if (name == "--mtc-freq") {
    options.mtc_shift = std::stoul(value);
  } else if (name == "--nominal-freq") {
    options.nominal_ratio = std::stoul(value);
  } else {
    return false;
  }
  return true;
}

Result<std::vector<Workload>> Raw(const OpenOptions& options) {
  Result<Recording> opened = OpenRecording(options);
  if (!opened) return Fail(opened.error());
  const auto recording = std::make_shared<Recording>(std::move(*opened));
  Result<RecordingCode> code = RecordingCode::Load(*recording, {});
  if (!code) return Fail(code.error());
  std::vector<Workload> workloads;
  for (const Stream& stream : recording->streams) {
    Workload& workload = workloads.emplace_back();
    workload.name = std::filesystem::path(stream.file).filename();
    workload.bytes = stream.bytes;
    workload.code = code->ForStream(stream);
    workload.config = PtConfigOf(recording->config);
    workload.time = recording->time;
    workload.storage = recording;
  }
  return workloads;
}

}  // namespace

Result<std::vector<Workload>> TakeWorkloads(std::vector<std::string>& arguments) {
  OpenOptions options;
  std::vector<Workload> workloads;
  std::vector<std::string> rest;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!arguments[i].starts_with("--")) {
      Result<Workload> workload = Generated(arguments[i]);
      if (!workload) return Fail(workload.error());
      workloads.push_back(std::move(*workload));
      continue;
    }
    const std::string value = i + 1 < arguments.size() ? arguments[i + 1] : "";
    const Result<bool> taken = TakeOption(arguments[i], value, options);
    if (!taken) return Fail(taken.error());
    if (*taken)
      ++i;
    else
      rest.push_back(arguments[i]);
  }
  if (!options.raw_pt.empty()) {
    Result<std::vector<Workload>> raw = Raw(options);
    if (!raw) return Fail(raw.error());
    for (Workload& workload : *raw) workloads.push_back(std::move(workload));
  }
  arguments = std::move(rest);
  return workloads;
}

}  // namespace flowback::bench
