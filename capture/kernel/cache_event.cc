// SPDX-License-Identifier: MIT
// CACHE[-WHAT][-RESULT], in perf's words: L1-dcache-load-misses. Loads are the default; a result
// alone (LLC-misses) counts loads, and without one all accesses count.
#include <algorithm>
#include <array>

#include "capture/kernel/symbol_event.h"

namespace flowback::kernel {
namespace {

struct Word {
  std::string_view text;
  uint64_t number;
};
constexpr Word kCaches[] = {
    {"L1-dcache", PERF_COUNT_HW_CACHE_L1D}, {"l1-d", PERF_COUNT_HW_CACHE_L1D},
    {"l1d", PERF_COUNT_HW_CACHE_L1D},       {"L1-data", PERF_COUNT_HW_CACHE_L1D},
    {"L1-icache", PERF_COUNT_HW_CACHE_L1I}, {"l1-i", PERF_COUNT_HW_CACHE_L1I},
    {"l1i", PERF_COUNT_HW_CACHE_L1I},       {"L1-instruction", PERF_COUNT_HW_CACHE_L1I},
    {"LLC", PERF_COUNT_HW_CACHE_LL},        {"L2", PERF_COUNT_HW_CACHE_LL},
    {"dTLB", PERF_COUNT_HW_CACHE_DTLB},     {"d-tlb", PERF_COUNT_HW_CACHE_DTLB},
    {"Data-TLB", PERF_COUNT_HW_CACHE_DTLB}, {"iTLB", PERF_COUNT_HW_CACHE_ITLB},
    {"i-tlb", PERF_COUNT_HW_CACHE_ITLB},    {"Instruction-TLB", PERF_COUNT_HW_CACHE_ITLB},
    {"branch", PERF_COUNT_HW_CACHE_BPU},    {"bpu", PERF_COUNT_HW_CACHE_BPU},
    {"btb", PERF_COUNT_HW_CACHE_BPU},       {"bpc", PERF_COUNT_HW_CACHE_BPU},
    {"node", PERF_COUNT_HW_CACHE_NODE}};
constexpr Word kOperations[] = {{"load", PERF_COUNT_HW_CACHE_OP_READ},
                                {"loads", PERF_COUNT_HW_CACHE_OP_READ},
                                {"read", PERF_COUNT_HW_CACHE_OP_READ},
                                {"store", PERF_COUNT_HW_CACHE_OP_WRITE},
                                {"stores", PERF_COUNT_HW_CACHE_OP_WRITE},
                                {"write", PERF_COUNT_HW_CACHE_OP_WRITE},
                                {"prefetch", PERF_COUNT_HW_CACHE_OP_PREFETCH},
                                {"prefetches", PERF_COUNT_HW_CACHE_OP_PREFETCH},
                                {"speculative-read", PERF_COUNT_HW_CACHE_OP_PREFETCH},
                                {"speculative-load", PERF_COUNT_HW_CACHE_OP_PREFETCH}};
constexpr Word kResults[] = {
    {"refs", PERF_COUNT_HW_CACHE_RESULT_ACCESS}, {"Reference", PERF_COUNT_HW_CACHE_RESULT_ACCESS},
    {"ops", PERF_COUNT_HW_CACHE_RESULT_ACCESS},  {"access", PERF_COUNT_HW_CACHE_RESULT_ACCESS},
    {"misses", PERF_COUNT_HW_CACHE_RESULT_MISS}, {"miss", PERF_COUNT_HW_CACHE_RESULT_MISS}};

constexpr unsigned kOperationAt = 8;
constexpr unsigned kResultAt = 16;

// Takes a word off the front, up to a dash or the end.
template <size_t kCount>
std::optional<uint64_t> Take(const Word (&words)[kCount], std::string_view& rest) {
  for (const Word& word : words) {
    if (!rest.starts_with(word.text)) continue;
    const std::string_view behind = rest.substr(word.text.size());
    if (!behind.empty() && behind[0] != '-') continue;
    rest = behind.empty() ? behind : behind.substr(1);
    return word.number;
  }
  return std::nullopt;
}

}  // namespace

std::optional<SymbolEvent> FindCacheEvent(std::string_view name) {
  std::string_view rest = name;
  const auto cache = Take(kCaches, rest);
  if (!cache) return std::nullopt;
  const auto operation = Take(kOperations, rest);
  const auto result = Take(kResults, rest);
  if (!rest.empty()) return std::nullopt;
  return SymbolEvent{.type = PERF_TYPE_HW_CACHE,
                     .config = *cache |
                               operation.value_or(PERF_COUNT_HW_CACHE_OP_READ) << kOperationAt |
                               result.value_or(PERF_COUNT_HW_CACHE_RESULT_ACCESS) << kResultAt};
}

}  // namespace flowback::kernel
