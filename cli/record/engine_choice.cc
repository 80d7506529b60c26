// SPDX-License-Identifier: MIT
#include "cli/record/engine_choice.h"

#include <fmt/format.h>

#include <algorithm>

#include "capture/record/emulate/emulator_file.h"
#include "capture/record/emulate/program_needs.h"
#include "capture/record/host_facts.h"
#include "capture/record/target/program_file.h"
#include "cli/text/status.h"
#include "cli/text/terminal_session.h"

namespace flowback::cli {
namespace {

// Why no hardware engine is taken, on this machine.
std::string WhyNoHardware(const RecordOptions& options) {
  if (!options.events.branch_filter.empty()) return "this machine has no branch stacks";
  return ReadThisHost().pt_type ? "its options are none that Intel PT's hardware follows"
                                : "this machine has no Intel PT";
}

// Whether the user named hardware by what it records: -e intel_pt/.../, -b or -j.
bool AsksForHardware(const RecordOptions& options) {
  return !options.events.words.empty() || !options.events.branch_filter.empty();
}

bool NamesOtherEvents(const RecordOptions& options) {
  return std::ranges::any_of(options.events.words, [](const std::string& words) {
    return !words.starts_with("intel_pt/");
  });
}

// Whether the emulator can do what -b asks for: stacks of all branches of a command.
bool CanEmulateBranches(const RecordOptions& options) {
  return options.events.branch_filter == "any" && !options.target.command.empty() &&
         !options.events.all_cpus && options.events.cpus.empty();
}

// Returns the engine of the kernel's events; "" when no option asks for them.
std::string ChooseByEvents(const RecordOptions& options, bool suits_hardware,
                           const HostFacts& host) {
  const bool arm = host.vendor.starts_with("ARM");
  if (!options.events.branch_filter.empty() && options.events.words.empty()) {
    const bool has_stacks = host.branch_entries || host.has_brs_event;
    if (has_stacks || !CanEmulateBranches(options)) return arm ? "brbe" : "lbr";
    return "";
  }
  if (NamesOtherEvents(options) || !options.events.branch_filter.empty()) return "events";
  const bool traces = host.pt_type && suits_hardware;
  if (options.events.all_cpus || !options.events.cpus.empty()) return traces ? "pt" : "events";
  return traces ? "pt" : "";
}

// LeakSanitizer, which AddressSanitizer contains, is a debugger itself.
std::string HintOfLeaks(const std::string& sanitizer) {
  const bool leak = sanitizer == "LeakSanitizer";
  if (!leak && sanitizer != "AddressSanitizer") return {};
  return fmt::format(
      ". Its search for leaks does not work where the program is traced: {}_OPTIONS=detect_leaks=0",
      leak ? "LSAN" : "ASAN");
}

// Why the step engine suits the program better than the emulator on this machine; "": it does not.
std::string WhyStepped(const std::vector<std::string>& command) {
  if (command.empty()) return {};
  const auto program = record::FindProgram(record::LookUpInPath(command[0]));
  if (!program) return {};
  if (program->changes_identity && record::MayTraceOtherRights())
    return "the program is set-user-ID, and in the emulator it would not have the rights that "
           "gives (--engine emulate: much faster)";
  const int plugins = PluginsOf(record::LookUpInPath("qemu-x86_64")).interface_version;
  if (const std::string obstacle = record::ObstacleInEmulator(*program, plugins); !obstacle.empty())
    return obstacle + HintOfLeaks(record::SanitizerOf(*program));
  if (const std::string extension = record::ExtensionOf(*program); !extension.empty())
    return fmt::format(
        "the program's code has instructions of {} and does not ask whether the processor has "
        "them; this machine's does, QEMU's does not (--engine emulate: much faster)",
        extension);
  return {};
}

// Prints the usual choice of this machine only on request.
std::string ChooseAutomatically(const RecordOptions& options) {
  if (options.target.runs_already()) {
    if (IsVerbose())
      Warn("record: --engine auto takes 'step': the emulator can't take over a running program");
    return "step";
  }
  const Status emulator = CheckEmulated(options);
  if (const std::string why = emulator ? WhyStepped(options.target.command) : ""; !why.empty()) {
    Warn("record: --engine auto takes 'step': " + why);
    return "step";
  }
  if (emulator && AsksForHardware(options)) {
    Warn(fmt::format("record: --engine auto takes 'emulate': {} (--engine hardware insists on it)",
                     WhyNoHardware(options)));
    return "emulate";
  }
  if (emulator && !IsVerbose()) return "emulate";
  Warn(fmt::format("record: --engine auto takes '{}': {}{}", emulator ? "emulate" : "step",
                   WhyNoHardware(options),
                   emulator ? ""
                            : fmt::format(", and {} (much faster with it: {})",
                                          emulator.error().message(), emulator.error().remedy())));
  return emulator ? "emulate" : "step";
}

}  // namespace

std::string EngineHelp() {
  return "How to record. By the kernel: pt (Intel PT), lbr (branch stacks of Intel and AMD) or "
         "brbe (of Arm), which are samples, and events (of -e). In software: emulate (QEMU, 7 to "
         "40 times slower) or step (single steps, some 25 thousand instructions a second). "
         "hardware: pt, or this machine's branch stacks. auto (default): pt, else emulate (for "
         "running processes step), else step; for -b branch stacks, else emulate";
}

std::string EngineNames() {
  std::string names = "auto, hardware";
  for (const RecorderInfo& recorder : Recorders())
    names += fmt::format("{}{}", &recorder == &Recorders().back() ? " or " : ", ", recorder.name);
  return names;
}

Result<std::string> ChooseEngine(const std::string& word, const RecordOptions& options,
                                 bool suits_hardware) {
  if (word == "auto") {
    const std::string engine = ChooseByEvents(options, suits_hardware, ReadThisHost());
    return engine.empty() ? ChooseAutomatically(options) : engine;
  }
  // Returns the hardware engine that fits the machine; if the machine lacks it, its own error names
  // what is missing.
  if (word == "hardware") {
    const HostFacts host = ReadThisHost();
    if (host.pt_type) return "pt";
    return host.vendor.starts_with("ARM") ? "brbe" : "lbr";
  }
  const RecorderInfo* recorder = FindRecorder(word);
  if (recorder == nullptr)
    return Fail(Error(ErrorCode::kUsage, fmt::format("record: no engine '{}'", word))
                    .Remedy("--engine " + EngineNames()));
  return word;
}

}  // namespace flowback::cli
