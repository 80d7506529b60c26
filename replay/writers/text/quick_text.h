// SPDX-License-Identifier: MIT
// Appends numbers and short texts to formats that hold millions of them.
//
//   AppendUpTo(kMostDigits + 1, out, [&](char* at) {
//     at = PutNumber(time, at);
//     *at++ = '\n';
//     return at;
//   });
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace flowback {

// The digits of a number of 64 bits.
inline constexpr size_t kMostDigits = 20;

// Grows `out` by what `write` puts there: at most `most` bytes. `write` takes the address of the
// first byte, and returns the one behind the last byte.
template <class Write>
void AppendUpTo(size_t most, std::string& out, const Write& write) {
  const size_t size = out.size();
  out.resize_and_overwrite(size + most, [&](char* text, size_t) {
    return static_cast<size_t>(write(text + size) - text);
  });
}

// The functions below return the byte behind the last one that they write.

inline char* PutNumber(uint64_t value, char* at) {
  return std::to_chars(at, at + kMostDigits, value).ptr;
}

// Writes `count` digits, with zeros in front.
inline char* PutDigits(uint64_t value, size_t count, char* at) {
  for (size_t i = count; i-- > 0; value /= 10) at[i] = static_cast<char>('0' + value % 10);
  return at + count;
}

inline char* PutText(std::string_view text, char* at) {
  std::memcpy(at, text.data(), text.size());
  return at + text.size();
}

}  // namespace flowback
