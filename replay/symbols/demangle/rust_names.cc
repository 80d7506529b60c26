// SPDX-License-Identifier: MIT
// The grammar is in Rust's RFC 2603 ("symbol name mangling v0"). A name is read from left to right,
// and written as it is read; "B" goes back to a place that was read before. Such a place may go
// back, too, so the text can double at each step: its length, the number of steps and their nesting
// have limits.
#include "replay/symbols/demangle/rust_names.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <utility>
#include <vector>

#include "replay/symbols/demangle/utf8.h"

namespace flowback::symbols {
namespace {

bool IsDecimal(char c) { return c >= '0' && c <= '9'; }
bool IsHexadecimal(char c) { return IsDecimal(c) || (c >= 'a' && c <= 'f'); }
bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }

// Punycode (RFC 3492), with "_" in front of the coded part; empty: it is none.
std::string Decoded(std::string_view text) {
  constexpr uint64_t kBase = 36, kLeast = 1, kMost = 26, kMostCode = 0x10ffff;
  const size_t mark = text.rfind('_');
  std::vector<uint64_t> codes;
  if (mark != text.npos) codes.assign(text.begin(), text.begin() + static_cast<int64_t>(mark));
  const std::string_view coded = mark == text.npos ? text : text.substr(mark + 1);
  uint64_t code = 128, at = 0, bias = 72;
  bool first = true;
  for (size_t i = 0; i < coded.size(); ++at) {
    const uint64_t before = at;
    uint64_t weight = 1;
    for (uint64_t k = kBase;; k += kBase) {
      if (i == coded.size()) return {};
      const char c = coded[i++];
      const uint64_t digit =
          IsDecimal(c) ? static_cast<uint64_t>(c - '0') + 26 : static_cast<uint64_t>(c - 'a');
      if (digit >= kBase || weight > UINT32_MAX) return {};
      at += digit * weight;
      const uint64_t limit = std::clamp(k > bias ? k - bias : 0, kLeast, kMost);
      if (digit < limit) break;
      weight *= kBase - limit;
    }
    const uint64_t count = codes.size() + 1;
    uint64_t delta = (at - before) / (std::exchange(first, false) ? 700 : 2);
    delta += delta / count;
    for (bias = 0; delta > (kBase - kLeast) * kMost / 2; bias += kBase) delta /= kBase - kLeast;
    bias += (kBase - kLeast + 1) * delta / (delta + 38);
    code += at / count;
    at %= count;
    if (code > kMostCode) return {};
    codes.insert(codes.begin() + static_cast<int64_t>(at), code);
  }
  std::string result;
  for (const uint64_t each : codes) result += Character(each);
  return result;
}

std::string_view BasicRustType(char letter) {
  constexpr std::array<std::pair<char, std::string_view>, 21> kTypes = {
      {{'a', "i8"},   {'b', "bool"},  {'c', "char"},  {'d', "f64"}, {'e', "str"}, {'f', "f32"},
       {'h', "u8"},   {'i', "isize"}, {'j', "usize"}, {'l', "i32"}, {'m', "u32"}, {'n', "i128"},
       {'o', "u128"}, {'p', "_"},     {'s', "i16"},   {'t', "u16"}, {'u', "()"},  {'v', "..."},
       {'x', "i64"},  {'y', "u64"},   {'z', "!"}}};
  for (const auto& [known, name] : kTypes)
    if (known == letter) return name;
  return {};
}

class Reader {
 public:
  // `name` without "_R".
  Reader(std::string_view name, size_t most) : name_(name), most_(most) {}

  std::optional<std::string> Read() {
    if (IsDecimal(Peek())) return std::nullopt;  // a later version
    Path(true);
    // The crate that made the code is read over.
    if (good_ && IsUpper(Peek())) {
      const std::string written = text_;
      Path(false);
      text_ = written;
    }
    const bool ends = at_ == name_.size() || name_[at_] == '.' || name_[at_] == '$';
    return good_ && ends ? std::optional(text_) : std::nullopt;
  }

 private:
  static constexpr int kDeepest = 100;
  static constexpr size_t kMostSteps = 100'000;

  struct Identifier {
    std::string_view name;
    uint64_t number = 0;  // distinguishes equal names
    bool is_encoded = false;
  };

  char Peek() const { return at_ < name_.size() ? name_[at_] : '\0'; }
  char Next() {
    if (++steps_ > kMostSteps || at_ >= name_.size()) Fail();
    return good_ ? name_[at_++] : '\0';
  }
  bool Takes(char c) {
    if (!good_ || Peek() != c) return false;
    ++at_;
    return true;
  }
  void Fail() { good_ = false; }
  void Write(std::string_view text) {
    if (!good_) return;
    text_ += text;
    if (text_.size() > most_) Fail();
  }

  // "_" is 0, "0_" is 1.
  uint64_t Base62() {
    if (Takes('_')) return 0;
    uint64_t value = 0;
    while (good_) {
      const char c = Next();
      if (c == '_') return value + 1;
      uint64_t digit = 0;
      if (IsDecimal(c))
        digit = static_cast<uint64_t>(c - '0');
      else if (c >= 'a' && c <= 'z')
        digit = static_cast<uint64_t>(c - 'a') + 10;
      else if (IsUpper(c))
        digit = static_cast<uint64_t>(c - 'A') + 36;
      else
        Fail();
      if (value > (UINT64_MAX - digit) / 62) Fail();
      value = value * 62 + digit;
    }
    return 0;
  }
  // As in "s_": absent is 0.
  uint64_t OptionalNumber(char mark) { return Takes(mark) ? Base62() + 1 : 0; }

  Identifier Name() {
    Identifier result;
    result.number = OptionalNumber('s');
    result.is_encoded = Takes('u');
    uint64_t length = 0;
    if (!IsDecimal(Peek())) Fail();
    if (!Takes('0'))
      while (good_ && IsDecimal(Peek()) && length <= name_.size())
        length = length * 10 + static_cast<uint64_t>(Next() - '0');
    Takes('_');
    if (!good_ || length > name_.size() - at_) {
      Fail();
      return {};
    }
    result.name = name_.substr(at_, length);
    at_ += length;
    return result;
  }
  void Write(const Identifier& name) {
    const std::string decoded = name.is_encoded ? Decoded(name.name) : std::string();
    Write(decoded.empty() ? name.name : std::string_view(decoded));
  }

  // Reads at the place that was written before, and comes back.
  template <class Read>
  void GoBack(const Read& read) {
    const size_t here = at_ - 1;
    const uint64_t place = Base62();
    if (!good_ || place >= here) return Fail();
    const size_t behind = std::exchange(at_, place);
    Nested(read);
    at_ = behind;
  }
  template <class Read>
  void Nested(const Read& read) {
    if (++depth_ > kDeepest) Fail();
    if (good_) read();
    --depth_;
  }

  // `is_value`: generic arguments need a "::" ahead, as in expressions.
  void Path(bool is_value) {
    Nested([&] { PathHere(is_value); });
  }
  void PathHere(bool is_value) {
    switch (Next()) {
      case 'C':
        return Write(Name());
      case 'M':
        ReadOver();
        Write("<");
        Type();
        return Write(">");
      case 'X':
        ReadOver();
        return TypeAsTrait();
      case 'Y':
        return TypeAsTrait();
      case 'N':
        return NestedName(is_value);
      case 'I':
        Path(is_value);
        Write(is_value ? "::<" : "<");
        List([&] { GenericArgument(); });
        return Write(">");
      case 'B':
        return GoBack([&] { Path(is_value); });
      default:
        return Fail();
    }
  }
  // Where an implementation lies, which nobody writes.
  void ReadOver() {
    OptionalNumber('s');
    const std::string written = text_;
    Path(false);
    if (good_) text_ = written;
  }
  void TypeAsTrait() {
    Write("<");
    Type();
    Write(" as ");
    Path(false);
    Write(">");
  }
  void NestedName(bool is_value) {
    const char space = Next();
    Path(is_value);
    const Identifier name = Name();
    if (IsUpper(space)) {  // what has no name of its own
      Write("::{");
      Write(space == 'C' ? "closure" : space == 'S' ? "shim" : std::string_view(&space, 1));
      if (!name.name.empty()) {
        Write(":");
        Write(name);
      }
      Write("#" + std::to_string(name.number) + "}");
    } else if (!name.name.empty()) {
      Write("::");
      Write(name);
    }
  }

  // Up to "E", with commas between.
  template <class Element>
  size_t List(const Element& element) {
    size_t count = 0;
    for (; good_ && !Takes('E'); ++count) {
      if (count != 0) Write(", ");
      element();
    }
    return count;
  }

  void GenericArgument() {
    if (Takes('L')) return Lifetime(Base62());
    if (Takes('K')) return Constant();
    Type();
  }
  // Lifetimes have no names here: the innermost one that a "for" brings is number 1.
  void Lifetime(uint64_t number) {
    if (number == 0) return Write("'_");
    if (number > lifetimes_) return Fail();
    const uint64_t name = lifetimes_ - number;
    Write(name < 26 ? std::string("'") + static_cast<char>('a' + name)
                    : "'_" + std::to_string(name));
  }
  template <class Read>
  void WithLifetimes(const Read& read) {
    const uint64_t count = OptionalNumber('G');
    if (count > 1000) return Fail();
    const uint64_t before = lifetimes_;
    if (count != 0) {
      Write("for<");
      for (uint64_t i = 0; good_ && i < count; ++i) {
        if (i != 0) Write(", ");
        ++lifetimes_;
        Lifetime(1);
      }
      Write("> ");
    }
    read();
    lifetimes_ = before;
  }

  void Type() {
    Nested([&] { TypeHere(); });
  }
  void TypeHere() {
    const char letter = Peek();
    if (const std::string_view basic = BasicRustType(letter); !basic.empty()) {
      Next();
      return Write(basic);
    }
    if (std::string_view("CMXYNI").contains(letter) && letter != '\0') return Path(false);
    switch (Next()) {
      case 'A':
        Write("[");
        Type();
        Write("; ");
        Constant();
        return Write("]");
      case 'S':
        Write("[");
        Type();
        return Write("]");
      case 'T': {
        Write("(");
        if (List([&] { Type(); }) == 1) Write(",");
        return Write(")");
      }
      case 'R':
        return Reference("&");
      case 'Q':
        return Reference("&", "mut ");
      case 'P':
        Write("*const ");
        return Type();
      case 'O':
        Write("*mut ");
        return Type();
      case 'F':
        return WithLifetimes([&] { Function(); });
      case 'D':
        return Dynamic();
      case 'B':
        return GoBack([&] { Type(); });
      default:
        return Fail();
    }
  }
  void Reference(std::string_view mark, std::string_view kind = "") {
    Write(mark);
    if (Takes('L')) {
      if (const uint64_t number = Base62(); number != 0) {
        Lifetime(number);
        Write(" ");
      }
    }
    Write(kind);
    Type();
  }
  void Function() {
    if (Takes('U')) Write("unsafe ");
    if (Takes('K')) {
      std::string abi = "C";
      if (!Takes('C')) abi = std::string(Name().name);
      std::ranges::replace(abi, '_', '-');
      Write("extern \"" + abi + "\" ");
    }
    Write("fn(");
    List([&] { Type(); });
    Write(")");
    if (Takes('u')) return;  // returns nothing
    Write(" -> ");
    Type();
  }
  void Dynamic() {
    Write("dyn ");
    WithLifetimes([&] {
      for (bool first = true; good_ && !Takes('E'); first = false) {
        if (!first) Write(" + ");
        Trait();
      }
    });
    if (!Takes('L')) return Fail();
    if (const uint64_t number = Base62(); number != 0) {
      Write(" + ");
      Lifetime(number);
    }
  }
  // With what its associated types are: "Iterator<Item = u8>".
  void Trait() {
    const size_t begin = text_.size();
    Path(false);
    bool open = false;
    while (Takes('p')) {
      if (!open) {
        const bool has_arguments = text_.size() > begin && text_.ends_with('>');
        if (has_arguments && good_) text_.pop_back();
        Write(has_arguments ? ", " : "<");
        open = true;
      } else {
        Write(", ");
      }
      Write(Name());
      Write(" = ");
      Type();
    }
    if (open) Write(">");
  }

  void Constant() {
    if (Takes('B')) return GoBack([&] { Constant(); });
    if (Takes('p')) return Write("_");
    const char type = Next();
    if (!std::string_view("abchijlmnostxy").contains(type)) return Fail();
    const bool is_negative = Takes('n');
    const size_t begin = at_;
    while (IsHexadecimal(Peek())) Next();
    const std::string_view digits = name_.substr(begin, at_ - begin);
    if (!Takes('_')) return Fail();
    uint64_t value = 0;
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    if (!digits.empty() && read.ec != std::errc()) return Write("0x" + std::string(digits));
    if (type == 'b') return Write(value != 0 ? "true" : "false");
    if (type == 'c') return Write("'" + Character(value) + "'");
    Write((is_negative ? "-" : "") + std::to_string(value));
  }

  std::string_view name_;
  const size_t most_;
  size_t at_ = 0;
  size_t steps_ = 0;
  int depth_ = 0;
  uint64_t lifetimes_ = 0;  // of all "for" around
  bool good_ = true;
  std::string text_;
};

}  // namespace

std::optional<std::string> RustName(std::string_view mangled, size_t most) {
  if (!mangled.starts_with("_R") || mangled.size() < 4) return std::nullopt;
  return Reader(mangled.substr(2), most).Read();
}

}  // namespace flowback::symbols
