// SPDX-License-Identifier: MIT
// `flowback replay`: a recording in gdb, forward and backward.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>

#include "cli/command.h"
#include "cli/options/arguments.h"
#include "cli/reading/reader_options.h"
#include "cli/reading/reading_command.h"
#include "cli/reading/reading_job.h"
#include "cli/replay/dap_job.h"
#include "cli/replay/replay_job.h"
#include "cli/replay/replay_options.h"
#include "cli/text/status.h"
#include "replay/gdb/init_text.h"

namespace flowback::cli {
namespace {

constexpr char kUsualInput[] = "perf.data";

void AddReplayOptions(CLI::App& app, ReplayOptions& options, ReaderWords& words) {
  app.get_option("--core")->description(
      "Take values of registers and memory from a core dump, and code that no file has. `crash` "
      "finds the dump that `record` noted; replay needs --core FILE");
  app.add_option("--at", options.at,
                 "Moment to start at: end (default), begin, crash, a time (12.5, 50%, +1ms after "
                 "the begin, -1ms before the end), #N before the thread's N-th instruction from 0, "
                 "or spike:N at the N-th slowest instance of the last `spikes`");
  app.add_option("--pid", options.pid, "Process to replay (default: the one that executed most)");
  app.add_option("--gdb-server", options.gdb_server,
                 "Wait for a gdb instead of starting one, on a port of this machine or a Unix "
                 "socket at a path (default: a free port)")
      ->expected(0, 1);
  // An editor may name the recording.
  const auto no_input = [&words] {
    if (words.input.empty() && words.input_option.empty()) words.input = kUsualInput;
  };
  app.add_flag_function(
      "--dap",
      [&options, no_input](int64_t) {
        options.dap = true;
        no_input();
      },
      "Speak the Debug Adapter Protocol on standard input and output, for editors. `flowback help "
      "backward` shows how to set up VS Code");
  app.add_option_function<std::string>(
      "--dap-server",
      [&options, no_input](const std::string& word) {
        options.dap_server = word;
        no_input();
      },
      "Wait for an editor on a port of this machine, or on a Unix socket at a path");
  app.add_option("--listen", options.listen,
                 "Address that --gdb-server listens on (default 127.0.0.1)");
  app.add_flag("--gdb-init", options.gdb_init,
               "Print the Python text that gdb needs for call stacks, and do nothing else");
  app.footer(
      "Words after -- go to gdb. `flowback help backward` shows how to step backward, and which "
      "values a replay lacks.");
}

Status UnderstandReplay(const CLI::App&, ReplayOptions& options) {
  if (options.gdb_init)
    return Fail(Error(ErrorCode::kUsage, "--gdb-init prints a text and reads no recording")
                    .Remedy("flowback replay --gdb-init"));
  if (!options.listen.empty() && !options.gdb_server)
    return Fail(Error(ErrorCode::kUsage, "--listen needs --gdb-server").Remedy("give both"));
  const bool for_editor = options.dap || options.dap_server;
  if (for_editor && (options.gdb_server || !options.gdb_words.empty()))
    return Fail(Error(ErrorCode::kUsage, "a replay is for an editor or for gdb, not for both")
                    .Remedy("leave out --dap and --dap-server, or what is about gdb"));
  if (options.dap && options.dap_server)
    return Fail(Error(ErrorCode::kUsage, "--dap and --dap-server are two ways to one editor")
                    .Remedy("give one"));
  std::error_code absent;
  if (options.gdb_server && std::filesystem::is_regular_file(*options.gdb_server, absent))
    return Fail(Error(ErrorCode::kUsage, "--gdb-server " + *options.gdb_server +
                                             ": that is a file, not a port or a socket's path")
                    .Remedy("name the recording first: flowback replay FILE --gdb-server"));
  if (options.gdb_server && !options.gdb_words.empty())
    return Fail(Error(ErrorCode::kUsage, "--gdb-server starts no gdb, so words for gdb have no use")
                    .Remedy("leave out --gdb-server, or what follows --"));
  if (!options.reader.time.empty() || !options.reader.output.empty() || options.reader.json)
    return Fail(Error(ErrorCode::kUsage,
                      "replay prints nothing: --time, --output and --json do not "
                      "apply")
                    .Remedy("--at TIME"));
  return {};
}

int Replay(const ReplayOptions& options) {
  if (options.dap || options.dap_server) return ServeEditor(options);
  return WithInput(options.reader, [&](Recording recording) {
    return ReplayJob(options, std::move(recording)).Execute();
  });
}

}  // namespace

int RunReplay(const Arguments& arguments) {
  // Needs no recording.
  if (arguments.size() == 1 && arguments.front() == "--gdb-init") {
    std::fwrite(gdb::kInitText.data(), 1, gdb::kInitText.size(), stdout);
    return kDone;
  }
  return ExecuteReading<ReplayOptions>(
      arguments,
      {.name = "replay",
       .summary =
           "Opens a recording in gdb or an editor, which step forward and backward through it.",
       .add_options = AddReplayOptions,
       .hidden = {"--time", "--output", "--json", "--force"},
       .understand = UnderstandReplay,
       .run = Replay,
       .take_rest = [](const Arguments& rest, ReplayOptions& options) {
         options.gdb_words = rest;
       }});
}

}  // namespace flowback::cli
