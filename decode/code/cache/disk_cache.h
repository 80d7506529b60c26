// SPDX-License-Identifier: MIT
// A folder of files that can be made anew: what decoding found out once and may want again.
//
// A file counts only where it is whole (a checksum over all of it), of this version, the right one
// by name, and the user's own; else it is as if it were absent, and written again. Its content is
// not made a second time to compare: that is the work it saves. The content is trusted, so the
// folder and its files must be the user's own, and no other user may write to them: others are
// refused, and Refusal says why. Files are never changed in place: a new one takes the old one's
// name when it is complete. So any number of processes may use the folder without locks; if two
// write the same file, the later one wins.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "flowback/base/bytes.h"
#include "flowback/base/error.h"

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

// Returns a number that differs if the bytes differ, unless they were made to collide on purpose.
// It differs for certain where the difference is within eight bytes at a multiple of eight. As fast
// as memory.
uint64_t ContentHash(Bytes bytes, uint64_t seed = 0);

// Thread-safe. A folder that is absent, full or not writable only makes the next run slower, and is
// not reported.
class DiskCache {
 public:
  // `version` stands for all that gives the files' contents their meaning.
  DiskCache(DiskCacheSettings settings, uint64_t version)
      : settings_(std::move(settings)), version_(version) {}

  // Returns the bytes kept under `name`, a file's name; null: nothing is kept under it.
  std::unique_ptr<const CachedBytes> Load(const std::string& name) const;
  // Returns whether a file could be kept; makes the folder if it does not exist.
  bool MayStore() const;
  // Keeps the content, and makes the folder if it does not exist. False: it could not be kept.
  bool Store(const std::string& name, Bytes content) const;
  // The same for content that is work to make: `make` is called only where `least` bytes, which it
  // gives or more, could be kept.
  bool Store(const std::string& name, size_t least,
             const std::function<std::vector<uint8_t>()>& make) const;
  // Removes the files that were used longest ago, until the folder is no larger than it may be.
  void Trim() const;

  // Returns the first file or folder refused because others can write to it; empty: none was
  // refused.
  std::optional<Error> Refusal() const;

 private:
  bool IsOwn() const;
  // Whether such a file may be used; notes why not, for Refusal.
  bool Accept(const std::string& path, const struct stat& info) const;
  void Refuse(const std::string& path, const std::string& why) const;
  bool HasRoomFor(size_t size) const;
  // Makes it where it is absent.
  bool HasFolder() const;
  bool Write(const std::string& name, Bytes content) const;
  std::string PathOf(const std::string& name) const;

  const DiskCacheSettings settings_;
  const uint64_t version_;
  mutable std::mutex mutex_;
  mutable std::optional<Error> refusal_;
};

}  // namespace flowback
