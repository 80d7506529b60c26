// SPDX-License-Identifier: MIT
#include "cli/export/export_formats.h"

namespace flowback::cli {
namespace {

constexpr ExportFormat kFormats[] = {
#define FLOWBACK_EXPORT_FORMAT(name, write, of, summary) {name, &write, ExportFormat::of, summary},
#include "cli/export/export_formats.def"
#undef FLOWBACK_EXPORT_FORMAT
};

}  // namespace

std::span<const ExportFormat> ExportFormats() { return kFormats; }

Result<const ExportFormat*> FindExportFormat(std::string_view name) {
  std::string names;
  for (const ExportFormat& format : kFormats) {
    if (format.name == name) return &format;
    names += (names.empty() ? "" : ", ") + std::string(format.name);
  }
  return Fail(Error(ErrorCode::kUsage, name.empty()
                                           ? std::string("export: no format is named")
                                           : "export: no format '" + std::string(name) + "'")
                  .Remedy("--to with one of " + names));
}

}  // namespace flowback::cli
