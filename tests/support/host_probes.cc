// SPDX-License-Identifier: MIT
#include "tests/support/host_probes.h"

#include <cpuid.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace flowback::host {
namespace {

constexpr int kFailed = 1;

void Append(std::vector<uint8_t>& bytes, std::initializer_list<uint32_t> values, int size) {
  for (const uint32_t value : values)
    for (int i = 0; i < size; ++i) bytes.push_back(static_cast<uint8_t>(value >> (8 * i)));
}

// The smallest 32-bit ELF file: header, one segment, and exit(0) by INT 0x80.
std::vector<uint8_t> SmallestProgram32() {
  constexpr uint32_t kBase = 0x08048000, kHeader = 52, kSegment = 32, kCode = 12;
  std::vector<uint8_t> file = {0x7f, 'E', 'L', 'F', 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  Append(file, {2, 3}, 2);  // executable, i386
  Append(file, {1, kBase + kHeader + kSegment, kHeader, 0, 0}, 4);
  Append(file, {kHeader, kSegment, 1, 0, 0, 0}, 2);
  constexpr uint32_t kSize = kHeader + kSegment + kCode, kLoad = 1, kReadable = 5, kPage = 0x1000;
  Append(file, {kLoad, 0, kBase, kBase, kSize, kSize, kReadable, kPage}, 4);
  // mov $1, %eax; mov $0, %ebx; int $0x80
  Append(file, {0xb8, 1, 0, 0, 0, 0xbb, 0, 0, 0, 0, 0xcd, 0x80}, 1);
  return file;
}

int OpenSoftwareEvent() {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_DUMMY;
  attr.exclude_kernel = 1;
  return static_cast<int>(syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0));
}

}  // namespace

int CallsByInterrupt80() {
  constexpr long kGetpid32 = 20;
  long result = kGetpid32;
  __asm__ volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
  return result == getpid() ? 0 : kFailed;
}

int ChangesTo32BitCode() {
  constexpr uint64_t kSize = 4096;
  auto* page =
      static_cast<uint8_t*>(mmap(nullptr, kSize, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0));  // below 2 GB
  if (page == MAP_FAILED) return kFailed;
  constexpr uint32_t kBack = 7;
  std::vector<uint8_t> code = {0xea};  // in 32-bit code: ljmp $0x33, to what follows it
  Append(code, {static_cast<uint32_t>(reinterpret_cast<uintptr_t>(page)) + kBack}, 4);
  Append(code, {0x33}, 2);
  // In 64-bit code: mov $231, %eax; xor %edi, %edi; syscall. That is exit_group(0).
  Append(code, {0xb8, 231, 0, 0, 0, 0x31, 0xff, 0x0f, 0x05}, 1);
  std::memcpy(page, code.data(), code.size());
  if (mprotect(page, kSize, PROT_READ | PROT_EXEC) != 0) return kFailed;
  __asm__ volatile("pushq $0x23\n  pushq %0\n  lretq\n" : : "r"(page) : "memory");
  return kFailed;
}

int BecomesA32BitProgram() {
  const int file = static_cast<int>(syscall(SYS_memfd_create, "program", 0));
  const std::vector<uint8_t> program = SmallestProgram32();
  if (file < 0 || write(file, program.data(), program.size()) < 0) return kFailed;
  char* const none[] = {nullptr};
  fexecve(file, none, none);
  return kFailed;
}

int TracesItsChild() {
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  const bool may = ptrace(PTRACE_SEIZE, child, nullptr, PTRACE_O_EXITKILL) == 0;
  kill(child, SIGKILL);
  waitpid(child, nullptr, __WALL);
  return may ? 0 : kFailed;
}

int OpensASoftwareEvent() { return OpenSoftwareEvent() >= 0 ? 0 : kFailed; }

int FindsTheKernelsClock() {
  const int event = OpenSoftwareEvent();
  if (event < 0) return kFailed;
  const size_t size = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* mapped = mmap(nullptr, size, PROT_READ, MAP_SHARED, event, 0);
  if (mapped == MAP_FAILED) return kFailed;
  return static_cast<const perf_event_mmap_page*>(mapped)->cap_user_time_zero ? 0 : kFailed;
}

int RunsATemporaryScript() {
  std::error_code error;
  std::string path = std::filesystem::temp_directory_path(error) / "flowback-host-XXXXXX";
  const int file = mkstemp(path.data());
  constexpr std::string_view kScript = "#!/bin/sh\nexit 0\n";
  if (file < 0 || write(file, kScript.data(), kScript.size()) < 0) return kFailed;
  fchmod(file, S_IRWXU);
  close(file);  // a file open for writing does not run
  const bool runs = std::system(("'" + path + "' 2>/dev/null").c_str()) == 0;
  unlink(path.c_str());
  return runs ? 0 : kFailed;
}

bool HasTransactions() {
  constexpr unsigned kFeatures = 7, kRtm = 1 << 11;
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(kFeatures, 0, &a, &b, &c, &d) && (b & kRtm) != 0;
}

}  // namespace flowback::host
