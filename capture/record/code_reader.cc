// SPDX-License-Identifier: MIT
#include "capture/record/code_reader.h"

#include <sys/uio.h>

#include <algorithm>

#include "decode/instruction/classify.h"

namespace flowback::record {
namespace {

constexpr uint64_t kPageSize = 4096;

size_t ReadProcess(pid_t pid, uint64_t address, uint8_t* buffer, size_t size) {
  // Page by page: a call that reaches into unreadable memory would read nothing at all.
  size_t done = 0;
  while (done < size) {
    const uint64_t at = address + done;
    const size_t part = std::min<size_t>(size - done, kPageSize - at % kPageSize);
    const iovec local{buffer + done, part};
    const iovec remote{reinterpret_cast<void*>(at), part};
    const ssize_t got = process_vm_readv(pid, &local, 1, &remote, 1, 0);
    if (got <= 0) break;
    done += static_cast<size_t>(got);
  }
  return done;
}

// Only code in files that the process can't write is sure to stay as it is.
bool MayChange(const ExecutableMapping& mapping) {
  return mapping.writable || (!mapping.has_file && mapping.path != "[vdso]");
}

}  // namespace

FetchedInstruction CodeReader::Fetch(uint64_t ip, ExecMode mode) {
  if (const auto found = cache_.find(ip); found != cache_.end() && found->second.mode == mode)
    return found->second;
  const FetchedInstruction fetched = Read(ip, mode);
  const ExecutableMapping* mapping = Find(ip);
  if (mapping == nullptr) return fetched;
  if (MayChange(*mapping)) {
    KeepPage(ip);
    if (fetched.known) KeepPage(ip + fetched.instruction.length - 1);
  } else if (fetched.known) {
    cache_[ip] = fetched;
  }
  return fetched;
}

FetchedInstruction CodeReader::Read(uint64_t ip, ExecMode mode) const {
  FetchedInstruction fetched;
  fetched.mode = mode;
  fetched.size =
      static_cast<uint8_t>(ReadProcess(tid_, ip, fetched.code.data(), fetched.code.size()));
  fetched.known = Classify({fetched.code.data(), fetched.size}, mode, fetched.instruction);
  return fetched;
}

std::vector<ExecutableMapping> CodeReader::Refresh() {
  std::vector<ExecutableMapping> now = ReadExecutableMappings(tid_);
  if (now == mappings_) return {};
  std::vector<ExecutableMapping> added;
  for (const auto& mapping : now)
    if (std::find(mappings_.begin(), mappings_.end(), mapping) == mappings_.end())
      added.push_back(mapping);
  mappings_ = std::move(now);
  cache_.clear();
  return added;
}

void CodeReader::Reset() {
  mappings_.clear();
  cache_.clear();
}

std::vector<uint8_t> CodeReader::ReadMemory(uint64_t address, size_t size) const {
  std::vector<uint8_t> bytes(size);
  bytes.resize(ReadProcess(tid_, address, bytes.data(), size));
  return bytes;
}

const ExecutableMapping* CodeReader::Find(uint64_t address) const {
  const auto after = std::upper_bound(
      mappings_.begin(), mappings_.end(), address,
      [](uint64_t value, const ExecutableMapping& mapping) { return value < mapping.begin; });
  if (after == mappings_.begin()) return nullptr;
  const ExecutableMapping& mapping = *std::prev(after);
  return address < mapping.end ? &mapping : nullptr;
}

void CodeReader::KeepPage(uint64_t address) {
  const uint64_t page = address - address % kPageSize;
  if (!anonymous_.contains(page)) anonymous_[page] = ReadMemory(page, kPageSize);
}

}  // namespace flowback::record
