// SPDX-License-Identifier: MIT
// A message of protobuf as a field of one that is written part by part.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "replay/writers/text/quick_text.h"

namespace flowback {

inline constexpr unsigned TagOfLength(int field) {
  constexpr unsigned kOfLength = 2;  // the wire type
  return static_cast<unsigned>(field) << 3 | kOfLength;
}

// The functions named Put write at `at`, where there is room, and return the byte behind.

inline char* PutVarint(uint64_t value, char* at) {
  for (; value >= 0x80; value >>= 7) *at++ = static_cast<char>(value | 0x80);
  *at++ = static_cast<char>(value);
  return at;
}

inline char* PutField(int field, uint64_t value, char* at) {
  return PutVarint(value, PutVarint(static_cast<unsigned>(field) << 3, at));
}

// `message` is one that is written already.
inline char* PutMessage(int field, std::string_view message, char* at) {
  return PutText(message, PutVarint(message.size(), PutVarint(TagOfLength(field), at)));
}

inline void AppendVarint(uint64_t value, std::string& out) {
  constexpr size_t kMostBytes = 10;
  AppendUpTo(kMostBytes, out, [&](char* at) { return PutVarint(value, at); });
}

// A field with a number.
inline void AppendField(int field, uint64_t value, std::string& out) {
  AppendVarint(static_cast<unsigned>(field) << 3, out);
  AppendVarint(value, out);
}

template <class Message>
void AppendMessage(int field, const Message& message, std::string& out) {
  AppendVarint(TagOfLength(field), out);
  AppendVarint(message.ByteSizeLong(), out);
  message.AppendToString(&out);
}

inline void AppendText(int field, const std::string& text, std::string& out) {
  AppendVarint(TagOfLength(field), out);
  AppendVarint(text.size(), out);
  out += text;
}

}  // namespace flowback
