// SPDX-License-Identifier: MIT
#include "decode/code/kernel_memory.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "decode/code/kernel_code.h"

namespace flowback {
namespace {

constexpr size_t kHeaders = 1 << 20;  // /proc/kcore has a few dozen segments and short notes
constexpr uint64_t kMostCode = uint64_t{1} << 30;  // the kernel's text and modules have 2 GiB

// Up to `size` bytes at `offset`.
std::vector<uint8_t> ReadAt(int fd, uint64_t offset, size_t size) {
  std::vector<uint8_t> bytes(size);
  size_t done = 0;
  while (done < size) {
    const ssize_t got =
        pread(fd, bytes.data() + done, size - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += static_cast<size_t>(got);
  }
  bytes.resize(done);
  return bytes;
}

}  // namespace

Result<KernelMemory> KernelMemory::Open(const std::string& path) {
  KernelMemory memory;
  memory.path_ = path;
  if (auto mapped = MappedFile::Open(path); mapped && !(*mapped)->bytes().empty()) {
    memory.mapped_ = std::move(*mapped);
    auto core = ReadCore(memory.mapped_->bytes(), path);
    if (!core) return Fail(std::move(core.error()));
    memory.core_ = std::move(*core);
    return memory;
  }
  memory.file_ = Descriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (*memory.file_ < 0)
    return Fail(Error(ErrorCode::kUnreadable, path + ": " + std::strerror(errno))
                    .Remedy("name a copy of /proc/kcore that may be read"));
  const std::vector<uint8_t> beginning = ReadAt(*memory.file_, 0, kHeaders);
  auto core = ReadCoreHeaders(beginning, path);
  if (!core) return Fail(std::move(core.error()));
  for (CoreSegment& segment : core->segments) segment.bytes = {};
  memory.core_ = std::move(*core);
  return memory;
}

KernelMemory::Part KernelMemory::Read(const CoreSegment& segment, uint64_t address, uint64_t size) {
  const uint64_t skipped = address - segment.address;
  if (mapped_ != nullptr)
    return {.address = address,
            .size = Slice(segment.bytes, skipped, size).size(),
            .offset = segment.file_offset + skipped,
            .owner = mapped_,
            .bytes = mapped_->bytes()};
  size = std::min(size, kMostRead - read_);
  const auto bytes = std::make_shared<const std::vector<uint8_t>>(
      ReadAt(*file_, segment.file_offset + skipped, size));
  read_ += bytes->size();
  return {.address = address, .size = bytes->size(), .offset = 0, .owner = bytes, .bytes = *bytes};
}

std::vector<KernelMemory::Part> KernelMemory::Find(uint64_t address, uint64_t size) {
  std::vector<Part> parts;
  if (size == 0) return parts;
  const uint64_t last = address + (size - 1);
  for (const CoreSegment& segment : core_.segments) {
    const uint64_t begin = std::max(segment.address, address);
    const uint64_t end = std::min(segment.address + (segment.size - 1), last);
    if (begin > end) continue;
    Part part = Read(segment, begin, end - begin + 1);
    if (part.size != 0) parts.push_back(std::move(part));
  }
  return parts;
}

std::vector<AddressRange> KernelMemory::CodeRanges() const {
  std::vector<AddressRange> ranges;
  for (const CoreSegment& segment : core_.segments)
    if (segment.address >= kKernelAddresses && segment.size <= kMostCode)
      ranges.push_back({segment.address, segment.address + segment.size});
  return ranges;
}

}  // namespace flowback
