// SPDX-License-Identifier: MIT
#include "capture/record/step/code_reader.h"

#include <elf.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "decode/instruction/classify.h"

namespace flowback::record {
namespace {

constexpr uint64_t kPageSize = StoppedCodeReader::kPageSize;

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

// A file of another kind is a program's own memory, and no copy of it stays right for long.
bool IsProgram(int file) {
  char magic[SELFMAG] = {};
  return pread(file, magic, sizeof magic, 0) == SELFMAG && std::memcmp(magic, ELFMAG, SELFMAG) == 0;
}

}  // namespace

FetchedInstruction StoppedCodeReader::Fetch(uint64_t ip, CodeMode mode) {
  if (const auto found = cache_.find(ip); found != cache_.end() && found->second.mode == mode)
    return found->second;
  const FetchedInstruction fetched = Read(ip, mode);
  const ExecutableMapping* mapping = Find(ip);
  if (mapping == nullptr) return fetched;
  if (MayChange(*mapping, ip) ||
      MayChange(*mapping, ip + std::max<size_t>(fetched.bytes().size(), 1) - 1)) {
    KeepPages(ip, fetched.bytes());
  } else if (fetched.known) {
    cache_[ip] = fetched;
  }
  return fetched;
}

// Only code of a program's file stays as it is, until a process writes to the file. Memory that is
// shared changes with each write through another mapping, and so does the file behind it.
bool StoppedCodeReader::MayChange(const ExecutableMapping& mapping, uint64_t address) {
  if (mapping.writable || mapping.shared) return true;
  if (!mapping.has_file) return mapping.path != "[vdso]";
  if (address >= mapping.end) return false;  // the next mapping's
  const uint64_t page = address - address % kPageSize;
  const auto [compared, is_new] = as_in_file_.try_emplace(page);
  if (is_new) compared->second = IsAsInFile(mapping, page);
  return !compared->second;
}

bool StoppedCodeReader::IsAsInFile(const ExecutableMapping& mapping, uint64_t page) const {
  const MappedImage* image = ImageOf(mapping);
  if (image == nullptr || *image->file < 0) return false;
  if (!files_are_kept_ && !image->IsAt(mapping.path)) return false;
  if (written_.contains(mapping.identity) || !IsProgram(*image->file)) return false;
  std::vector<uint8_t> bytes(kPageSize);  // behind the file's end are zeros
  const uint64_t at = mapping.file_offset + (page - mapping.begin);
  return pread(*image->file, bytes.data(), bytes.size(), static_cast<off_t>(at)) > 0 &&
         bytes == ReadMemory(page, kPageSize);
}

const MappedImage* StoppedCodeReader::ImageOf(const ExecutableMapping& mapping) const {
  const auto image = images_.find(mapping.identity);
  return mapping.has_file && image != images_.end() ? image->second.get() : nullptr;
}

// While they are mapped they are in use anyway: keeping them open disturbs no other process.
void StoppedCodeReader::OpenImages() {
  std::map<std::string, std::shared_ptr<const MappedImage>> former = std::move(images_);
  images_.clear();
  for (const ExecutableMapping& mapping : mappings_) {
    if (!mapping.has_file || images_.contains(mapping.identity)) continue;
    const auto known = former.find(mapping.identity);
    images_[mapping.identity] =
        known != former.end() ? known->second : MappedImage::Open(tid_, mapping);
  }
}

void StoppedCodeReader::NoteWrites() {
  bool any = false;
  for (const auto& [identity, image] : images_) {
    if (*image->file < 0) continue;
    const auto [known, is_new] = versions_.try_emplace(identity, image->Version());
    if (is_new || known->second == image->Version()) continue;
    known->second = image->Version();
    written_.insert(identity);
    any = true;
  }
  if (!any) return;
  cache_.clear();
  as_in_file_.clear();
}

FetchedInstruction StoppedCodeReader::Read(uint64_t ip, CodeMode mode) const {
  FetchedInstruction fetched;
  fetched.mode = mode;
  fetched.size =
      static_cast<uint8_t>(ReadProcess(tid_, ip, fetched.code.data(), fetched.code.size()));
  fetched.known = Classify({fetched.code.data(), fetched.size}, mode, fetched.instruction);
  return fetched;
}

std::vector<ExecutableMapping> StoppedCodeReader::Refresh() {
  std::vector<ExecutableMapping> now = ReadExecutableMappings(tid_);
  if (now == mappings_) return {};
  std::vector<ExecutableMapping> added;
  for (const auto& mapping : now)
    if (std::find(mappings_.begin(), mappings_.end(), mapping) == mappings_.end())
      added.push_back(mapping);
  mappings_ = std::move(now);
  OpenImages();
  NoteWrites();
  cache_.clear();
  as_in_file_.clear();
  // A new mapping hides earlier pages.
  for (const auto& mapping : added)
    pages_.erase(pages_.lower_bound(mapping.begin), pages_.lower_bound(mapping.end));
  return added;
}

void StoppedCodeReader::Reset() {
  mappings_.clear();
  images_.clear();
  cache_.clear();
  as_in_file_.clear();
  pages_.clear();
}

std::vector<uint8_t> StoppedCodeReader::ReadMemory(uint64_t address, size_t size) const {
  std::vector<uint8_t> bytes(size);
  bytes.resize(ReadProcess(tid_, address, bytes.data(), size));
  return bytes;
}

const ExecutableMapping* StoppedCodeReader::Find(uint64_t address) const {
  const auto after = std::upper_bound(
      mappings_.begin(), mappings_.end(), address,
      [](uint64_t value, const ExecutableMapping& mapping) { return value < mapping.begin; });
  if (after == mappings_.begin()) return nullptr;
  const ExecutableMapping& mapping = *std::prev(after);
  return address < mapping.end ? &mapping : nullptr;
}

void StoppedCodeReader::KeepPages(uint64_t address, Bytes code) {
  while (!code.empty()) {
    const uint64_t offset = address % kPageSize;
    const Bytes part = code.first(std::min<size_t>(code.size(), kPageSize - offset));
    std::vector<uint8_t>& page = pages_[address - offset];
    const bool kept =
        page.size() >= offset + part.size() &&
        std::equal(part.begin(), part.end(), page.begin() + static_cast<ptrdiff_t>(offset));
    if (!kept) {
      page = ReadMemory(address - offset, kPageSize);
      changed_.push_back(address - offset);
    }
    address += part.size();
    code = code.subspan(part.size());
  }
}

}  // namespace flowback::record
