// SPDX-License-Identifier: MIT
// Look-alikes that calculate.
#define _GNU_SOURCE
#include <math.h>
#include <stdbool.h>

#include "look_alikes.h"
#if defined(__x86_64__)
#include <immintrin.h>
#endif

static NOINLINE uint64_t Reject(uint64_t state) {
  do {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
  } while (state % 50 != 3);
  return state;
}
static void RandomInRegisters(void) { sink = Reject(Hidden(88172645463325252ULL)); }

static uint64_t random_state = 88172645463325252ULL;
static NOINLINE uint64_t NextRandom(void) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return random_state;
}
static void RandomInMemory(void) {
  while (NextRandom() % 50 != 3) {
  }
}

static NOINLINE uint32_t Congruential(uint32_t state) {
  while ((state >> 16) % 60 != 1) state = state * 1664525 + 1013904223;
  return state;
}
static void Lcg(void) { sink = Congruential((uint32_t)Hidden(12345)); }

static NOINLINE uint64_t Gcd(uint64_t a, uint64_t b) {
  while (b != 0) {
    const uint64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}
static void GreatestDivisor(void) { sink = Gcd(Hidden(12586269025), 7778742049); }

static NOINLINE unsigned Hailstones(uint64_t n) {
  unsigned steps = 0;
  for (; n != 1; ++steps) n = (n & 1) != 0 ? 3 * n + 1 : n / 2;
  return steps;
}
static void Collatz(void) { sink = Hailstones(Hidden(27)); }

static NOINLINE unsigned BitsOf(uint64_t n) {
  unsigned count = 0;
  while (n != 0) {
    n &= n - 1;
    ++count;
  }
  return count;
}
static void Popcount(void) { sink = BitsOf(Hidden(0x5555666677778888)); }

static NOINLINE uint32_t Checksum(const char* at, size_t size) {
  uint32_t crc = ~0U;
  for (size_t i = 0; i < size; ++i) {
    crc ^= (unsigned char)at[i];
    for (int k = 0; k < 8; ++k) crc = crc >> 1 ^ (0xedb88320 & -(crc & 1));
  }
  return ~crc;
}
static void Crc(void) { sink = Checksum(text, 60); }

#if defined(__x86_64__)
__attribute__((target("rdrnd"))) static NOINLINE uint64_t HardwareRandom(void) {
  unsigned long long value = 0;
  do {
    while (!_rdrand64_step(&value)) {
    }
  } while (value % 16 != 3);
  return value;
}
static void Rdrand(void) {
  if (__builtin_cpu_supports("rdrnd")) sink = HardwareRandom();
}
#endif

static NOINLINE uint16_t InternetSum(const uint16_t* at, size_t count) {
  uint32_t sum = 0;
  while (count-- != 0) sum += *at++;
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return (uint16_t)~sum;
}
static void InternetChecksum(void) { sink = InternetSum((const uint16_t*)text, 150); }

static NOINLINE double Converge(double x) {
  double guess = x;
  double before = 0;
  while (fabs(guess - before) > 1e-12) {
    before = guess;
    guess = (guess + x / guess) / 2;
  }
  return guess;
}
static void SquareRoot(void) { sink = (uint64_t)Converge(1e60); }

static void Matrices(void) {
  static double a[6][6], b[6][6], c[6][6];
  for (int i = 0; i < 6; ++i)
    for (int k = 0; k < 6; ++k)
      for (int m = 0; m < 6; ++m) c[i][k] += a[i][m] * b[m][k];
  sink = (uint64_t)c[2][3];
}

static NOINLINE double Trace(const double* values, int count) {
  double sum = 0;
  for (int i = 0; i < count; ++i) sum += values[i * 3];
  return sum;
}
static void SumOfDiagonal(void) {
  static double values[300];
  sink = (uint64_t)Trace(values, 100);
}

static NOINLINE unsigned Digits(uint64_t n) {
  unsigned count = 1;
  while (n >= 10) {
    n /= 10;
    ++count;
  }
  return count;
}
static void DecimalDigits(void) { sink = Digits(Hidden(12345678901234567890ULL)); }

static NOINLINE uint64_t Fibonacci(unsigned n) {
  uint64_t a = 0;
  uint64_t b = 1;
  while (n-- != 0) {
    const uint64_t next = a + b;
    a = b;
    b = next;
  }
  return a;
}
static void FibonacciSum(void) { sink = Fibonacci((unsigned)Hidden(80)); }

static NOINLINE int Ackermann(int m, int n) {
  if (m == 0) return n + 1;
  if (n == 0) return Ackermann(m - 1, 1);
  return Ackermann(m - 1, Ackermann(m, n - 1));
}
static void Recursion(void) { sink = (uint64_t)Ackermann(2, 3); }

static NOINLINE uint64_t Sieve(unsigned limit) {
  static bool composite[100];
  uint64_t sum = 0;
  for (unsigned i = 2; i < limit; ++i) {
    if (composite[i]) continue;
    sum += i;
    for (unsigned k = i * i; k < limit; k += i) composite[k] = true;
  }
  return sum;
}
static void Primes(void) { sink = Sieve(100); }

#if defined(__x86_64__)
// As Go's garbage collector scans a block, and as Go's compiler lays such loops out: the inner one
// is entered at its checks, one of which leads back to the outer one's begin.
static NOINLINE uint64_t ScanMarked(const uint64_t* words, const uint8_t* marks, uint64_t bytes) {
  uint64_t sum = 0;
  uint64_t at = 0, bits = 0, k = 0, word = 0;
  __asm__ volatile(
      "jmp 2f\n\t"
      "1: mov %[at], %[bits]\n\t"
      "2: cmp %[bits], %[bytes]\n\t"
      "jbe 9f\n\t"
      "mov %[bits], %[at]\n\t"
      "shr $6, %[bits]\n\t"
      "movzbl (%[marks], %[bits]), %k[bits]\n\t"
      "test %k[bits], %k[bits]\n\t"
      "jne 3f\n\t"
      "lea 64(%[at]), %[bits]\n\t"
      "mov %[bits], %[at]\n\t"
      "jmp 1b\n\t"
      "3: xor %k[k], %k[k]\n\t"
      "jmp 5f\n\t"
      "4: inc %[k]\n\t"
      "shr $1, %k[bits]\n\t"
      "add $8, %[at]\n\t"
      "5: cmp $8, %[k]\n\t"
      "jge 1b\n\t"
      "cmp %[at], %[bytes]\n\t"
      "jbe 1b\n\t"
      "bt $0, %k[bits]\n\t"
      "jae 4b\n\t"
      "mov (%[words], %[at]), %[word]\n\t"
      "test %[word], %[word]\n\t"
      "je 4b\n\t"
      "add %[word], %[sum]\n\t"
      "jmp 4b\n\t"
      "9:"
      : [sum] "+&r"(sum), [at] "+&r"(at), [bits] "+&r"(bits), [k] "+&r"(k), [word] "+&r"(word)
      : [words] "r"(words), [marks] "r"(marks), [bytes] "r"(bytes)
      : "cc", "memory");
  return sum;
}
static void MarkedWords(void) {
  static uint64_t words[80];
  static const uint8_t marks[10] = {0, 0x55, 0, 0xff, 1, 0x80, 0, 0, 3, 0x10};
  for (int i = 0; i < 80; ++i) words[i] = (uint64_t)i % 3;
  sink = ScanMarked(words, marks, Hidden(sizeof words));
}
#endif

const struct Loop numbers_look_alikes[] = {
    {"random_in_registers", RandomInRegisters},
    {"random_in_memory", RandomInMemory},
    {"lcg", Lcg},
    {"greatest_divisor", GreatestDivisor},
    {"collatz", Collatz},
    {"popcount", Popcount},
    {"crc", Crc},
    {"internet_checksum", InternetChecksum},
    {"square_root", SquareRoot},
    {"matrices", Matrices},
    {"sum_of_diagonal", SumOfDiagonal},
    {"decimal_digits", DecimalDigits},
    {"fibonacci", FibonacciSum},
    {"recursion", Recursion},
    {"primes", Primes},
#if defined(__x86_64__)
    {"rdrand", Rdrand},
    {"marked_words", MarkedWords},
#endif
    {NULL, NULL},
};
