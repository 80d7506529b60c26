// SPDX-License-Identifier: MIT
#include "replay/gdb/gdb_signals.h"

#include <array>
#include <cstddef>

namespace flowback::gdb {
namespace {

constexpr int kUnknown = 143;
// By Linux' number, from 0.
constexpr std::array<int, 32> kNumbers = {0,  1,  2,  3,  4,  5,        6,  10, 8,  9,  30,
                                          11, 31, 13, 14, 15, kUnknown, 20, 19, 17, 18, 21,
                                          22, 16, 24, 25, 26, 27,       28, 23, 32, 12};
// gdb has real-time signals from 33 on in a row.
constexpr int kFirstOfRow = 33;
constexpr int kLastOfRow = 63;
constexpr int kRow = 45;

}  // namespace

int GdbSignal(int signal) {
  if (signal >= kFirstOfRow && signal <= kLastOfRow) return kRow + signal - kFirstOfRow;
  if (signal == 32) return 77;
  if (signal == 64) return 78;
  const auto number = static_cast<size_t>(signal);  // of a negative one, large
  return number < kNumbers.size() ? kNumbers[number] : kUnknown;
}

}  // namespace flowback::gdb
