// SPDX-License-Identifier: MIT
#include "capture/kernel/symbol_event.h"

#include <algorithm>
#include <charconv>

namespace flowback::kernel {
namespace {

struct NamedEvent {
  std::string_view name;
  SymbolEvent event;
};
constexpr NamedEvent kNames[] = {
#define FLOWBACK_EVENT_NAME(kind, number, name) {name, {.type = kind, .config = number}},
#include "capture/kernel/event_names.def"
#undef FLOWBACK_EVENT_NAME
};

// "r1a8": the CPU's own number of the event, in hexadecimal.
std::optional<SymbolEvent> FindRawEvent(std::string_view name) {
  constexpr int kHexadecimal = 16;
  if (!name.starts_with('r') || name.size() < 2) return std::nullopt;
  SymbolEvent raw{.type = PERF_TYPE_RAW};
  const char* const end = name.data() + name.size();
  const auto [stop, code] = std::from_chars(name.data() + 1, end, raw.config, kHexadecimal);
  if (code != std::errc() || stop != end) return std::nullopt;
  return raw;
}

}  // namespace

std::optional<SymbolEvent> FindSymbolEvent(std::string_view name) {
  const auto known = std::ranges::find(kNames, name, &NamedEvent::name);
  if (known != std::end(kNames)) return known->event;
  if (const auto cache = FindCacheEvent(name)) return cache;
  return FindRawEvent(name);
}

std::string NearEventNames(std::string_view name) {
  constexpr size_t kTelling = 3;
  std::string near;
  for (const NamedEvent& known : kNames)
    if (known.name.contains(name.substr(0, kTelling)) && name.size() >= kTelling)
      near += (near.empty() ? "" : ", ") + std::string(known.name);
  return near;
}

}  // namespace flowback::kernel
