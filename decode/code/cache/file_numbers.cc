// SPDX-License-Identifier: MIT
#include "decode/code/cache/file_numbers.h"

#include <sys/stat.h>

#include <cstdint>

#include "decode/code/cache/disk_cache.h"

namespace flowback {
namespace {

constexpr uint64_t kWhole = uint64_t{8} << 20;
constexpr uint64_t kSample = 4096;
constexpr uint64_t kSamples = 128;

}  // namespace

bool PutFile(NumberWriter& out, const std::string& path) {
  struct stat info{};
  if (stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return false;
  out.Number(static_cast<uint64_t>(info.st_size));
  out.Number(static_cast<uint64_t>(info.st_mtim.tv_sec));
  out.Number(static_cast<uint64_t>(info.st_mtim.tv_nsec));
  return true;
}

void PutContent(NumberWriter& out, Bytes bytes) {
  out.Number(bytes.size());
  if (bytes.size() <= kWhole) return out.Word(ContentHash(bytes));
  uint64_t hash = 0;
  for (uint64_t i = 0; i < kSamples; ++i)
    hash = ContentHash(Slice(bytes, (bytes.size() - kSample) / (kSamples - 1) * i, kSample), hash);
  out.Word(ContentHash(bytes.last(kSample), hash));
}

}  // namespace flowback
