// SPDX-License-Identifier: MIT
// A name is a chain of names with their lengths ("3std5stdio"). A template's name has its arguments
// behind it ("__T2toTiZ"); a function's name has its type, if another name follows. "Q" and a
// number go back to a name or a type that stands that many letters before: what it says may be
// repeated that way again and again, so the text has a bound. A type can only be read from its
// beginning, and all of it is read, whether it is shown or not.
#include "replay/symbols/demangle/d_names.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "replay/symbols/demangle/d_literals.h"

namespace flowback::symbols {
namespace {

std::string_view BasicType(char c) {
  static constexpr std::string_view kNames[] = {
      "char",   "bool",    "creal", "double", "real",  "float",        "byte",   "ubyte",
      "int",    "ireal",   "uint",  "long",   "ulong", "typeof(null)", "ifloat", "idouble",
      "cfloat", "cdouble", "short", "ushort", "wchar", "void",         "dchar"};
  static constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvw";
  const size_t at = kLetters.find(c);
  return at == std::string_view::npos ? std::string_view() : kNames[at];
}

class DReader : private DScanner {
 public:
  DReader(std::string_view text, size_t most) : DScanner(text), most_(most) {}

  std::optional<std::string> Read() {
    std::string name;
    at_ = 2;
    if (!QualifiedName(name)) return std::nullopt;
    // A type follows, or the Z of data that the compiler made.
    if (Peek() == 'M') ++at_;
    std::string ignored;
    SkipModifiers();
    const bool ends = at_ + 1 == text_.size() && Peek() == 'Z';
    if (!ends && (!(IsCall(Peek()) ? Function(ignored) : Type(ignored)) || at_ != text_.size()))
      return std::nullopt;
    return name.size() > most_ ? std::nullopt : std::optional(std::move(name));
  }

 private:
  static constexpr int kDeepest = 200;  // nested types and names

  // Counts how deep the reading is, and how much it has said.
  class Depth {
   public:
    Depth(DReader& reader, const std::string& said) : reader_(reader) {
      ++reader_.depth_;
      ++reader_.steps_;
      ok_ = reader_.depth_ < kDeepest && said.size() <= reader_.most_ &&
            reader_.steps_ <= 4 * reader_.most_;
    }
    ~Depth() { --reader_.depth_; }
    Depth(const Depth&) = delete;
    Depth& operator=(const Depth&) = delete;
    bool ok() const { return ok_; }

   private:
    DReader& reader_;
    bool ok_;
  };

  static bool IsCall(char c) { return c != '\0' && std::string_view("FUWVRY").contains(c); }

  // Whether what stands there is a name of a chain.
  bool IsName() {
    if (IsDecimal(Peek())) return true;
    if (Peek() == '_') return Peek(1) == '_' && (Peek(2) == 'T' || Peek(2) == 'U');
    if (Peek() != 'Q') return false;
    const size_t begin = at_;
    const auto target = Target();
    at_ = begin;
    return target && IsDecimal(text_[*target]);
  }

  bool QualifiedName(std::string& out) {
    const Depth depth(*this, out);
    if (!depth.ok() || !IsName()) return false;
    for (bool is_first = true; IsName(); is_first = false) {
      if (Peek() == '0') {  // a scope without a name
        ++at_;
        continue;
      }
      if (!is_first) out += '.';
      if (!Name(out)) return false;
      SkipInnerType();
    }
    return true;
  }

  // The type of a function in which the next name lies.
  void SkipInnerType() {
    const size_t begin = at_;
    if (Take('M')) SkipModifiers();
    std::string ignored;
    if (!IsCall(Peek()) || !Parameters(ignored) || !IsName()) at_ = begin;
  }

  bool Name(std::string& out) {
    const Depth depth(*this, out);
    if (!depth.ok()) return false;
    if (Peek() == '_') return Template(out, text_.size());
    if (Peek() != 'Q') return NamedLength(out);
    const auto target = Target();
    if (!target) return false;
    const size_t behind = at_;
    at_ = *target;
    const bool ok = NamedLength(out);
    at_ = behind;
    return ok;
  }

  bool NamedLength(std::string& out) {
    const auto length = Number();
    if (!length || *length == 0 || *length > text_.size() - at_) return false;
    const std::string_view name = text_.substr(at_, *length);
    // Names may repeat, also in skipped parts.
    said_ += *length;
    if (out.size() > most_ || said_ > 4 * most_) return false;
    if (name.starts_with("__T") || name.starts_with("__U")) {  // as compilers did before 2017
      const size_t end = at_ + *length;
      const size_t begin = at_;
      const size_t before = out.size();
      if (Template(out, end) && at_ == end) return true;
      at_ = begin;
      out.resize(before);
    }
    at_ += *length;
    out += name == "__ctor" ? "this" : name == "__dtor" ? "~this" : name;
    return true;
  }

  bool Template(std::string& out, size_t end) {
    at_ += 3;
    if (!IsName() || !Name(out)) return false;
    out += "!(";
    for (bool is_first = true; Peek() != 'Z'; is_first = false) {
      if (at_ >= end) return false;
      if (!is_first) out += ", ";
      Take('H');  // the argument is a specialised one
      if (!Argument(out)) return false;
    }
    ++at_;
    out += ')';
    return true;
  }

  bool Argument(std::string& out) {
    const Depth depth(*this, out);
    if (!depth.ok()) return false;
    if (Take('T')) return Type(out);
    if (Take('S')) return Symbol(out);
    if (Take('V')) {
      const char kind = KindOfValue();
      std::string ignored;
      return Type(ignored) && Value(kind, out);
    }
    if (!Take('X')) return false;
    const auto length = Number();
    if (!length || *length > text_.size() - at_) return false;
    out += text_.substr(at_, *length);
    at_ += *length;
    return true;
  }

  bool Symbol(std::string& out) {
    if (text_.substr(at_).starts_with("_D")) {
      at_ += 2;
      if (!QualifiedName(out)) return false;
      if (Take('Z')) return true;
      if (Take('M')) SkipModifiers();
      std::string ignored;
      return IsCall(Peek()) ? Function(ignored) : Type(ignored);
    }
    // Older compilers put the length of the whole name in front.
    const size_t begin = at_;
    const size_t before = out.size();
    const auto length = IsDecimal(Peek()) ? Number() : std::nullopt;
    if (length && *length <= text_.size() - at_ && text_.substr(at_).starts_with("_D")) {
      const size_t end = at_ + *length;
      if (Symbol(out) && at_ == end) return true;
    }
    at_ = begin;
    out.resize(before);
    return QualifiedName(out);
  }

  void SkipModifiers() {
    while (std::string_view("xyO").contains(Peek()) || (Peek() == 'N' && Peek(1) == 'g'))
      at_ += Peek() == 'N' ? 2 : 1;
  }

  bool Within(std::string& out, std::string_view word) {
    out += word;
    out += '(';
    if (!Type(out)) return false;
    out += ')';
    return true;
  }

  bool Type(std::string& out) {
    const Depth depth(*this, out);
    if (!depth.ok()) return false;
    const char c = Peek();
    if (c == 'Q') return TypeBefore(out);
    if (IsCall(c)) return FunctionType(out, "function");
    ++at_;
    switch (c) {
      case 'x':
        return Within(out, "const");
      case 'y':
        return Within(out, "immutable");
      case 'O':
        return Within(out, "shared");
      case 'N':
        return RareType(out);
      case 'A':
        return Followed(out, "[]");
      case 'P':
        return IsCall(Peek()) ? FunctionType(out, "function") : Followed(out, "*");
      case 'D':
        SkipModifiers();
        return DelegateType(out);
      case 'G':
        return StaticArray(out);
      case 'H':
        return AssociativeArray(out);
      case 'B':
        return Tuple(out);
      case 'z':
        out += Peek() == 'k' ? "ucent" : "cent";
        return Take('i') || Take('k');
      case 'C':
      case 'S':
      case 'E':
      case 'T':
      case 'I':
        return QualifiedName(out);
      default:
        break;
    }
    const std::string_view basic = BasicType(c);
    out += basic;
    return !basic.empty();
  }

  bool TypeBefore(std::string& out) {
    const auto target = Target();
    if (!target) return false;
    const size_t behind = at_;
    at_ = *target;
    const bool ok = Type(out);
    at_ = behind;
    return ok;
  }

  bool RareType(std::string& out) {
    if (Take('g')) return Within(out, "inout");
    if (Take('h')) return Within(out, "__vector");
    out += "typeof(*null)";
    return Take('n');
  }

  bool Followed(std::string& out, std::string_view behind) {
    const bool ok = Type(out);
    out += behind;
    return ok;
  }

  bool StaticArray(std::string& out) {
    const auto count = Number();
    return count && Followed(out, "[" + std::to_string(*count) + "]");
  }

  bool AssociativeArray(std::string& out) {
    std::string key;
    if (!Type(key) || !Type(out)) return false;
    out += "[" + key + "]";
    return true;
  }

  bool Tuple(std::string& out) {
    out += "tuple(";
    const auto count = Number();
    if (!count) return false;
    for (size_t i = 0; i < *count; ++i) {
      if (i != 0) out += ", ";
      if (!Type(out)) return false;
    }
    out += ')';
    return true;
  }

  bool DelegateType(std::string& out) {
    if (Peek() != 'Q') return IsCall(Peek()) && FunctionType(out, "delegate");
    const auto target = Target();
    if (!target || !IsCall(text_[*target])) return false;
    const size_t behind = at_;
    at_ = *target;
    const bool ok = FunctionType(out, "delegate");
    at_ = behind;
    return ok;
  }

  // "int function(char)": what it returns stands last in the mangled name.
  bool FunctionType(std::string& out, std::string_view word) {
    std::string parameters;
    if (!Parameters(parameters) || !Type(out)) return false;
    out += ' ';
    out += word;
    out += '(' + parameters + ')';
    return true;
  }

  bool Function(std::string& out) { return FunctionType(out, ""); }

  // From the letter of the calling convention to the end of the parameters.
  bool Parameters(std::string& out) {
    const Depth depth(*this, out);
    if (!depth.ok()) return false;
    ++at_;
    while (Peek() == 'N' && Peek(1) != '\0' && std::string_view("abcdefijlm").contains(Peek(1)))
      at_ += 2;
    for (bool is_first = true;; is_first = false) {
      if (Take('Z')) return true;
      if (Take('X') || Take('Y')) {
        out += "...";
        return true;
      }
      if (!is_first) out += ", ";
      Storage(out);
      if (!Type(out)) return false;
    }
  }

  // How a parameter is passed.
  void Storage(std::string& out) {
    while (true) {
      if (Take('M'))
        out += "scope ";
      else if (Peek() == 'N' && Peek(1) == 'k')
        at_ += 2;  // return
      else
        break;
    }
    if (Peek() == 'I' && !NameFollows()) {
      ++at_;
      out += "in ";
    }
    if (Take('J')) out += "out ";
    if (Take('K')) out += "ref ";
    if (Take('L')) out += "lazy ";
  }

  // Whether "I" begins a type that is named.
  bool NameFollows() {
    ++at_;
    const bool is_name = IsName();
    --at_;
    return is_name;
  }

  // The letter of a value's type, behind references and modifiers.
  char KindOfValue() {
    const size_t begin = at_;
    for (int i = 0; i < kDeepest; ++i) {
      SkipModifiers();
      if (Peek() != 'Q') break;
      const auto target = Target();
      if (!target) break;
      at_ = *target;
    }
    const char kind = Peek();
    at_ = begin;
    return kind;
  }

  bool Value(char kind, std::string& out) {
    const Depth depth(*this, out);
    if (!depth.ok()) return false;
    const char c = Peek();
    if (IsDecimal(c)) return ReadInteger(*this, kind, "", out);
    ++at_;
    switch (c) {
      case 'n':
        out += "null";
        return true;
      case 'i':
        return ReadInteger(*this, kind, "", out);
      case 'N':
        return ReadInteger(*this, kind, "-", out);
      case 'e':
        return ReadReal(*this, out);
      case 'c':
        return ReadComplex(*this, out);
      case 'a':
      case 'w':
      case 'd':
        return ReadText(*this, c, out);
      case 'A':
        return Values(kind == 'H' ? 2 : 1, "[", "]", out);
      case 'S':
        return Values(1, "(", ")", out);
      case 'f':
        return Symbol(out);
      default:
        return false;
    }
  }

  bool Values(size_t each, std::string_view begin, std::string_view end, std::string& out) {
    const auto count = Number();
    if (!count) return false;
    out += begin;
    for (size_t i = 0; i < each * *count; ++i) {
      if (i != 0) out += i % each == 0 ? ", " : ":";
      if (!Value('\0', out)) return false;
    }
    out += end;
    return true;
  }

  size_t most_;
  size_t steps_ = 0;
  size_t said_ = 0;  // characters
  int depth_ = 0;
};

}  // namespace

std::optional<std::string> DName(std::string_view mangled, size_t most) {
  if (mangled == "_Dmain") return "D main";
  if (!mangled.starts_with("_D")) return std::nullopt;
  return DReader(mangled, most).Read();
}

}  // namespace flowback::symbols
