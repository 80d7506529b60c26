// SPDX-License-Identifier: MIT
#include "cli/record/engine_choice.h"

#include <fmt/format.h>

#include <algorithm>

#include "capture/record/emulator_file.h"
#include "capture/record/host_facts.h"
#include "capture/record/program_file.h"
#include "cli/text/status.h"
#include "cli/text/terminal_session.h"

namespace flowback::cli {
namespace {

// Why no hardware engine is taken, on this machine.
std::string WhyNoHardware() {
  return ReadThisHost().pt_type ? "its options are none that Intel PT's hardware follows"
                                : "this machine has no Intel PT";
}

bool NamesOtherEvents(const RecordOptions& options) {
  return std::ranges::any_of(options.events.words, [](const std::string& words) {
    return !words.starts_with("intel_pt/");
  });
}

// Of the kernel's events; "" when nothing asks for them.
std::string ChooseByEvents(const RecordOptions& options, bool suits_hardware,
                           const HostFacts& host) {
  const bool arm = host.vendor.starts_with("ARM");
  if (!options.events.branch_filter.empty() && options.events.words.empty())
    return arm ? "brbe" : "lbr";
  if (NamesOtherEvents(options) || !options.events.branch_filter.empty()) return "events";
  const bool traces = host.pt_type && suits_hardware;
  if (options.events.all_cpus || !options.events.cpus.empty()) return traces ? "pt" : "events";
  return traces ? "pt" : "";
}

// Whether the command is a set-user-ID program whose rights the step engine leaves it. The emulator
// can't give it any.
bool KeepsRightsWhenStepped(const std::vector<std::string>& command) {
  if (command.empty() || !record::MayTraceOtherRights()) return false;
  const auto program = record::FindProgram(record::LookUpInPath(command[0]));
  return program && program->changes_identity;
}

// What is taken here every time is told only who asks.
std::string ChooseAutomatically(const RecordOptions& options) {
  if (options.target.runs_already()) {
    if (IsVerbose())
      Warn("record: --engine auto takes 'step': the emulator can't take over a running program");
    return "step";
  }
  const Status emulator = CheckEmulated(options);
  if (emulator && KeepsRightsWhenStepped(options.target.command)) {
    Warn(
        "record: --engine auto takes 'step': the program is set-user-ID, and in the emulator it "
        "would not have the rights that gives (--engine emulate: much faster)");
    return "step";
  }
  if (emulator && !IsVerbose()) return "emulate";
  Warn(fmt::format("record: --engine auto takes '{}': {}{}", emulator ? "emulate" : "step",
                   WhyNoHardware(),
                   emulator ? ""
                            : fmt::format(", and {} (much faster with it: {})",
                                          emulator.error().message(), emulator.error().remedy())));
  return emulator ? "emulate" : "step";
}

}  // namespace

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
  // Whichever there is, and else the error that says what is missing.
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
