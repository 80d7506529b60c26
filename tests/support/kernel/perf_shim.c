// SPDX-License-Identifier: MIT
// Loaded into perf: writes down what perf opens, and has perf believe that this machine has it. Each
// perf_event_open goes to the file $FLOWBACK_SHIM_LOG: pid, cpu, group, flags, and the attributes. What
// the kernel does not have, a dummy event stands for.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { kAttrRoom = 256 };

struct Call {
  int32_t pid, cpu, group;
  uint32_t flags;
  uint8_t attr[kAttrRoom];
};

static long (*Real(void))(long, ...) {
  return (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
}

static void Note(const struct perf_event_attr* attr, int pid, int cpu, int group, unsigned flags) {
  struct Call call = {.pid = pid, .cpu = cpu, .group = group, .flags = flags};
  const char* log = getenv("FLOWBACK_SHIM_LOG");
  const size_t size = attr->size < kAttrRoom ? attr->size : kAttrRoom;
  memcpy(call.attr, attr, size);
  const int file = log == NULL ? -1 : open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0) return;
  if (write(file, &call, sizeof call) != (ssize_t)sizeof call) abort();
  close(file);
}

static long OpenDummy(const struct perf_event_attr* wanted, int pid, int cpu, int group,
                      unsigned flags) {
  struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE, .size = sizeof attr};
  attr.config = PERF_COUNT_SW_DUMMY;
  attr.sample_type = wanted->sample_type & ~(uint64_t)(PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_AUX);
  attr.read_format = wanted->read_format;
  attr.sample_id_all = 1;
  attr.exclude_kernel = 1;
  attr.disabled = wanted->disabled;
  attr.inherit = wanted->inherit;
  attr.enable_on_exec = wanted->enable_on_exec;
  return Real()(SYS_perf_event_open, &attr, pid, cpu, group, flags);
}

long syscall(long number, ...) {
  va_list list;
  va_start(list, number);
  long a[6];
  for (int i = 0; i < 6; ++i) a[i] = va_arg(list, long);
  va_end(list);
  if (number != SYS_perf_event_open) return Real()(number, a[0], a[1], a[2], a[3], a[4], a[5]);
  const struct perf_event_attr* attr = (const struct perf_event_attr*)a[0];
  Note(attr, (int)a[1], (int)a[2], (int)a[3], (unsigned)a[4]);
  const long opened = Real()(number, a[0], a[1], a[2], a[3], a[4]);
  if (opened >= 0 || (errno != ENOENT && errno != EINVAL && errno != EOPNOTSUPP)) return opened;
  return OpenDummy(attr, (int)a[1], (int)a[2], (int)a[3], (unsigned)a[4]);
}
