// SPDX-License-Identifier: MIT
#include "capture/kernel/linux_kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "base/descriptor.h"

namespace flowback::kernel {
namespace {

// What a call returned, or why it failed.
template <class T>
Called<T> Returned(T value) {
  if (value < 0) return std::unexpected(errno);
  return value;
}

}  // namespace

Called<int> LinuxKernel::OpenEvent(perf_event_attr& attr, pid_t pid, int cpu, int group,
                                   unsigned long flags) {
  return Returned(static_cast<int>(syscall(SYS_perf_event_open, &attr, pid, cpu, group, flags)));
}

void LinuxKernel::CloseEvent(int event) { close(event); }

Called<std::span<uint8_t>> LinuxKernel::Map(int event, size_t size, uint64_t offset,
                                            bool writable) {
  void* pages = mmap(nullptr, size, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED,
                     event, static_cast<off_t>(offset));
  if (pages == MAP_FAILED) return std::unexpected(errno);
  return std::span(static_cast<uint8_t*>(pages), size);
}

void LinuxKernel::Unmap(std::span<uint8_t> pages) { munmap(pages.data(), pages.size()); }

Called<int> LinuxKernel::Control(int event, unsigned long request, uint64_t argument) {
  return Returned(ioctl(event, request, argument));
}

Called<size_t> LinuxKernel::Read(int event, std::span<uint8_t> into) {
  const auto got = Returned(read(event, into.data(), into.size()));
  if (!got) return std::unexpected(got.error());
  return static_cast<size_t>(*got);
}

Called<int> LinuxKernel::Wait(std::span<pollfd> events, int milliseconds) {
  return Returned(poll(events.data(), events.size(), milliseconds));
}

Called<int> LinuxKernel::OpenFolder(const std::string& path) {
  return Returned(open((root_ + path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

void LinuxKernel::CloseFolder(int folder) { close(folder); }

// Files of /proc have no size: they are read until they end.
std::optional<std::string> LinuxKernel::ReadFile(const std::string& path) const {
  const Descriptor file(open((root_ + path).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (*file < 0) return std::nullopt;
  std::string text;
  char buffer[4096];
  while (true) {
    const ssize_t got = read(*file, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) return text;
    text.append(buffer, static_cast<size_t>(got));
  }
}

Called<size_t> LinuxKernel::ReadPart(const std::string& path, uint64_t offset,
                                     std::span<uint8_t> into) const {
  const Descriptor file(open((root_ + path).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (*file < 0) return std::unexpected(errno);
  while (true) {
    const ssize_t got = pread(*file, into.data(), into.size(), static_cast<off_t>(offset));
    if (got >= 0) return static_cast<size_t>(got);
    if (errno != EINTR) return std::unexpected(errno);
  }
}

std::vector<std::string> LinuxKernel::List(const std::string& folder) const {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(root_ + folder, ignored))
    names.push_back(entry.path().filename());
  std::ranges::sort(names);
  return names;
}

std::optional<std::string> ReadLine(const SystemKernel& kernel, const std::string& path) {
  auto text = kernel.ReadFile(path);
  if (!text || text->empty()) return std::nullopt;
  text->resize(std::min(text->find('\n'), text->size()));
  return text;
}

std::optional<int64_t> ReadNumber(const SystemKernel& kernel, const std::string& path) {
  const auto line = ReadLine(kernel, path);
  int64_t value = 0;
  if (!line || std::from_chars(line->data(), line->data() + line->size(), value).ec != std::errc())
    return std::nullopt;
  return value;
}

}  // namespace flowback::kernel
