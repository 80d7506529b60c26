// SPDX-License-Identifier: MIT
// Sampled accesses to memory, summed up by instruction and by cache line: who touched a line, with
// which instructions, and how long the data took.
//
//   thread 1: mov [a], eax        line a & ~63   2 threads, 1 load, 1 store
//   thread 2: mov ecx, [a + 8]      +0  store by thread 1
//                                   +8  load by thread 2: at different places of the line
//
// All numbers are of samples: what was not sampled is in none.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/recorded/event_sample.h"
#include "flowback/decode/code_image.h"
#include "replay/branches/branch_sums.h"
#include "replay/branches/code_places.h"

namespace flowback {

inline constexpr uint64_t kCacheLine = 64;  // bytes, on x86 and most AArch64 processors

struct AccessCounts {
  uint64_t samples = 0;
  uint64_t loads = 0;  // an instruction may do both, or be unknown
  uint64_t stores = 0;
  uint64_t remote = 0;           // from another node, socket or core complex
  uint64_t modified = 0;         // another cache had the line, changed
  uint64_t remote_modified = 0;  // of them those from remote
  CycleSums latency;             // until the data was there, of accesses that have it

  void Add(const MemoryAccess& access);
};

// An instruction that accessed memory.
struct AccessingCode {
  CodePlace place;
  const AddressSpace* space = nullptr;  // one that has it, and where
  uint64_t address = 0;
  AccessCounts counts;
  uint64_t inexact = 0;  // samples whose instruction is that one or one ahead of it, or disputed
  std::array<uint64_t, static_cast<size_t>(MemoryLevel::kUncached) + 1> levels{};  // hits
};

// What an instruction did with one line.
struct LineUse {
  size_t code = 0;  // of AccessReport::code
  uint64_t loads = 0;
  uint64_t stores = 0;
  uint64_t samples = 0;
  uint64_t places = 0;  // bit of each byte of the line at which an access began
  std::set<int32_t> tids;
};

struct LineSum {
  int32_t pid = -1;      // the process whose address it is; -1: the kernel's, or unknown
  uint64_t address = 0;  // of the line's first byte
  AccessCounts counts;
  std::map<int32_t, uint64_t> threads;  // the places that each began an access at, as LineUse's
  std::vector<LineUse> uses;            // the one with most samples first

  bool shared() const { return threads.size() > 1; }
  // No two threads were sampled at one place of it.
  bool apart() const;
};

struct AccessReport {
  std::vector<std::string> objects;  // files as they were opened
  std::vector<AccessingCode> code;   // the one with most samples first
  std::vector<LineSum> lines;        // by address
  uint64_t samples = 0;
  uint64_t accesses = 0;    // of them with an address: those in the sums
  uint64_t fetches = 0;     // of code, and so no access to data
  uint64_t impossible = 0;  // whose address no process can have
  uint64_t inexact = 0;     // of the accesses, as AccessingCode's
  uint64_t nowhere = 0;     // of the accesses without an instruction
  uint64_t cut = 0;         // of the samples
  uint64_t unread = 0;      // items of samples whose meaning is not known
};

class AccessSums {
 public:
  // `space`: what was mapped for its process then; null: not known. It must live as long as the
  // report is used.
  void Add(const EventSample& sample, const AddressSpace* space);
  AccessReport Take();

 private:
  struct Line {
    AccessCounts counts;
    std::map<int32_t, uint64_t> threads;
    std::map<CodePlace, LineUse> uses;
  };

  AccessReport report_;  // its numbers
  CodePlaces places_;
  std::map<CodePlace, AccessingCode> code_;
  std::map<std::pair<int32_t, uint64_t>, Line> lines_;
};

}  // namespace flowback
