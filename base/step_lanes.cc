// SPDX-License-Identifier: MIT
#include "base/step_lanes.h"

#include <array>

#if defined(__x86_64__)
#include <immintrin.h>
#endif
#if defined(__GNUC__) && !defined(__clang__)
// GCC's own header leaves unset what a result replaces as a whole.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

namespace flowback {
namespace {

constexpr size_t kFew = 8;  // up to here, lanes save no time

void AddCountsPlain(const StepCount* counts, size_t size, uint32_t* sums) {
  uint32_t sum = 0;
  for (size_t i = 0; i < size; ++i) sums[i] = sum += counts[i].count();
}

size_t CountBelowPlain(const uint32_t* sums, uint64_t limit) {
  const auto most = static_cast<int32_t>(limit);
  int32_t below = 0;
  for (size_t i = 0; i < StepLanes::kTogether; ++i)
    below += static_cast<int32_t>(sums[i]) < most ? 1 : 0;
  return static_cast<size_t>(below);
}

void AddTimesPlain(const TimeLine& line, uint64_t before, const uint32_t* sums, size_t size,
                   uint64_t* times) {
  const TimeLine at = line;  // a copy stays in registers in spite of the writes
  if (size > kFew && at.IsFree(before + sums[0], before + sums[size - 1])) {
    for (size_t i = 0; i < size; ++i) times[i] = at.Free(before + sums[i]);
  } else {
    for (size_t i = 0; i < size; ++i) times[i] = at.At(before + sums[i]);
  }
}

#if defined(__x86_64__)

constexpr size_t kCounts = 16;  // at a time

// Sixteen sums fit into 16 bits each: blocks have 256 instructions at most.
static_assert(kCounts / 2 * StepCount::kMost < 1u << 16);

[[gnu::target("avx2")]] void AddCountsAvx2(const StepCount* counts, size_t size, uint32_t* sums) {
  const __m256i one = _mm256_set1_epi16(1);
  uint32_t sum = 0;
  size_t i = 0;
  for (; i + kCounts <= size; i += kCounts) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(counts + i));
    // Each half gets the sums of its own eight.
    __m256i in_half = _mm256_add_epi16(_mm256_cvtepu8_epi16(bytes), one);
    in_half = _mm256_add_epi16(in_half, _mm256_slli_si256(in_half, 2));
    in_half = _mm256_add_epi16(in_half, _mm256_slli_si256(in_half, 4));
    in_half = _mm256_add_epi16(in_half, _mm256_slli_si256(in_half, 8));
    const __m128i low = _mm256_castsi256_si128(in_half);
    const __m128i high = _mm256_extracti128_si256(in_half, 1);
    const uint32_t middle = sum + static_cast<uint32_t>(_mm_extract_epi16(low, 7));
    auto* const to = reinterpret_cast<__m256i*>(sums + i);
    _mm256_storeu_si256(
        to, _mm256_add_epi32(_mm256_set1_epi32(static_cast<int>(sum)), _mm256_cvtepu16_epi32(low)));
    _mm256_storeu_si256(to + 1, _mm256_add_epi32(_mm256_set1_epi32(static_cast<int>(middle)),
                                                 _mm256_cvtepu16_epi32(high)));
    sum = middle + static_cast<uint32_t>(_mm_extract_epi16(high, 7));
  }
  for (; i < size; ++i) sums[i] = sum += counts[i].count();
}

[[gnu::target("avx2")]] size_t CountBelowAvx2(const uint32_t* sums, uint64_t limit) {
  const __m256i most = _mm256_set1_epi32(static_cast<int>(limit));
  const auto* const from = reinterpret_cast<const __m256i*>(sums);
  __m256i below[2] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
  for (size_t i = 0; i < StepLanes::kTogether / 8; ++i) {
    const __m256i is = _mm256_cmpgt_epi32(most, _mm256_loadu_si256(from + i));
    below[i % 2] = _mm256_sub_epi32(below[i % 2], is);
  }
  const __m256i both = _mm256_add_epi32(below[0], below[1]);
  __m128i sum = _mm_add_epi32(_mm256_castsi256_si128(both), _mm256_extracti128_si256(both, 1));
  sum = _mm_add_epi32(sum, _mm_unpackhi_epi64(sum, sum));
  sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 1));
  return static_cast<size_t>(_mm_cvtsi128_si32(sum));
}

// Here whole numbers are converted in 32 bits only.
[[gnu::target("avx2")]] void AddTimesAvx2(const TimeLine& line, uint64_t before,
                                          const uint32_t* sums, size_t size, uint64_t* times) {
  constexpr uint64_t kMost = uint64_t{1} << 31;
  const uint64_t last = size == 0 ? 0 : before + sums[size - 1];
  if (size <= kFew || !line.IsFree(before + sums[0], last) || line.ahead + last >= kMost ||
      line.Free(last) - line.begin >= kMost)
    return AddTimesPlain(line, before, sums, size, times);
  const __m256d pace = _mm256_set1_pd(line.pace);
  const __m256d pauses = _mm256_set1_pd(line.pauses);
  const __m256i begin = _mm256_set1_epi64x(static_cast<int64_t>(line.begin));
  const __m128i ahead = _mm_set1_epi32(static_cast<int>(line.ahead + before));
  for (size_t i = 0; i < size; i += 4) {
    const __m128i sum = _mm_loadu_si128(reinterpret_cast<const __m128i*>(sums + i));
    const __m256d count = _mm256_cvtepi32_pd(_mm_add_epi32(sum, ahead));
    const __m256d ticks = _mm256_add_pd(_mm256_mul_pd(count, pace), pauses);
    const __m256i whole = _mm256_cvtepi32_epi64(_mm256_cvttpd_epi32(ticks));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(times + i), _mm256_add_epi64(whole, begin));
  }
}

// With a rounding of their own product and sum are not put together into one step, which would
// round otherwise.
[[gnu::target("avx512f,avx512dq")]] void AddTimesAvx512(const TimeLine& line, uint64_t before,
                                                        const uint32_t* sums, size_t size,
                                                        uint64_t* times) {
  constexpr int kNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
  if (size == 0) return;
  if (!line.IsShort(before + sums[size - 1])) return AddTimesPlain(line, before, sums, size, times);
  const __m512d pace = _mm512_set1_pd(line.pace);
  const __m512d pauses = _mm512_set1_pd(line.pauses);
  const __m512i ahead = _mm512_set1_epi64(static_cast<int64_t>(line.ahead + before));
  const __m512i begin = _mm512_set1_epi64(static_cast<int64_t>(line.begin));
  const __m512i end = _mm512_set1_epi64(static_cast<int64_t>(line.end));
  const __m512i earliest = _mm512_set1_epi64(static_cast<int64_t>(line.earliest));
  const __m512i latest = _mm512_set1_epi64(static_cast<int64_t>(line.latest));
  for (size_t i = 0; i < size; i += 8) {
    const __m256i sum = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(sums + i));
    const __m512i count = _mm512_max_epi64(_mm512_add_epi64(_mm512_cvtepu32_epi64(sum), ahead),
                                           _mm512_setzero_si512());
    const __m512d run = _mm512_mul_round_pd(_mm512_cvtepi64_pd(count), pace, kNearest);
    const __m512i ticks = _mm512_cvttpd_epi64(_mm512_add_round_pd(run, pauses, kNearest));
    const __m512i tsc = _mm512_min_epu64(_mm512_add_epi64(ticks, begin), end);
    _mm512_storeu_si512(times + i, _mm512_min_epu64(_mm512_max_epu64(tsc, earliest), latest));
  }
}

#endif

}  // namespace

std::span<const StepLanes> StepLanes::All() {
  static constexpr std::array kAll{
      StepLanes{"plain", AddCountsPlain, CountBelowPlain, AddTimesPlain},
#if defined(__x86_64__)
      StepLanes{"avx2", AddCountsAvx2, CountBelowAvx2, AddTimesAvx2},
      StepLanes{"avx512", AddCountsAvx2, CountBelowAvx2, AddTimesAvx512},
#endif
  };
  static const size_t works = [] {
#if defined(__x86_64__)
    // Older processors that have the wide registers slow down where those are used.
    if (__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vbmi2")) return 3;
    if (__builtin_cpu_supports("avx2")) return 2;
#endif
    return 1;
  }();
  return std::span(kAll).first(works);
}

const StepLanes& StepLanes::Best() {
  static const StepLanes& best = All().back();
  return best;
}

}  // namespace flowback
