// SPDX-License-Identifier: MIT
// What the plugin sees of a QEMU whose plugin interface has version INTERFACE and takes plugins from
// OLDEST on: QEMU's options, its checks, the functions it offers, when it calls back. The "program"
// is three instructions in this file: its thread runs them, makes another that does, and runs them
// again. Nothing is emulated.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default")))

enum { kClone = 56, kExit = 60, kExitGroup = 231, kRsp = 4, kInstructions = 3 };
enum { kRegisters = INTERFACE >= 6 ? 32 : 16 };

typedef struct {
  const char* target_name;
  struct {
    int min, cur;
  } version;
  bool system_emulation;
  int smp_vcpus, max_vcpus;
} Info;

typedef struct {
  const uint8_t* code;
  size_t size;
} Instruction;

// The program: mov $60, %eax; xor %edi, %edi; syscall.
extern const uint8_t guest_code[];
__asm__(".text\nguest_code:\n  mov $60, %eax\n  xor %edi, %edi\n  syscall\n");
static Instruction instructions[kInstructions];

// ---- what the plugin asks for ----

static void (*on_init)(uint64_t, unsigned);
static void (*on_translated)(uint64_t, void*);
static void (*on_call)(uint64_t, unsigned, int64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                       uint64_t, uint64_t, uint64_t, uint64_t);
static void (*on_block)(unsigned, void*);
static void* block;

API void qemu_plugin_register_vcpu_init_cb(uint64_t id, void (*call)(uint64_t, unsigned)) {
  (void)id;
  on_init = call;
}
API void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, void (*call)(uint64_t, void*)) {
  (void)id;
  on_translated = call;
}
API void qemu_plugin_register_vcpu_tb_exec_cb(void* tb, void (*call)(unsigned, void*), int flags,
                                              void* data) {
  (void)tb, (void)flags;
  on_block = call;
  block = data;
}
API void qemu_plugin_register_vcpu_insn_exec_cb(void) {}
API void qemu_plugin_register_vcpu_mem_cb(void) {}
API void qemu_plugin_register_vcpu_syscall_cb(
    uint64_t id, void (*call)(uint64_t, unsigned, int64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                              uint64_t, uint64_t, uint64_t, uint64_t)) {
  (void)id;
  on_call = call;
}
API void qemu_plugin_register_vcpu_syscall_ret_cb(void) {}
API void qemu_plugin_reset(uint64_t id, void (*call)(uint64_t)) { (void)id, (void)call; }
API void qemu_plugin_outs(const char* text) { (void)text; }

API size_t qemu_plugin_tb_n_insns(const void* tb) { return (void)tb, kInstructions; }
API uint64_t qemu_plugin_tb_vaddr(const void* tb) { return (void)tb, (uint64_t)guest_code; }
API void* qemu_plugin_tb_get_insn(const void* tb, size_t i) { return (void)tb, &instructions[i]; }
API size_t qemu_plugin_insn_size(const Instruction* insn) { return insn->size; }
API uint64_t qemu_plugin_insn_vaddr(const Instruction* insn) { return (uint64_t)insn->code; }
API void* qemu_plugin_insn_haddr(const Instruction* insn) { return (void*)insn->code; }
#if INTERFACE < 3
API const void* qemu_plugin_insn_data(const Instruction* insn) { return insn->code; }
#else
API size_t qemu_plugin_insn_data(const Instruction* insn, void* to, size_t size) {
  if (size > insn->size) size = insn->size;
  memcpy(to, insn->code, size);
  return size;
}
#endif

// What the versions came with.
#if INTERFACE < 2
API int qemu_plugin_n_vcpus(void) { return 1; }
#else
API int qemu_plugin_num_vcpus(void) { return 1; }
#endif
#if INTERFACE >= 3
API void qemu_plugin_register_vcpu_tb_exec_cond_cb(void) {}
#endif
#if INTERFACE >= 4
API bool qemu_plugin_read_memory_vaddr(void) { return false; }
#endif
#if INTERFACE >= 5
API bool qemu_plugin_write_register(void) { return false; }
#endif
#if INTERFACE >= 6
API void qemu_plugin_set_pc(void) {}
#endif

// ---- the emulator ----

static void Refuse(const char* why) {
  fprintf(stderr, "qemu-x86_64: %s\n", why);
  exit(1);
}

static void LoadPlugin(char* words) {
  char* arguments[64];
  int count = 0;
  const char* path = strsep(&words, ",");
  while (words != NULL && count < 64) arguments[count++] = strsep(&words, ",");
  void* plugin = dlopen(path, RTLD_NOW);
  if (plugin == NULL) Refuse(dlerror());
  const int* version = dlsym(plugin, "qemu_plugin_version");
  if (version == NULL || *version < OLDEST || *version > INTERFACE)
    Refuse("Could not load plugin: its version is not one of mine");
  const Info info = {.target_name = "x86_64", .version = {OLDEST, INTERFACE}};
  int (*install)(uint64_t, const Info*, int, char**);
  *(void**)&install = dlsym(plugin, "qemu_plugin_install");
  if (install(1, &info, count, arguments) != 0) Refuse("the plugin did not install");
}

// The generated code keeps the CPU state's address in RBP.
static void CallBlock(unsigned vcpu, const uint64_t* state) {
  __asm__ volatile(
      "mov %%rsp, %%rbx\n  sub $256, %%rsp\n  and $-16, %%rsp\n"
      "push %%rbp\n  push %%rbp\n  mov %%rax, %%rbp\n"
      "call *%%rdx\n"
      "pop %%rbp\n  pop %%rbp\n  mov %%rbx, %%rsp\n"
      : "+a"(state)
      : "D"((uint64_t)vcpu), "S"(block), "d"(on_block)
      : "rbx", "rcx", "r8", "r9", "r10", "r11", "memory", "cc");
}

// Runs the program's three instructions up to a system call.
static void RunTo(unsigned vcpu, int64_t system_call) {
  static const char* const stack[] = {(const char*)1, "program", NULL, NULL};
  uint64_t state[64] = {0};
  state[kRsp] = (uint64_t)stack;
  state[kRegisters] = (uint64_t)guest_code;
  CallBlock(vcpu, state);
  on_call(1, vcpu, system_call, 0, 0, 0, 0, 0, 0, 0, 0);
}

static void* SecondThread(void* unused) {
  if (INTERFACE >= 2) on_init(1, 1);
  RunTo(1, kExit);
  return unused;
}

static void RunProgram(void) {
  const size_t begins[] = {0, 5, 7, 9};
  for (int i = 0; i < kInstructions; ++i) {
    instructions[i].code = guest_code + begins[i];
    instructions[i].size = begins[i + 1] - begins[i];
  }
  on_init(1, 0);
  on_translated(1, NULL);
  RunTo(0, kClone);
  if (INTERFACE < 2) on_init(1, 1);
  pthread_t second;
  pthread_create(&second, NULL, SecondThread, NULL);
  pthread_join(second, NULL);
  RunTo(0, kExitGroup);
}

int main(int count, char** words) {
  int i = 1;
  for (; i < count && words[i][0] == '-'; ++i) {
    if (strcmp(words[i], "-plugin") == 0)
      LoadPlugin(words[++i]);
    else if (strcmp(words[i], "-0") == 0 || strcmp(words[i], "-E") == 0)
      ++i;
    else if (strcmp(words[i], INTERFACE < 2 ? "-singlestep" : "-one-insn-per-tb") != 0)
      Refuse("unknown option");
  }
  if (i == count || on_translated == NULL) Refuse("nothing to run");
  RunProgram();
  return 0;
}
