// SPDX-License-Identifier: MIT
#include "replay/symbols/demangle/demangle.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <vector>

#include "replay/symbols/demangle/d_names.h"
#include "replay/symbols/demangle/rust_names.h"

namespace flowback::symbols {
namespace {

constexpr size_t kLongest = size_t{1} << 20;  // of the text that demangling may make
constexpr size_t kShown = size_t{16} << 10;   // of it, at most
constexpr size_t kWidest = 32;                // of what one letter stands for

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// A mangled name repeats what it has said before by its number ("S1_", "T_"), and what it repeats
// may repeat something: each of thirty steps can double the text. Here each is taken to repeat the
// longest thing that stands complete before it, so that the length comes out too large, never too
// small. What can be repeated is a name, or ends with 'E'.
class LengthEstimate {
 public:
  // Estimates a name that begins with _Z.
  explicit LengthEstimate(std::string_view name) : name_(name) {
    for (at_ = 0; at_ < name_.size() && sum_ <= kLongest; ++at_) Take(name_[at_]);
  }
  bool is_short() const { return sum_ <= kLongest; }

 private:
  struct Level {
    bool is_chain = false;  // N...E: each part goes on from the one before
    size_t sum = 0;
    size_t part = 0;  // since the last part that was complete
  };

  void Add(size_t length) {
    sum_ += length;
    levels_.back().sum += length;
    levels_.back().part += length;
  }
  void Complete(size_t length) { longest_ = std::max(longest_, length); }

  void Take(char c) {
    if (IsDigit(c)) return TakeName();
    const char next = at_ + 1 < name_.size() ? name_[at_ + 1] : '\0';
    Add(kWidest);
    const bool is_number = IsDigit(next) || (next >= 'A' && next <= 'Z') || next == '_';
    if ((c == 'S' || c == 'T') && is_number) {
      Add(longest_);
      at_ = std::min(name_.find('_', at_), name_.size());
    } else if ((c == 'C' || c == 'D') && IsDigit(next)) {
      Add(longest_);  // a constructor has its class's name
    } else if (std::string_view("INXLJF").contains(c)) {
      levels_.push_back({.is_chain = c == 'N'});
    } else if (c == 'E' && levels_.size() > 1) {
      Close();
    }
  }

  // Its letters mean nothing.
  void TakeName() {
    size_t length = 0;
    for (; at_ < name_.size() && IsDigit(name_[at_]); ++at_)
      length = std::min(10 * length + static_cast<size_t>(name_[at_] - '0'), name_.size());
    length = std::min(length, name_.size() - at_);
    Add(length);
    Complete(levels_.back().is_chain ? levels_.back().sum : length);
    at_ += length - 1;
  }

  void Close() {
    const Level inner = levels_.back();
    levels_.pop_back();
    Level& outer = levels_.back();
    outer.sum += inner.sum;
    Complete(outer.is_chain ? outer.sum : outer.part + inner.sum);
    outer.part = 0;
  }

  std::string_view name_;
  size_t at_ = 0;
  size_t sum_ = 0;
  size_t longest_ = 1;  // of the complete part
  std::vector<Level> levels_{1};
};

// OCaml's begin with "caml" and a module: "camlStdlib__List__map_123", and from OCaml 5.1 on
// "camlStdlib__List.map_123". "$2d" stands for a letter that no assembler takes. Empty: it is none.
std::string NameInOCaml(std::string_view mangled) {
  if (!mangled.starts_with("caml") || mangled.size() < 6 || mangled[4] < 'A' || mangled[4] > 'Z')
    return {};
  mangled.remove_prefix(4);
  if (!mangled.contains("__") && !mangled.contains('.')) return {};
  const auto value = [](char c) {
    return IsDigit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  std::string text;
  for (size_t i = 0; i < mangled.size(); ++i) {
    const bool coded = mangled[i] == '$' && i + 2 < mangled.size() && value(mangled[i + 1]) >= 2 &&
                       value(mangled[i + 1]) < 8 && value(mangled[i + 2]) >= 0;
    if (mangled.substr(i).starts_with("__") && i != 0 && i + 2 < mangled.size()) {
      text += '.';
      ++i;
    } else if (coded) {
      text += static_cast<char>(value(mangled[i + 1]) * 16 + value(mangled[i + 2]));
      i += 2;
    } else {
      text += mangled[i];
    }
  }
  return text;
}

// In other languages than C++; empty: it is none of theirs.
std::string NameElsewhere(std::string_view mangled) {
  if (mangled.starts_with("_R")) return RustName(mangled, kShown).value_or("");
  if (mangled.starts_with("_ZN")) return OlderRustName(mangled).value_or("");
  if (mangled.starts_with("_D")) return DName(mangled, kShown).value_or("");
  return NameInOCaml(mangled);
}

}  // namespace

std::string Demangled(const std::string& name) {
  const size_t at = name.find('@');
  const std::string elsewhere = NameElsewhere(std::string_view(name).substr(0, at));
  if (!elsewhere.empty()) return at == std::string::npos ? elsewhere : elsewhere + name.substr(at);
  // The demangler also reads encoded types: "i" would become "int".
  if (!name.starts_with("_Z") || !LengthEstimate(name).is_short()) return name;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name.substr(0, at).c_str(), nullptr, nullptr, &status), &std::free);
  if (status != 0 || text == nullptr) return name;
  std::string readable = text.get();
  if (readable.size() > kShown) readable.replace(kShown, std::string::npos, "...");
  return at == std::string::npos ? readable : readable + name.substr(at);
}

}  // namespace flowback::symbols
