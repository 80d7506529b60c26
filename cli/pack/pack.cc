// SPDX-License-Identifier: MIT
// `flowback pack`: a recording and all files that reading it needs, in one file.
#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "cli/pack/pack_options.h"
#include "cli/reading/reading_command.h"

namespace flowback::cli {
namespace {

void AddPackOptions(CLI::App& app, PackOptions& options, ReaderWords&) {
  options.made_by = "flowback " FLOWBACK_VERSION;
  app.get_option("--output")
      ->description("Write to FILE, -: standard output (default: INPUT with .tar.zst behind it)");
  app.add_flag("--strip-source", options.strip_source, "Leave source files out");
  app.add_flag("--no-core", options.no_core, "Leave core dumps out");
  app.add_flag("--redact", options.redact,
               "Pack only registers and stacks of core dumps, no other memory");
}

}  // namespace

int RunPack(const Arguments& arguments) {
  return ExecuteReading<PackOptions>(
      arguments, {.name = "pack",
                  .summary = "Packs a recording and all files that reading it needs into one file, "
                             "which every command reads on any machine.",
                  .add_options = AddPackOptions,
                  .hidden = {"--tid", "--comm", "--cpu-list", "--time"},
                  .run = Pack});
}

}  // namespace flowback::cli
