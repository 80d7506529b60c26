// SPDX-License-Identifier: MIT
// Functions by name, as people write them.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "flowback/base/error.h"

namespace flowback {

// Returns `name` without each "(anonymous namespace)::" in it: people write names as they stand in
// the source, where such a namespace has none.
std::string WithoutAnonymousNamespaces(std::string_view name);

// Returns what stands before the parameters: "f" for "f(int)". The parentheses of an anonymous
// namespace begin none.
std::string_view WithoutParameters(std::string_view name);
// Returns "f" for parts and copies of f: "f.cold", "f.isra.0", "f(int) [clone .cold]".
std::string_view WithoutCloneMark(std::string_view name);

// A name, in full or without its parameters or version; a pattern with * (anything) and ? (one
// character); or /a POSIX extended regular expression/, which fits where it is found. Any thread
// may use it.
class NamePattern {
 public:
  // Errors: kUsage for a regular expression that is none.
  static Result<NamePattern> Parse(const std::string& text);

  // `name` is demangled, or has no other form. "f" means f(int), f<int>(int), f@@V2 and the copies
  // that compilers make of f (f.cold, f.isra.0), "f@V2" that version only, and neither the stub
  // f@plt. "f" also means (anonymous namespace)::f, but not n::f.
  bool Matches(std::string_view name) const;
  // One name, and no pattern.
  bool is_plain() const { return kind_ == Kind::kPlain; }
  const std::string& text() const { return text_; }

 private:
  enum class Kind : unsigned char { kPlain, kWildcards, kExpression };
  struct Expression;

  NamePattern(std::string text, Kind kind) : text_(std::move(text)), kind_(kind) {}
  bool MatchesPlain(std::string_view name) const;
  bool MatchesNamed(std::string_view name) const;

  std::string text_;
  Kind kind_;
  std::shared_ptr<const Expression> expression_;
};

}  // namespace flowback
