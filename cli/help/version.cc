// SPDX-License-Identifier: MIT
// `flowback version`.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "cli/options/arguments.h"
#include "cli/text/output.h"
#include "cli/text/status.h"
#include "flowback/decode/decoder.h"
#include "replay/writers/text/json.h"

namespace flowback::cli {

int RunVersion(const Arguments& arguments) {
  CLI::App app("Prints the version and the decoders of this build.", "flowback version");
  bool json = false;
  app.add_flag("--json", json, "Print JSON");
  if (const std::optional<int> status = Parse(app, arguments)) return *status;
  std::string decoders;
  for (const std::string_view name : DecoderNames())
    decoders += (decoders.empty() ? "" : ", ") + std::string(name);
  Output output;
  if (json)
    JsonLine(output.buffer())
        .Text("schema", "flowback.version/1")
        .Text("version", FLOWBACK_VERSION)
        .Text("decoders", decoders)
        .End();
  else
    output.Write(fmt::format("flowback {}\ndecoders: {}\n", FLOWBACK_VERSION, decoders));
  const Status written = output.Finish();
  return written ? int{kDone} : Report(written.error());
}

}  // namespace flowback::cli
