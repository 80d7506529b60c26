// SPDX-License-Identifier: MIT
// `flowback doctor`: what this machine can record, and what to do about what it can't.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/mapped_file.h"
#include "capture/kernel/linux_kernel.h"
#include "capture/kernel/machine_tree.h"
#include "capture/record/emulate/emulator_file.h"
#include "capture/record/host_facts.h"
#include "cli/command.h"
#include "cli/doctor/doctor_trials.h"
#include "cli/doctor/doctor_verdicts.h"
#include "cli/options/arguments.h"
#include "cli/text/json_value.h"
#include "cli/text/output.h"
#include "cli/text/status.h"
#include "flowback/capture/record.h"
#include "replay/writers/text/printable.h"

namespace flowback::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Diagnosis {
  HostFacts facts;
  std::vector<Verdict> verdicts;
  std::vector<Note> notes;
};

void AppendPart(std::string& out, std::string_view name, const std::string& text) {
  if (!text.empty()) out += fmt::format("            {}: {}\n", name, PrintableProse(text));
}

std::string MachineText(const HostFacts& facts) {
  return fmt::format(
      "{}, {} CPU{}, Linux {}{}",
      facts.model.empty() ? (facts.vendor.empty() ? "unknown CPU" : facts.vendor) : facts.model,
      facts.cpus, facts.cpus == 1 ? "" : "s",
      facts.kernel_release.empty() ? "unknown" : facts.kernel_release,
      !facts.Flag("hypervisor")
          ? ""
          : ", in a virtual machine" +
                (facts.hypervisor.empty() ? "" : " (" + facts.hypervisor + ")"));
}

// Returns the CPU's flags that matter here.
std::vector<std::string> TellingFlags(const HostFacts& facts) {
  std::vector<std::string> flags;
  for (const char* flag : {"lm", "intel_pt", "arch_lbr", "brs", "amd_lbr_v2", "hypervisor"})
    if (facts.Flag(flag)) flags.push_back(flag);
  return flags;
}

std::string Joined(const std::vector<std::string>& words) {
  return words.empty() ? "none" : fmt::format("{}", fmt::join(words, " "));
}

std::string PtText(const HostFacts& facts) {
  std::string text;
  for (const auto& [name, value] : facts.pt_caps)
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  return text;
}

void PrintText(const Diagnosis& diagnosis, Output& output) {
  std::string& out = output.buffer();
  const auto line = [&out](std::string_view name, const std::string& text) {
    out += fmt::format("{:<12}{}\n", name, PrintableProse(text));
  };
  line("machine:", MachineText(diagnosis.facts));
  line("CPU flags:", Joined(TellingFlags(diagnosis.facts)));
  line("PMUs:", Joined(diagnosis.facts.pmus));
  if (diagnosis.facts.pt_type) line("intel_pt:", PtText(diagnosis.facts));
  out += "\nrecording with\n";
  for (const Verdict& v : diagnosis.verdicts) {
    out += fmt::format("  {:<8}{:<3} {}\n", v.kind, v.usable ? "yes" : "no", PrintableProse(v.why));
    AppendPart(out, "found by", v.found_by);
    AppendPart(out, "fix", v.fix);
    AppendPart(out, "instead", v.instead);
  }
  out += "\npermissions\n";
  for (const Note& note : diagnosis.notes) {
    out += fmt::format("  {}: {}\n", note.name, PrintableProse(note.text));
    AppendPart(out, "fix", note.fix);
  }
  out += "\nReading recordings made elsewhere works on any machine.\n";
}

Json EmulatorJson(const std::string& path, const std::string& version,
                  const std::optional<EmulatorPlugins>& plugins) {
  if (path.empty()) return nullptr;
  const bool loads = plugins && plugins->interface_version != 0;
  return {{"path", path},
          {"version", TextOrNull(version)},
          {"plugins", plugins ? Json(loads) : Json(nullptr)},
          {"plugin_interface", loads ? Json(plugins->interface_version) : Json(nullptr)}};
}

void PrintJson(const Diagnosis& diagnosis, Output& output) {
  const HostFacts& facts = diagnosis.facts;
  Json json;
  json["schema"] = "flowback.doctor/1";
  json["machine"] = {{"vendor", TextOrNull(facts.vendor)},
                     {"model", TextOrNull(facts.model)},
                     {"cpus", facts.cpus},
                     {"kernel", TextOrNull(facts.kernel_release)},
                     {"virtual", facts.Flag("hypervisor")},
                     {"hypervisor", TextOrNull(facts.hypervisor)},
                     {"container", TextOrNull(facts.container)},
                     {"flags", TellingFlags(facts)},
                     {"pmus", facts.pmus}};
  json["emulator"] = EmulatorJson(facts.qemu_user, facts.qemu_version, facts.qemu_plugins);
  json["emulator_32"] =
      EmulatorJson(facts.short_qemu_user, facts.short_qemu_version, facts.short_qemu_plugins);
  json["intel_pt"] =
      facts.pt_type
          ? Json{{"type", *facts.pt_type}, {"caps", facts.pt_caps}, {"format", facts.pt_formats}}
          : Json(nullptr);
  json["recording"] = Json::array();
  for (const Verdict& v : diagnosis.verdicts)
    json["recording"].push_back({{"engine", v.kind},
                                 {"usable", v.usable},
                                 {"machine", v.machine},
                                 {"why", v.why},
                                 {"found_by", v.found_by},
                                 {"fix", TextOrNull(v.fix)},
                                 {"instead", TextOrNull(v.instead)}});
  json["permissions"] = Json::array();
  for (const Note& note : diagnosis.notes)
    json["permissions"].push_back(
        {{"name", note.name}, {"text", note.text}, {"fix", TextOrNull(note.fix)}});
  // ASCII alone: no character of a name rules the terminal (printable.h).
  output.Write(json.dump(2, ' ', true, Json::error_handler_t::replace) + '\n');
}

// Which machine is judged.
struct Machine {
  std::string root;  // a copy of /proc, /sys and the programs; "": this machine
  std::string tree;  // what --save-tree wrote; "": none
};

Result<HostFacts> FactsOf(const Machine& machine) {
  if (!machine.tree.empty()) {
    const auto file = MappedFile::Open(machine.tree);
    if (!file) return Fail(file.error());
    const Bytes bytes = (*file)->bytes();
    auto tree =
        kernel::MachineTree::Parse({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    if (!tree) return Fail(std::move(tree.error().While("reading " + machine.tree)));
    return ReadHostFacts(kernel::TreeKernel(*std::move(tree)));
  }
  HostFacts facts = ReadHostFacts(kernel::LinuxKernel(machine.root));
  const char* path = std::getenv("PATH");
  ReadPrograms(machine.root, path == nullptr ? "" : path, facts);
  machine.root.empty() ? TryRecording(facts) : ReadTrials(machine.root, facts);
  return facts;
}

int SaveTree(const std::string& path, const std::string& root) {
  Result<Output> output = Output::Open(path);
  if (!output) return Report(output.error());
  output->Write(kernel::MachineTree::Of(kernel::LinuxKernel(root)).Text());
  const Status written = output->Finish();
  return written ? kDone : Report(written.error());
}

}  // namespace

int RunDoctor(const Arguments& arguments) {
  CLI::App app("Shows what this machine can record, and how to fix what it cannot.",
               "flowback doctor");
  bool json = false;
  Machine machine;
  std::string save;
  app.add_flag("--json", json, "Print JSON");
  auto* tree =
      app.add_option("--tree", machine.tree, "Judge the machine whose --save-tree wrote this file");
  app.add_option("--save-tree", save,
                 "Only write the facts that decide the verdicts to FILE, to give away. It names "
                 "neither machine nor users nor addresses; -: standard output")
      ->excludes(tree);
  app.add_option("--sysroot", machine.root, "Judge a copy of /proc and /sys below this folder")
      ->group("")
      ->excludes(tree);
  if (const std::optional<int> status = Parse(app, arguments)) return *status;
  if (!save.empty()) return SaveTree(save, machine.root);
  auto facts = FactsOf(machine);
  if (!facts) return Report(facts.error());
  Diagnosis diagnosis{*std::move(facts), {}, {}};
  diagnosis.verdicts = JudgeEngines(diagnosis.facts);
  diagnosis.notes = JudgePermissions(diagnosis.facts);
  Output output;
  if (json)
    PrintJson(diagnosis, output);
  else
    PrintText(diagnosis, output);
  const Status written = output.Finish();
  return written ? kDone : Report(written.error());
}

}  // namespace flowback::cli
