// SPDX-License-Identifier: MIT
#include "cli/info/info_bundle.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "capture/bundle/unpacked_bundle.h"
#include "replay/writers/text/printable.h"

namespace flowback::cli {

void AppendBundle(const InfoReport& report, std::string& out) {
  const bundle::UnpackedBundle* const packed = report.opened->options().bundle.get();
  if (packed == nullptr) return;
  uint64_t bytes = 0;
  for (const bundle::Member& member : packed->members()) bytes += member.size;
  out += fmt::format("\nbundle of {} by {}: {} files, {} bytes packed, {} unpacked\n",
                     Printable(packed->manifest().input), Printable(packed->manifest().made_by),
                     packed->members().size(), packed->packed_bytes(), bytes);
  if (packed->damage()) out += fmt::format("  {}\n", Printable(packed->damage()->message()));
  if (!packed->manifest().cores.empty())
    out += packed->manifest().redacted
               ? "  it has a core dump's registers and stacks, which may hold secrets\n"
               : "  it has a core dump: memory of the program, which may hold secrets\n";
  for (const bundle::Member& member : packed->members())
    out += fmt::format("{:>14}  {}\n", member.size, Printable(member.name));
}

nlohmann::ordered_json BundleJson(const InfoReport& report) {
  const bundle::UnpackedBundle* const packed = report.opened->options().bundle.get();
  if (packed == nullptr) return nullptr;
  nlohmann::ordered_json members = nlohmann::ordered_json::array();
  for (const bundle::Member& member : packed->members())
    members.push_back({{"name", member.name}, {"size", member.size}});
  nlohmann::ordered_json damage;
  if (packed->damage()) damage = packed->damage()->message();
  return {{"input", packed->manifest().input},      {"made_by", packed->manifest().made_by},
          {"packed_bytes", packed->packed_bytes()}, {"damage", std::move(damage)},
          {"cores", packed->manifest().cores},      {"members", std::move(members)}};
}

}  // namespace flowback::cli
