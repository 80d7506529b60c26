// SPDX-License-Identifier: MIT
#include "cli/pack/pack_text.h"

#include <fmt/format.h>

#include "replay/writers/text/json.h"
#include "replay/writers/text/printable.h"

namespace flowback::cli {
namespace {

std::string SizeText(uint64_t bytes) {
  constexpr double kKilo = 1000;
  const auto size = static_cast<double>(bytes);
  if (bytes < 1000) return fmt::format("{} B", bytes);
  if (size < kKilo * kKilo) return fmt::format("{:.1f} kB", size / kKilo);
  if (size < kKilo * kKilo * kKilo) return fmt::format("{:.1f} MB", size / kKilo / kKilo);
  return fmt::format("{:.2f} GB", size / kKilo / kKilo / kKilo);
}

std::string FilesText(uint64_t files) {
  return fmt::format("{} {}", files, files == 1 ? "file" : "files");
}

// A name as JSON has it.
std::string KeyOf(PackedKind kind) {
  std::string key = Name(kind);
  for (char& each : key)
    if (each == ' ') each = '_';
  return key;
}

}  // namespace

PackReport::Sum PackReport::Total() const {
  Sum total;
  for (const Sum& sum : kinds) {
    total.files += sum.files;
    total.bytes += sum.bytes;
  }
  return total;
}

std::string PackText(const PackReport& report) {
  const PackReport::Sum total = report.Total();
  std::string text = fmt::format(
      "{} has {} of {} in {} ({}):\n", Printable(report.output), FilesText(total.files),
      Printable(report.input), SizeText(report.packed_bytes), SizeText(total.bytes) + " unpacked");
  for (size_t i = 0; i < kPackedKinds; ++i)
    if (const PackReport::Sum& sum = report.kinds[i]; sum.files != 0)
      text += fmt::format("  {:<12} {:>6}  {:>9}\n", Name(static_cast<PackedKind>(i)), sum.files,
                          SizeText(sum.bytes));
  if (!report.cores.empty() && !report.redacted)
    text +=
        "A core dump holds all that the program had in memory, secrets too: --redact packs its "
        "registers and stacks only.\n";
  if (!report.cores.empty() && report.redacted)
    text += "The core dump has registers and stacks only.\n";
  return text + fmt::format("flowback info {} lists its files.\n", Printable(report.output));
}

std::string PackJson(const PackReport& report) {
  const PackReport::Sum total = report.Total();
  std::string kinds;
  JsonLine each(kinds);
  for (size_t i = 0; i < kPackedKinds; ++i) {
    std::string sum;
    JsonLine(sum)
        .Number("files", report.kinds[i].files)
        .Number("bytes", report.kinds[i].bytes)
        .End();
    sum.pop_back();
    each.Raw(KeyOf(static_cast<PackedKind>(i)), sum);
  }
  each.End();
  kinds.pop_back();
  std::string text;
  JsonLine(text)
      .Text("schema", "flowback.pack/1")
      .Text("input", report.input)
      .Text("output", report.output)
      .Number("files", total.files)
      .Number("bytes", total.bytes)
      .Number("packed_bytes", report.packed_bytes)
      .Raw("kinds", kinds)
      .Bool("redacted", report.redacted)
      .End();
  return text;
}

}  // namespace flowback::cli
