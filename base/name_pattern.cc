// SPDX-License-Identifier: MIT
#include "base/name_pattern.h"

#include <regex.h>

#include <algorithm>
#include <array>

namespace flowback {
namespace {

// Names come from files: no one searches for a longer name, and matching takes time.
constexpr size_t kLongest = 4096;
constexpr std::string_view kNameless = "(anonymous namespace)";

// Going back to the last * is enough: what an earlier one could take, that one can, too.
bool FitsWildcards(std::string_view pattern, std::string_view name) {
  size_t at = 0;
  size_t star = std::string_view::npos;
  size_t resume = 0;
  size_t i = 0;
  while (i < name.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = at++;
      resume = i;
    } else if (at < pattern.size() && (pattern[at] == '?' || pattern[at] == name[i])) {
      ++at;
      ++i;
    } else if (star != std::string_view::npos) {
      at = star + 1;
      i = ++resume;
    } else {
      return false;
    }
  }
  while (at < pattern.size() && pattern[at] == '*') ++at;
  return at == pattern.size();
}

}  // namespace

std::string_view WithoutParameters(std::string_view name) {
  size_t at = 0;
  while ((at = name.find('(', at)) != std::string_view::npos &&
         name.substr(at).starts_with(kNameless))
    at += kNameless.size();
  return name.substr(0, at);
}

std::string_view WithoutCloneMark(std::string_view name) {
  constexpr std::array<std::string_view, 6> kMarks = {" [clone ", ".cold",      ".constprop.",
                                                      ".isra.",   ".lto_priv.", ".part."};
  for (const std::string_view mark : kMarks)
    if (const size_t at = name.find(mark); at != 0) name = name.substr(0, at);
  return name;
}

std::string WithoutAnonymousNamespaces(std::string_view name) {
  const std::string scope = std::string(kNameless) + "::";
  std::string result(name);
  for (size_t at = 0; (at = result.find(scope, at)) != std::string::npos;)
    result.erase(at, scope.size());
  return result;
}

struct NamePattern::Expression {
  regex_t compiled{};
  int status = 0;

  explicit Expression(const std::string& text)
      : status(regcomp(&compiled, text.c_str(), REG_EXTENDED | REG_NOSUB)) {}
  ~Expression() {
    if (status == 0) regfree(&compiled);
  }
  Expression(const Expression&) = delete;
  Expression& operator=(const Expression&) = delete;
};

Result<NamePattern> NamePattern::Parse(const std::string& text) {
  if (text.size() > 2 && text.front() == '/' && text.back() == '/') {
    NamePattern pattern(text, Kind::kExpression);
    const auto expression = std::make_shared<const Expression>(text.substr(1, text.size() - 2));
    if (expression->status != 0) {
      char why[128] = "";
      regerror(expression->status, &expression->compiled, why, sizeof why);
      return Fail(Error(ErrorCode::kUsage, "'" + text + "' is no regular expression: " + why)
                      .Remedy("a POSIX extended one between slashes, e.g. '/^str(len|cpy)$/'"));
    }
    pattern.expression_ = expression;
    return pattern;
  }
  return NamePattern(
      text, text.find_first_of("*?") == std::string::npos ? Kind::kPlain : Kind::kWildcards);
}

bool NamePattern::MatchesPlain(std::string_view name) const {
  if (name.starts_with(text_) && name.size() > text_.size() &&
      (name[text_.size()] == '(' || name[text_.size()] == '<'))
    return true;
  const size_t at = std::min(name.find('@'), name.size());
  const std::string_view suffix = name.substr(at);
  const std::string_view version = suffix.substr(suffix.starts_with("@@") ? 2 : !suffix.empty());
  if (version == "plt") return false;
  const bool of_version = !version.empty() && text_.find('@') != std::string::npos;
  name = name.substr(0, at);
  if (of_version) return text_ == std::string(name) + '@' + std::string(version);
  return name == text_ || WithoutCloneMark(name) == text_ ||
         WithoutParameters(WithoutCloneMark(name)) == text_;
}

bool NamePattern::Matches(std::string_view name) const {
  if (name == text_) return true;
  name = name.substr(0, kLongest);
  if (MatchesNamed(name)) return true;
  if (kind_ == Kind::kExpression || !name.contains(kNameless) || text_.contains(kNameless))
    return false;
  return MatchesNamed(WithoutAnonymousNamespaces(name));
}

bool NamePattern::MatchesNamed(std::string_view name) const {
  switch (kind_) {
    case Kind::kPlain:
      return MatchesPlain(name);
    case Kind::kWildcards:
      return FitsWildcards(text_, name) || FitsWildcards(text_, WithoutParameters(name));
    case Kind::kExpression:
      return regexec(&expression_->compiled, std::string(name).c_str(), 0, nullptr, 0) == 0;
  }
  return false;
}

}  // namespace flowback
