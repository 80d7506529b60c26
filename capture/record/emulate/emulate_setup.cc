// SPDX-License-Identifier: MIT
// Before the emulator runs: the memory shared with it, where it and its plugin lie, its words.
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <set>

#include "base/proc_path.h"
#include "capture/record/emulate/emulate_engine.h"
#include "capture/record/emulate/emulator_command.h"
#include "capture/record/emulate/emulator_file.h"
#include "capture/record/emulate/program_needs.h"
#include "capture/record/output/image_keeper.h"
#include "capture/record/target/program_file.h"
#include "capture/record/watch/function_name.h"
#include "capture/record/watch/watched_functions.h"

extern char** environ;

namespace flowback::record {
namespace {

constexpr const char* kPlugin = "flowback-tcg.so";

std::string Reason(int error) { return std::strerror(error); }

std::string OwnFolder() {
  char path[4096] = {};
  if (readlink("/proc/self/exe", path, sizeof path - 1) < 0) return ".";
  const std::string program = path;
  return program.substr(0, program.rfind('/'));
}

// Beside the program's bin/, as it is built and as it is installed.
std::string FindPlugin(const RecordOptions& options) {
  if (!options.emulate.plugin.empty()) return options.emulate.plugin;
  for (const char* place : {"/../lib/flowback/", "/../" FLOWBACK_LIBDIR "/flowback/"}) {
    const std::string path = OwnFolder() + place + kPlugin;
    if (access(path.c_str(), R_OK) == 0) return path;
  }
  return {};
}

uint32_t UsableCpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return std::clamp<uint32_t>(static_cast<uint32_t>(CPU_COUNT(&set)), 1, kMaxVirtualCpus / 2);
}

// Empty when it is not in PATH.
std::string FindEmulator(CodeMode mode) {
  const std::string name = EmulatorName(mode);
  const std::string found = LookUpInPath(name);
  return access(found.c_str(), X_OK) == 0 && found != name ? found : std::string();
}

// One that loads plugins.
EmulatorFile UsableEmulator(CodeMode mode) {
  const std::string found = FindEmulator(mode);
  const int version = found.empty() ? 0 : PluginsOf(found).interface_version;
  return version == 0 ? EmulatorFile{} : EmulatorFile{found, version};
}

// Returns the mode of the emulator that the command needs; for a script, the shell's.
CodeMode ModeOfCommand(const RecordOptions& options) {
  if (options.target.command.empty()) return CodeMode::kX86_64;
  const auto program =
      FindProgram(LookUpInPath(options.target.command[0]), ForeignRoot(options.emulate.root));
  return program ? program->mode : CodeMode::kX86_64;
}

CodeMode OtherMode(CodeMode mode) {
  return mode == CodeMode::kX86_64 ? CodeMode::kX86_32 : CodeMode::kX86_64;
}

std::vector<std::string> Environment() {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable)
    variables.emplace_back(*variable);
  return variables;
}

}  // namespace

Result<std::unique_ptr<OwnedArea>> OwnedArea::Create(const RecordOptions& options) {
  Descriptor fd(memfd_create("flowback", MFD_CLOEXEC));
  if (*fd < 0)
    return Fail(ErrorCode::kSystem, "can't make shared memory: memfd_create: " + Reason(errno));
  void* mapped = MAP_FAILED;
  if (ftruncate(*fd, static_cast<off_t>(SharedArea::Size())) == 0)
    mapped = mmap(nullptr, SharedArea::Size(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                  *fd, 0);
  if (mapped == MAP_FAILED) {
    const int error = errno;
    return Fail(Error(ErrorCode::kSystem, "can't map shared memory: " + Reason(error))
                    .Remedy(error == EFBIG ? "this shell limits the size of files, and of shared "
                                             "memory with it: ulimit -f unlimited"
                                           : "--engine step needs none"));
  }
  auto* area = new (mapped) SharedArea;  // the file's zeros are its initial state
  const TraceClock clock = options.streams.clock == RecordClock::kInstructions
                               ? TraceClock::OfInstructions(area->ticks)
                               : TraceClock::ForThisMachine();
  area->version = kSharedAreaVersion;
  area->recorder_pid = getpid();
  area->settings = {.psb_period_bytes = options.packets.psb_period_bytes,
                    .return_compression = options.packets.return_compression,
                    .long_tnt = options.packets.long_tnt,
                    .timestamps = options.packets.timestamps,
                    .has_mtc = options.packets.mtc_shift.has_value(),
                    .mtc_shift = options.packets.mtc_shift.value_or(0),
                    .has_cyc = options.packets.cyc_threshold.has_value(),
                    .cyc_threshold = options.packets.cyc_threshold.value_or(0),
                    .conversion_shift = clock.conversion().shift,
                    .conversion_mult = clock.conversion().mult,
                    .conversion_zero = clock.conversion().zero,
                    .keeps_images = KeepsImages(options),
                    .instruction_clock = clock.counts_instructions(),
                    .branch_depth = options.streams.branch_depth.value_or(0)};
  if (options.streams.per_cpu) area->cpu_count.store(UsableCpus());
  area->magic = kSharedAreaMagic;
  return std::unique_ptr<OwnedArea>(new OwnedArea(std::move(fd), area, clock));
}

OwnedArea::~OwnedArea() { munmap(area_, SharedArea::Size()); }

std::string OwnedArea::path() const { return ProcPath(getpid(), "fd/" + std::to_string(*fd_)); }

uint64_t OwnedArea::CountProcesses() {
  std::set<pid_t> processes = area_->presence.Executing();
  for (const Slot& slot : area_->slots)
    if (slot.state.load() == SlotState::kLive) processes.insert(slot.pid);
  if (!processes.empty()) return processes.size();
  return presence_.IsHeld() ? 1 : 0;  // one that was forked just now, or a thread without a slot
}

void OwnedArea::Free(uint32_t index) {
  Slot& slot = area_->slots[index];
  // Gives the memory of the rings back; should that fail, it is only kept.
  const auto offset =
      static_cast<off_t>(area_->TraceRing(index) - reinterpret_cast<uint8_t*>(area_));
  static_cast<void>(fallocate(*fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset,
                              kTraceRingBytes + kSidebandRingBytes));
  for (RingCounters* counters : {&slot.trace, &slot.sideband}) {
    counters->head.store(0);
    counters->tail.store(0);
  }
  slot.flow[0] = slot.flow[1] = {};
  slot.state.store(SlotState::kFree, std::memory_order_release);
}

Result<EmulatedCommand> MakeEmulatedCommand(const RecordOptions& options, const std::string& area) {
  if (auto found = CheckEmulator(options); !found) return Fail(std::move(found.error()));
  const std::string& name = options.target.command[0];
  const std::string path = LookUpInPath(name);
  auto program = FindProgram(path, ForeignRoot(options.emulate.root));
  std::vector<std::string> arguments = options.target.command;
  if (!program && program.error().error == ENOEXEC && program.error().damage.empty()) {
    // As execvp does: a file of unknown format is the shell's.
    arguments.insert(arguments.begin() + 1, path);
    program = FindProgram("/bin/sh");
  }
  if (!program)
    return Fail(RefusedProgram(
        name, path, std::string(" in ") + EmulatorName(ModeOfCommand(options)), program.error()));
  if (program->mode == CodeMode::kAArch64 && !options.streams.branch_depth)
    return Fail(Error(ErrorCode::kUsage, "'" + path +
                                             "' is a program for AArch64, which has no Intel PT: "
                                             "it is recorded as branch stacks")
                    .Remedy("record -b --engine emulate"));
  const auto watched = UnderstandWatch(options);
  if (!watched) return Fail(watched.error());
  const EmulatorFile emulator = UsableEmulator(program->mode);
  if (std::string obstacle = ObstacleInEmulator(*program, emulator.plugin_interface);
      !obstacle.empty())
    return Fail(Error(ErrorCode::kUnsupported, std::move(obstacle)).Remedy("--engine step"));
  const EmulatorSetup setup{
      .emulator = emulator.path,
      .plugin = FindPlugin(options),
      .area = area,
      .plugin_interface = emulator.plugin_interface,
      .one_instruction_blocks = options.emulate.exact,
      .tells_addresses = options.emulate.locks,
      .watched = *watched,
      .starts_on = watched->starts_on(),
      .same_random_numbers = options.streams.clock == RecordClock::kInstructions,
      .mode = program->mode,
      .root = *ForeignRoot(options.emulate.root),
      .other = program->mode == CodeMode::kAArch64 ? EmulatorFile{}
                                                   : UsableEmulator(OtherMode(program->mode))};
  EmulatedCommand command;
  command.plugin_interface = setup.plugin_interface;
  command.wants_same_places = setup.WantsSamePlaces();
  command.words = EmulatorCommand(setup, *program, path, arguments);
  EmulatorEnvironment environment = SplitEnvironment(Environment(), setup.WantsSamePlaces());
  command.words.insert(command.words.begin() + 1, environment.words.begin(),
                       environment.words.end());
  command.environment = std::move(environment.variables);
  if (program->changes_identity) command.notes.push_back(IdentityNote(*program));
  return command;
}

}  // namespace flowback::record

namespace flowback {

using namespace record;

Status CheckEmulator(const RecordOptions& options) {
  const CodeMode mode = ModeOfCommand(options);
  const std::string emulator = FindEmulator(mode);
  const EmulatorPlugins plugins = PluginsOf(emulator);
  if (!emulator.empty() && plugins.interface_version == 0)
    return Fail(NoPlugins(emulator, plugins));
  if (emulator.empty())
    return Fail(Error(ErrorCode::kNoHardware,
                      std::string("no emulator: ") + EmulatorName(mode) + " is not in PATH")
                    .Remedy(kInstallEmulator));
  if (FindPlugin(options).empty())
    return Fail(Error(ErrorCode::kNoHardware,
                      std::string("the emulator's plugin is missing: no lib/flowback/") + kPlugin +
                          " beside " + OwnFolder())
                    .Remedy("install flowback whole: cmake --install"));
  return {};
}

Status CheckEmulated(const RecordOptions& options) {
  if (auto emulator = CheckEmulator(options); !emulator) return emulator;
  if (options.target.command.empty()) return {};
  const std::string path = LookUpInPath(options.target.command[0]);
  const auto program = FindProgram(path, ForeignRoot(options.emulate.root));
  if (program || program.error().error != 0) return {};
  return Fail(Error(ErrorCode::kUnsupported, "'" + path + "' is a program for " +
                                                 program.error().machine +
                                                 ", which the emulator does not run")
                  .Remedy("a build of it for 64-bit or 32-bit x86, or AArch64"));
}

}  // namespace flowback
