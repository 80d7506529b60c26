// SPDX-License-Identifier: MIT
// flowback-tcg.so: what QEMU loads. It hands QEMU's callbacks to the process's one EmulatedProcess.
//
// QEMU's callbacks carry no data of ours but the one for a block's run, so the process is kept in
// variables of this file; and so are the functions of the C library and the signal handlers whose
// calls we see. All are set once, when QEMU installs the plugin or the program begins.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "capture/emulate/core_dump.h"
#include "capture/emulate/emulated_process.h"
#include "capture/emulate/emulator_hooks.h"
#include "capture/emulate/qemu_plugin_api.h"
#include "capture/record/emulate/plugin_interface.h"
#include "decode/instruction/atomic_access.h"

namespace flowback::emulate {
namespace {

// Before QEMU asks for it, which is before Install: it is this module's first initialized.
const int interface_version = record::PluginInterface(
    [](const char* function) { return dlsym(RTLD_DEFAULT, function) != nullptr; });

EmulatedProcess* process;
qemu_plugin_id_t plugin_id;
CoreDump core_dump;
std::string program;   // its file
bool copies_code;      // how QEMU gives an instruction's bytes
bool tells_addresses;  // of atomic operations
ThreadTable threads;   // its threads

// Arguments come as "name=value".
std::map<std::string, std::string> ReadArguments(int count, char** words) {
  std::map<std::string, std::string> arguments;
  for (int i = 0; i < count; ++i) {
    const std::string word = words[i];
    const size_t equals = word.find('=');
    if (equals != std::string::npos) arguments[word.substr(0, equals)] = word.substr(equals + 1);
  }
  return arguments;
}

record::FunctionName ReadFunction(const std::string& hex) {
  return record::ParseFunctionName(record::FromHex(hex)).value_or(record::FunctionName{});
}

// What the program before this one opened, else by its name. Negative when the recorder is gone.
int OpenArea(const std::string& path, const std::string& open_area) {
  const int fd = open_area.empty() ? -1 : std::atoi(open_area.c_str());
  return fd >= 0 ? fd : open(path.c_str(), O_RDWR | O_CLOEXEC);
}

// Null when it is another version's. Closes the descriptor.
record::SharedArea* MapArea(int fd) {
  void* mapped = mmap(nullptr, record::SharedArea::Size(), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_NORESERVE, fd, 0);
  close(fd);
  if (mapped == MAP_FAILED) return nullptr;
  auto* area = static_cast<record::SharedArea*>(mapped);
  return area->magic == record::kSharedAreaMagic && area->version == record::kSharedAreaVersion
             ? area
             : nullptr;
}

extern "C" [[gnu::used]] void FlowbackOnBlock(unsigned vcpu, void* block, void* registers) {
  process->OnBlock(vcpu, *static_cast<const Block*>(block),
                   static_cast<GuestRegisters*>(registers));
}

// QEMU's generated code keeps the CPU state's address in RBP (see guest.h): passed on as a third
// argument.
extern "C" void FlowbackPassRegisters(unsigned vcpu, void* block);
asm(".pushsection .text\n"
    ".hidden FlowbackPassRegisters\n"
    ".type FlowbackPassRegisters, @function\n"
    "FlowbackPassRegisters:\n"
    "  mov %rbp, %rdx\n"
    "  jmp FlowbackOnBlock\n"
    ".size FlowbackPassRegisters, . - FlowbackPassRegisters\n"
    ".popsection\n");

// What the generated code calls. It needs no registers to be saved but where it goes on by a jump,
// so that RBP is as it was.
void OnBlock(unsigned vcpu, void* data) {
  const auto& block = *static_cast<const Block*>(data);
  ThreadTracer* thread = threads.Get(vcpu);
  if (thread != nullptr && thread->EnterQuickly(block)) [[likely]]
    return;
  return FlowbackPassRegisters(vcpu, data);
}

void OnSwitchInside(unsigned vcpu, void* rest) {
  process->OnSwitchInside(vcpu, *static_cast<const Block*>(rest));
}

void OnAtomic(unsigned vcpu, qemu_plugin_meminfo_t, uint64_t address, void* ip) {
  ThreadTracer* thread = threads.Get(vcpu);
  if (thread != nullptr) thread->TellAtomic(reinterpret_cast<uintptr_t>(ip), address);
}

// ---- ends ----

// The emulator kills itself when the program dies of a signal, in the thread that dies. The
// program's own kill goes another way.
int (*real_kill)(pid_t, int);

int OnKill(pid_t pid, int signal) {
  if (pid == getpid()) {
    core_dump.Finish(signal);
    process->OnFatalSignal(signal, core_dump.path());
    CoreDump::KeepKernelFromDumping();
  }
  return real_kill(pid, signal);
}

int (*real_open)(const char*, int, ...);

// Only where a file may be made is there a mode.
int OnOpen(const char* path, int flags, ...) {
  if (CoreDump::IsDump(path, flags)) return core_dump.Open(process->OwnComm(), program);
  if ((flags & (O_CREAT | O_TMPFILE)) == 0) return real_open(path, flags);
  va_list values;
  va_start(values, flags);
  const mode_t mode = va_arg(values, mode_t);
  va_end(values);
  return real_open(path, flags, mode);
}

ssize_t OnWrite(int descriptor, const void* bytes, size_t size) {
  return core_dump.Write(descriptor, bytes, size);
}

// The emulator says on the program's stderr that it dumped core, also where it did not. By itself
// the program would say nothing.
int Print(FILE* file, const char* format, va_list values) {
  constexpr std::string_view kUncaught = "qemu: uncaught target signal";
  return std::string_view(format).starts_with(kUncaught) ? 0 : vfprintf(file, format, values);
}

int OnPrint(FILE* file, const char* format, ...) {
  va_list values;
  va_start(values, format);
  const int result = Print(file, format, values);
  va_end(values);
  return result;
}

// What the compiler makes of it where the C library's checks are on.
int OnCheckedPrint(FILE* file, int, const char* format, ...) {
  va_list values;
  va_start(values, format);
  const int result = Print(file, format, values);
  va_end(values);
  return result;
}

using SignalAction = void (*)(int, siginfo_t*, void*);
std::array<SignalAction, 2> emulator_actions;  // for SIGSEGV and SIGBUS

// The emulator leaves its handler by a jump when the program's own access failed.
void OnHostFault(int signal, siginfo_t* info, void* context) {
  // The kernel reports no address if it is not canonical.
  const uint64_t address =
      info->si_code == SI_KERNEL ? 0 : reinterpret_cast<uint64_t>(info->si_addr);
  if (signal == SIGSEGV && info->si_code == SEGV_ACCERR && process->OnWriteFault(address)) return;
  if (info->si_code > 0) process->OnHostFault(false, address);
  emulator_actions[signal == SIGSEGV ? 0 : 1](signal, info, context);
  if (info->si_code > 0) process->OnHostFault(true, 0);
}

void WatchHostFaults() {
  for (const int signal : {SIGSEGV, SIGBUS}) {
    struct sigaction action{};
    if (sigaction(signal, nullptr, &action) != 0) continue;
    if ((action.sa_flags & SA_SIGINFO) == 0 || action.sa_sigaction == OnHostFault) continue;
    emulator_actions[signal == SIGSEGV ? 0 : 1] = action.sa_sigaction;
    action.sa_sigaction = OnHostFault;
    sigaction(signal, &action, nullptr);
  }
}

// How many bytes the instruction has.
size_t AppendCode(const qemu_plugin_insn* insn, std::vector<uint8_t>& code) {
  const size_t size = qemu_plugin_insn_size(insn);
  const size_t before = code.size();
  code.resize(before + size);
  if (copies_code)
    reinterpret_cast<qemu_plugin_insn_data_3_t>(&qemu_plugin_insn_data)(insn, &code[before], size);
  else
    std::memcpy(&code[before],
                reinterpret_cast<qemu_plugin_insn_data_1_t>(&qemu_plugin_insn_data)(insn), size);
  return size;
}

// Each reads its data once at least, whether it then writes or not.
void WatchAtomic(qemu_plugin_insn* insn, Bytes code) {
  if (!IsAtomicAccess(code, process->mode())) return;
  void* ip = reinterpret_cast<void*>(qemu_plugin_insn_vaddr(insn));
  qemu_plugin_register_vcpu_mem_cb(insn, OnAtomic, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_R, ip);
}

void OnTranslated(qemu_plugin_id_t, qemu_plugin_tb* tb) {
  // The emulator installs its handlers before the program runs, and before that one thread only.
  if (emulator_actions[0] == nullptr) WatchHostFaults();
  const size_t count = qemu_plugin_tb_n_insns(tb);
  std::vector<uint8_t> code;
  std::vector<uint8_t> lengths;
  uint64_t base = 0;
  for (size_t i = 0; i < count; ++i) {
    qemu_plugin_insn* insn = qemu_plugin_tb_get_insn(tb, i);
    lengths.push_back(static_cast<uint8_t>(AppendCode(insn, code)));
    if (tells_addresses) WatchAtomic(insn, Bytes(code).last(lengths.back()));
    if (i == 0)
      base =
          reinterpret_cast<uint64_t>(qemu_plugin_insn_haddr(insn)) - qemu_plugin_insn_vaddr(insn);
  }
  Block& block = process->OnTranslated(qemu_plugin_tb_vaddr(tb), base, code, lengths);
  qemu_plugin_register_vcpu_tb_exec_cb(tb, OnBlock, QEMU_PLUGIN_CB_R_REGS, &block);
  for (const auto& [index, rest] : process->SwitchesInside(block, code, lengths))
    qemu_plugin_register_vcpu_insn_exec_cb(qemu_plugin_tb_get_insn(tb, index), OnSwitchInside,
                                           QEMU_PLUGIN_CB_R_REGS, rest);
}

// ---- new threads ----

struct NewThread {
  void* (*run)(void*);
  void* argument;
  ThreadMaker maker;
};

thread_local std::optional<ThreadMaker> maker;  // of this thread; empty: it is the program's first

void* RunThread(void* data) {
  const NewThread thread = *static_cast<NewThread*>(data);
  delete static_cast<NewThread*>(data);
  maker = thread.maker;
  return thread.run(thread.argument);
}

int (*real_pthread_create)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);

int OnCreate(pthread_t* id, const pthread_attr_t* attributes, void* (*run)(void*), void* argument) {
  auto* thread = new NewThread{run, argument, process->AsMaker()};
  const int error = real_pthread_create(id, attributes, RunThread, thread);
  if (error != 0) delete thread;
  return error;
}

void OnThreadMade(qemu_plugin_id_t, unsigned vcpu) { process->OnThreadMade(vcpu, maker); }

// ---- mappings ----

thread_local bool refuses_mappings;  // the program's call is to fail

void* (*real_mmap)(void*, size_t, int, int, int, off64_t);

void* OnMap(void* address, size_t size, int protection, int flags, int file, off64_t offset) {
  if (!refuses_mappings) return real_mmap(address, size, protection, flags, file, offset);
  errno = ENOMEM;
  return MAP_FAILED;
}

void* (*real_mremap)(void*, size_t, size_t, int, ...);

// The last argument is there with MREMAP_FIXED; nothing is read of it elsewhere.
void* OnRemap(void* address, size_t old_size, size_t size, int flags, void* place) {
  if (!refuses_mappings) return real_mremap(address, old_size, size, flags, place);
  errno = ENOMEM;
  return MAP_FAILED;
}

void WatchMappings() {
  real_mmap = reinterpret_cast<decltype(real_mmap)>(
      ReplaceImport("mmap64", reinterpret_cast<void*>(&OnMap)));
  real_mremap = reinterpret_cast<decltype(real_mremap)>(
      ReplaceImport("mremap", reinterpret_cast<void*>(&OnRemap)));
}

void OnSystemCall(qemu_plugin_id_t, unsigned vcpu, int64_t number, uint64_t a1, uint64_t a2,
                  uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6, uint64_t, uint64_t) {
  process->OnSystemCall(vcpu, {number, number, {a1, a2, a3, a4, a5, a6}});
  refuses_mappings = process->MustFail(vcpu);
}

void OnSystemCallDone(qemu_plugin_id_t, unsigned vcpu, int64_t number, int64_t result) {
  refuses_mappings = false;
  process->OnSystemCallDone(vcpu, number, result);
}

void RegisterCallbacks(qemu_plugin_id_t id) {
  qemu_plugin_register_vcpu_init_cb(id, OnThreadMade);
  qemu_plugin_register_vcpu_tb_trans_cb(id, OnTranslated);
  qemu_plugin_register_vcpu_syscall_cb(id, OnSystemCall);
  qemu_plugin_register_vcpu_syscall_ret_cb(id, OnSystemCallDone);
}

// While the CPUs are on their way to that, asking once more does nothing.
void DropTranslations() {
  qemu_plugin_reset(plugin_id, [](qemu_plugin_id_t id) {
    process->OnDropped();
    RegisterCallbacks(id);
  });
}

// Returns the mode of the programs that the emulator runs; empty: they cannot be recorded.
std::optional<CodeMode> ModeOfTarget(std::string_view name) {
  if (name == "x86_64") return CodeMode::kX86_64;
  if (name == "i386") return CodeMode::kX86_32;
  if (name == "aarch64") return CodeMode::kAArch64;
  return std::nullopt;
}

bool Install(qemu_plugin_id_t id, const qemu_info_t& info, int count, char** words) {
  const std::optional<CodeMode> mode = ModeOfTarget(info.target_name);
  if (info.system_emulation || !mode) return false;
  auto arguments = ReadArguments(count, words);
  const std::string& name = arguments["area"];
  const int area_file = OpenArea(name, arguments["open"]);
  if (area_file < 0) return true;  // the program is run without us
  record::SharedArea* area = MapArea(area_file);
  if (area == nullptr) return false;
  area->processes.fetch_add(1);
  record::ShowPresence(area->presence, name.substr(0, name.rfind('/') + 1));
  area->presence.Leave(getpid());
  char emulator[4096] = {};
  if (readlink("/proc/self/exe", emulator, sizeof emulator - 1) < 0) return false;
  copies_code = info.version.cur >= record::kCopyingPluginInterface;
  program = record::FromHex(arguments["program"]);
  const std::string comm = record::FromHex(arguments["name"]);
  prctl(PR_SET_NAME, comm.c_str());  // programs ask for it, and ps shows it
  tells_addresses = arguments["locks"] == "on";
  process = new EmulatedProcess(
      *area,
      {.emulator = emulator,
       .plugin = record::FromHex(arguments["plugin"]),
       .area = name,
       .plugin_interface = interface_version,
       .one_instruction_blocks = arguments["exact"] == "on",
       .tells_addresses = tells_addresses,
       .watched = {ReadFunction(arguments["from"]), ReadFunction(arguments["until"])},
       .starts_on = arguments["start"] != "off",
       .same_random_numbers = area->settings.instruction_clock,
       .mode = *mode,
       .root = record::FromHex(arguments["root"]),
       .other = {record::FromHex(arguments["other"]),
                 std::atoi(arguments["other_interface"].c_str())}},
      comm, threads, DropTranslations);
  plugin_id = id;
  pthread_atfork([] { process->BeforeFork(); }, [] { process->AfterForkInParent(); },
                 [] { process->AfterForkInChild(); });
  real_kill = reinterpret_cast<decltype(real_kill)>(
      ReplaceImport("kill", reinterpret_cast<void*>(&OnKill)));
  real_pthread_create = reinterpret_cast<decltype(real_pthread_create)>(
      ReplaceImport("pthread_create", reinterpret_cast<void*>(&OnCreate)));
  real_open = reinterpret_cast<decltype(real_open)>(
      ReplaceImport("open64", reinterpret_cast<void*>(&OnOpen)));
  if (real_open != nullptr) ReplaceImport("write", reinterpret_cast<void*>(&OnWrite));
  ReplaceImport("fprintf", reinterpret_cast<void*>(&OnPrint));
  ReplaceImport("__fprintf_chk", reinterpret_cast<void*>(&OnCheckedPrint));
  WatchMappings();
  RegisterCallbacks(id);
  return true;
}

}  // namespace
}  // namespace flowback::emulate

extern "C" {

[[gnu::visibility("default")]] int qemu_plugin_version = flowback::emulate::interface_version;

[[gnu::visibility("default")]] int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t* info,
                                                       int count, char** words) {
  return flowback::emulate::Install(id, *info, count, words) ? 0 : -1;
}
}
