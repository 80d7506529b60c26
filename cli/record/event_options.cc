// SPDX-License-Identifier: MIT
#include "cli/record/event_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <chrono>

#include "cli/text/quantity.h"

namespace flowback::cli {
namespace {

Error Wrong(const std::string& what, const std::string& remedy) {
  return Error(ErrorCode::kUsage, what).Remedy(remedy);
}

// perf's milliseconds, -1: until someone says so; or a time with its unit.
Status UnderstandDelay(const std::string& text, RecordDirection& direction) {
  if (text.empty()) return {};
  int64_t number = 0;
  const auto [stop, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code == std::errc() && stop == text.data() + text.size() && number >= -1) {
    direction.delay = std::chrono::milliseconds(number);
    return {};
  }
  const Result<uint64_t> nanoseconds = ParseDuration(text, "-D");
  if (!nanoseconds)
    return Fail(Wrong(fmt::format("-D {}: neither milliseconds nor a time nor -1", text),
                      "-D 500, -D 2s, or -D -1 and --control fifo:ctl"));
  direction.delay = std::chrono::ceil<std::chrono::milliseconds>(
      std::chrono::nanoseconds(static_cast<int64_t>(*nanoseconds)));
  return {};
}

// FUNC>TIME; the last > of it, for names in C++ may have some.
Status UnderstandTrigger(const std::string& text, RecordDirection& direction) {
  if (text.empty()) return {};
  const size_t greater = text.rfind('>');
  if (greater == std::string::npos || greater == 0)
    return Fail(Wrong(fmt::format("--trigger {}: not of the form FUNCTION>TIME", text),
                      "--trigger 'handle_request>5ms'"));
  const Result<uint64_t> nanoseconds = ParseDuration(text.substr(greater + 1), "--trigger");
  if (!nanoseconds) return Fail(nanoseconds.error());
  direction.slow_function = text.substr(0, greater);
  direction.slow = std::chrono::nanoseconds(static_cast<int64_t>(*nanoseconds));
  return {};
}

// "signal", a size or a time: the last letter tells the two apart, for 10m are minutes to perf and
// 10M a size.
Status UnderstandSwitches(const EventWords& words, RecordOptions& options) {
  RecordRotation& rotation = options.rotation;
  if (words.switches->count() == 0) {
    if (rotation.most_files == 0) return {};
    return Fail(Wrong("--switch-max-files: nothing makes several files", "--switch-output 100M"));
  }
  if (options.files.pipe >= 0 || options.files.output == "-")
    return Fail(Wrong("--switch-output: a pipe is one file", "-o FILE"));
  const std::string& text = words.switch_output;
  if (text.empty() || text == "signal") {
    rotation.on_signal = true;
    return {};
  }
  const bool is_time = text.ends_with('s') || text.ends_with('m') || text.ends_with('h');
  const Result<uint64_t> number =
      is_time ? ParseDuration(text, "--switch-output") : ParseSize(text, "--switch-output");
  if (!number || *number == 0)
    return Fail(
        Wrong(fmt::format("--switch-output {}: neither a size nor a time nor 'signal'", text),
              "--switch-output 100M, 10s or signal"));
  if (is_time)
    rotation.time = std::chrono::nanoseconds(static_cast<int64_t>(*number));
  else
    rotation.bytes = *number;
  return {};
}

Status CheckKernelCode(const RecordOptions& options) {
  if (!options.events.kernel_code) return {};
  if (options.files.pipe >= 0 || options.files.output == "-")
    return Fail(Wrong("--kcore: a pipe has no room for the kernel's code", "-o FOLDER"));
  if (options.rotation.wanted())
    return Fail(Wrong("--kcore: the kernel's code goes with one recording, not with several",
                      "leave --switch-output out, or --kcore"));
  return {};
}

// Each filter belongs to the event before it in the order of the options.
void UnderstandFilters(const EventWords& words, const CLI::App& app, RecordOptions& options) {
  size_t events = 0, filters = 0;
  for (const CLI::Option* option : app.parse_order()) {
    if (option->check_lname("event")) ++events;
    if (option->check_lname("exclude-perf"))
      options.events.filters.push_back({.text = {}, .words = events, .excludes_recorder = true});
    if (option->check_lname("filter") && filters < words.filters.size())
      options.events.filters.push_back({.text = words.filters[filters++], .words = events});
  }
}

Status UnderstandAuxSamples(const EventWords& words, RecordOptions& options) {
  constexpr uint64_t kUsual = 4096;
  if (words.aux_samples->count() == 0) return {};
  options.events.aux_sample_bytes = kUsual;
  if (words.aux_sample.empty()) return {};
  const Result<uint64_t> size = ParseSize(words.aux_sample, "--aux-sample");
  if (!size) return Fail(size.error());
  options.events.aux_sample_bytes = *size;
  return {};
}

}  // namespace

Status CheckCrash(const RecordOptions& options) {
  if (!options.direction.on_crash) return {};
  if (options.target.command.empty())
    return Fail(
        Wrong("--on-crash: of a program that was not started here it is not known how it "
              "ends",
              "flowback record --on-crash -- CMD; or -S SIZE with -p PID"));
  if (options.engine == "pt" || options.engine == "emulate" || options.engine == "step") return {};
  return Fail(
      Wrong(fmt::format("--on-crash: the engine '{}' makes no trace whose end could be kept",
                        options.engine),
            "--engine pt, emulate or step, or leave it out"));
}

void AddEventOptions(CLI::App& app, EventWords& words, RecordOptions& options) {
  app.add_option("--filter", words.filters,
                 "Filter for the preceding event: an address filter for traces ('filter FUNCTION @ "
                 "FILE'), an expression for tracepoints ('prev_pid > 0')")
      ->allow_extra_args(false);
  app.add_flag("--exclude-perf", words.excludes_recorder,
               "Leave flowback's own threads out of the preceding tracepoint");
  app.add_option("-G,--cgroup", options.events.cgroups,
                 "With -a or -C: record only tasks of these control groups, one for each event");
  words.aux_samples = app.add_option("--aux-sample", words.aux_sample,
                                     "Attach the most recent SIZE bytes of trace to every sample "
                                     "in the group (default 4096)")
                          ->expected(0, 1);
  app.add_flag("-g", words.frame_pointers, "Add call stacks to samples, by frame pointers");
  app.add_option("--call-graph", options.events.call_graph,
                 "Add call stacks to samples: fp, dwarf[,BYTES] or lbr");
  app.add_flag("-d,--data", options.events.accesses.data,
               "Add the address of the data to samples, and where it was found");
  app.add_flag("-W,--weight", options.events.accesses.weight,
               "Add the time that the data took to samples");
  app.add_flag("--phys-data", options.events.accesses.physical,
               "Add the data's physical address to samples");
  app.add_flag("--data-page-size", options.events.accesses.page_size,
               "Add the size of the data's page to samples");
  app.add_option("--control", options.direction.control,
                 "Take commands from a FIFO (fifo:CTL[,ACK]) or descriptor (fd:CTL[,ACK]): enable "
                 "[EVENT], disable [EVENT], snapshot, evlist, ping, stop");
  app.add_option(
      "-D,--delay", words.delay,
      "Begin this many milliseconds after the program; -1: wait for 'enable' from --control");
  words.switches = app.add_option("--switch-output", words.switch_output,
                                  "Begin another file at this size (100M), after this time (10s), "
                                  "or at SIGUSR2 (signal)")
                       ->expected(0, 1);
  app.add_option("--switch-max-files", options.rotation.most_files,
                 "Keep only the last N files of --switch-output");
  app.add_flag(
      "--kcore", options.events.kernel_code,
      "Also copy the kernel's code, needed to decode kernel traces. OUTPUT becomes a directory");
  app.add_flag("--on-crash", options.direction.on_crash,
               "Like -S, but save the trace only if CMD is killed by a signal");
  app.add_option("--trigger", words.trigger,
                 "Keep only the trace of calls that take longer, e.g. 'Handle>5ms'");
}

Status UnderstandEventOptions(const EventWords& words, const CLI::App& app,
                              RecordOptions& options) {
  UnderstandFilters(words, app, options);
  if (words.frame_pointers && options.events.call_graph.empty()) options.events.call_graph = "fp";
  for (const Status& status :
       {UnderstandDelay(words.delay, options.direction),
        UnderstandTrigger(words.trigger, options.direction), UnderstandSwitches(words, options),
        CheckKernelCode(options), CheckCrash(options), UnderstandAuxSamples(words, options)})
    if (!status) return Fail(status.error());
  return {};
}

}  // namespace flowback::cli
