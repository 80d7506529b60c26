// SPDX-License-Identifier: MIT
// A mangled name of D's that is read letter by letter, and the numbers and texts among the
// arguments of its templates.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace flowback::symbols {

inline bool IsDecimal(char c) { return c >= '0' && c <= '9'; }

struct DScanner {
  explicit DScanner(std::string_view text) : text_(text) {}

  char Peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  bool Take(char c) {
    if (Peek() != c) return false;
    ++at_;
    return true;
  }
  std::optional<size_t> Number() {
    if (!IsDecimal(Peek())) return std::nullopt;
    size_t number = 0;
    for (; IsDecimal(Peek()); ++at_)
      number = std::min<size_t>(10 * number + static_cast<size_t>(Peek() - '0'), UINT32_MAX);
    return number;
  }

  // Where "Q..." at `at_` goes back to: capital letters but for the last one, to the base of 26.
  std::optional<size_t> Target() {
    const size_t begin = at_++;
    size_t back = 0;
    for (; Peek() >= 'A' && Peek() <= 'Z'; ++at_)
      back = std::min(26 * back + static_cast<size_t>(Peek() - 'A'), text_.size());
    if (Peek() < 'a' || Peek() > 'z') return std::nullopt;
    back = 26 * back + static_cast<size_t>(text_[at_++] - 'a');
    return back == 0 || back > begin ? std::nullopt : std::optional(begin - back);
  }

  std::string_view text_;
  size_t at_ = 0;
};

// Each reads one value, as D writes it. False: no such value stands there. `kind` is the letter of
// its type.
bool ReadInteger(DScanner& in, char kind, std::string_view sign, std::string& out);
bool ReadReal(DScanner& in, std::string& out);
bool ReadComplex(DScanner& in, std::string& out);
bool ReadText(DScanner& in, char width, std::string& out);

}  // namespace flowback::symbols
