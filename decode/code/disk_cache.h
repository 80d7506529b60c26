// SPDX-License-Identifier: MIT
// A folder of files that can be made anew: what decoding found out once and may want again.
//
// Nothing in it is trusted. A file counts only where it is whole (a checksum over all of it), of
// this version, the right one by name, and the user's own; else it is as if it were absent, and
// written again. Files are never changed in place: a new one takes the old one's name when it is
// complete. So any number of processes may use the folder without locks; of two that write the
// same file, the later one wins.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "flowback/base/bytes.h"

namespace flowback {

struct DiskCacheSettings {
  std::string folder;  // empty: no cache
  uint64_t most_bytes = uint64_t{256} << 20;
};

// A kept file's content, mapped; it lives as long as the object.
class CachedBytes {
 public:
  CachedBytes(Bytes file, Bytes content) : file_(file), content_(content) {}
  ~CachedBytes();
  CachedBytes(const CachedBytes&) = delete;
  CachedBytes& operator=(const CachedBytes&) = delete;

  Bytes content() const { return content_; }  // begins at a multiple of 64 in memory

 private:
  const Bytes file_;
  const Bytes content_;
};

// A number that differs, for all that happens by accident, where the bytes differ; certainly where
// only eight bytes in a row, at a multiple of eight, do. As fast as memory.
uint64_t ContentHash(Bytes bytes, uint64_t seed = 0);

// Thread-safe. Nothing is reported: a folder that is absent, full, not writable or not the user's
// own only makes the next run slower.
class DiskCache {
 public:
  // `version`: of all that gives the files' contents their meaning.
  DiskCache(DiskCacheSettings settings, uint64_t version)
      : settings_(std::move(settings)), version_(version) {}

  // What was kept under `name`, which is a file's name; null when there is nothing.
  std::unique_ptr<const CachedBytes> Load(const std::string& name) const;
  // Keeps it, with the folder where that is absent. False when that can't be.
  bool Store(const std::string& name, Bytes content) const;
  // The same for content that is work to make: `make` is called only where `least` bytes, which it
  // gives or more, could be kept.
  bool Store(const std::string& name, size_t least,
             const std::function<std::vector<uint8_t>()>& make) const;
  // Removes the files used longest ago, as many as there are too many.
  void Trim() const;

 private:
  bool IsOwn() const;
  bool HasRoomFor(size_t size) const;
  // Makes it where it is absent.
  bool HasFolder() const;
  bool Write(const std::string& name, Bytes content) const;
  std::string PathOf(const std::string& name) const;

  const DiskCacheSettings settings_;
  const uint64_t version_;
};

}  // namespace flowback
