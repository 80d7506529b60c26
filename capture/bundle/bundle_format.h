// SPDX-License-Identifier: MIT
// What a bundle is: a recording and all files that reading it needs, in one file.
//
// A bundle is a tar archive, compressed with zstd, which `tar --zstd -xf` unpacks.
// docs/reference/bundle.md describes it for other programs.
//
//   zstd frames   |manifest|recording ...|...|...|source|debug file ...|...|index|   seek table
//   tar members   |manifest|recording             |source|debug file        |index|
//
// Each member begins a frame, and a large one has several: so a member can be unpacked without
// those before it, and each frame has a checksum. The seek table behind the last frame has zstd's
// seekable format. The index is the last frame, and has the place of each member.
//
// Members lie in folders by what they are for:
//   recording/NAME ...   the recording, and what its recorder kept beside it
//   root/PATH            files under the paths that they had: sources, debug files
//   core/N-NAME          core dumps of recorded processes
//   kernel/kallsyms      the kernel's symbols; kernel/kcore: its memory
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "flowback/capture/open.h"

namespace flowback::bundle {

inline constexpr std::string_view kManifest = "flowback-bundle.json";
inline constexpr std::string_view kIndex = "flowback-index.json";
inline constexpr std::string_view kRecordingFolder = "recording";
inline constexpr std::string_view kRootFolder = "root";
inline constexpr std::string_view kCoreFolder = "core";
inline constexpr std::string_view kKernelFolder = "kernel";

// The first bytes of a zstd frame.
inline constexpr std::string_view kFrameMagic = "\x28\xb5\x2f\xfd";

// A frame's content; the last one of a member may have less.
inline constexpr size_t kFrame = size_t{8} << 20;

// Limits of unpacking: a larger bundle, or one with more members, is not a recording's.
inline constexpr uint64_t kAlwaysAllowed = uint64_t{1} << 30;
inline constexpr uint64_t kMostRatio = 1000;     // unpacked to packed bytes, above kAlwaysAllowed
inline constexpr size_t kMostMembers = 200'000;  // and as many folders
inline constexpr uint64_t kMostNames = uint64_t{16} << 20;  // bytes of all names
// Limit for the manifest and the index, which are read into memory.
inline constexpr uint64_t kMostText = uint64_t{64} << 20;

// So much of a bundle of `packed` bytes may be unpacked.
constexpr uint64_t MostUnpacked(uint64_t packed) {
  const uint64_t by_ratio = packed > UINT64_MAX / kMostRatio ? UINT64_MAX : packed * kMostRatio;
  return by_ratio > kAlwaysAllowed ? by_ratio : kAlwaysAllowed;
}

// Which member is what.
struct Manifest {
  std::string made_by;             // the program and its version
  std::string input;               // the recording's path when it was packed
  std::string recording;           // the member or folder that it is; the first of raw traces
  std::vector<std::string> cores;  // members
  bool redacted = false;           // they have registers and stacks only
  std::string kallsyms;            // a member; empty: the bundle has no kallsyms
  std::string kcore;
  OpenOptions given = {};  // the command line's description of it; files are members
};

struct Member {
  std::string name;
  uint64_t size = 0;  // of its content, in bytes
};

// Whether a member may have that name: in one of the folders, without a step out of it.
bool IsMemberName(std::string_view name);

}  // namespace flowback::bundle
