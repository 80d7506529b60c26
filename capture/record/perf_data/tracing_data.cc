// SPDX-License-Identifier: MIT
// Layout, after perf's trace-event files of version 0.6: a magic, the machine's sizes, the two
// descriptions that all tracepoints share, none of ftrace's own events, the systems with their
// events' descriptions, and three lists that stay empty (symbols, formats of printk, names).
#include "capture/record/perf_data/tracing_data.h"

#include <unistd.h>

#include <map>
#include <optional>
#include <string>

#include "capture/formats/perf_records/perf_layout.h"

namespace flowback::record {
namespace {

constexpr const char* kTracefsFolders[] = {"/sys/kernel/tracing/events/",
                                           "/sys/kernel/debug/tracing/events/"};

void Put(std::string_view text, FeatureBuffer& out) {
  out.Append({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
}

// The text and the zero behind it.
void PutName(std::string_view name, FeatureBuffer& out) {
  Put(name, out);
  out.U8(0);
}

void PutFile(const std::string& content, FeatureBuffer& out) {
  out.U64(content.size());
  Put(content, out);
}

void PutBegin(FeatureBuffer& out) {
  constexpr uint8_t kMagicBytes[] = {23, 8, 68};
  out.Append(kMagicBytes);
  Put("tracing", out);
  PutName("0.6", out);
  out.U8(0);  // little-endian
  out.U8(sizeof(long));
  out.U32(static_cast<uint32_t>(sysconf(_SC_PAGESIZE)));
}

// Descriptions by system.
using Systems = std::map<std::string, std::vector<std::string>>;

Systems SystemsOf(const std::vector<kernel::PlannedEvent>& events, const std::string& folder,
                  const kernel::SystemKernel& kernel) {
  Systems systems;
  for (const kernel::PlannedEvent& event : events) {
    const std::string& name = event.wanted.name;
    const size_t colon = name.find(':');
    if (!event.wanted.is_tracepoint() || colon == std::string::npos) continue;
    const std::string system = name.substr(0, colon);
    const std::string point = name.substr(colon + 1, name.find(':', colon + 1) - colon - 1);
    if (auto format = kernel.ReadFile(folder + system + "/" + point + "/format"))
      systems[system].push_back(*std::move(format));
  }
  return systems;
}

void PutSystems(const Systems& systems, FeatureBuffer& out) {
  out.U32(static_cast<uint32_t>(systems.size()));
  for (const auto& [system, formats] : systems) {
    PutName(system, out);
    out.U32(static_cast<uint32_t>(formats.size()));
    for (const std::string& format : formats) PutFile(format, out);
  }
}

}  // namespace

std::optional<HeaderFeature> TracingDataFeature(const std::vector<kernel::PlannedEvent>& events,
                                                const kernel::SystemKernel& kernel) {
  for (const std::string folder : kTracefsFolders) {
    const Systems systems = SystemsOf(events, folder, kernel);
    if (systems.empty()) continue;
    HeaderFeature feature{.bit = perf::kFeatureTracingData, .content = {}};
    FeatureBuffer& out = feature.content;
    PutBegin(out);
    for (const char* shared : {"header_page", "header_event"}) {
      PutName(shared, out);
      PutFile(kernel.ReadFile(folder + shared).value_or(""), out);
    }
    out.U32(0);  // events of ftrace itself
    PutSystems(systems, out);
    out.U32(0);  // symbols
    out.U32(0);  // formats of printk
    out.U64(0);  // names of threads
    return feature;
  }
  return std::nullopt;
}

}  // namespace flowback::record
