// SPDX-License-Identifier: MIT
// A message of protobuf as a field of one that is written part by part.
#pragma once

#include <cstdint>
#include <string>

namespace flowback {

inline void AppendVarint(uint64_t value, std::string& out) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

template <class Message>
void AppendMessage(int field, const Message& message, std::string& out) {
  constexpr unsigned kOfLength = 2;  // the wire type
  AppendVarint(static_cast<unsigned>(field) << 3 | kOfLength, out);
  AppendVarint(message.ByteSizeLong(), out);
  message.AppendToString(&out);
}

inline void AppendText(int field, const std::string& text, std::string& out) {
  constexpr unsigned kOfLength = 2;
  AppendVarint(static_cast<unsigned>(field) << 3 | kOfLength, out);
  AppendVarint(text.size(), out);
  out += text;
}

}  // namespace flowback
