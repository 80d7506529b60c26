// SPDX-License-Identifier: MIT
#include "replay/dap/function_names.h"

#include <algorithm>
#include <cctype>
#include <cstddef>

#include "replay/symbols/elf/split_names.h"

namespace flowback::dap {
namespace {

constexpr std::string_view kOperator = "operator";
constexpr std::string_view kAnonymous = "(anonymous namespace)";

bool IsWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Spaces matter between two words only.
std::string WithoutSpaces(std::string_view text) {
  std::string result;
  bool space = false;
  for (const char c : text) {
    if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      space = true;
      continue;
    }
    if (space && !result.empty() && IsWord(result.back()) && IsWord(c)) result += ' ';
    space = false;
    result += c;
  }
  return result;
}

bool BeginsOperator(std::string_view text, size_t at) {
  const size_t end = at + kOperator.size();
  return text.substr(at).starts_with(kOperator) && (at == 0 || !IsWord(text[at - 1])) &&
         end < text.size() && !IsWord(text[end]);
}

// Where an operator's own name ends: "operator()", "operator<<", "operator bool".
size_t EndOfOperator(std::string_view text, size_t at) {
  at += kOperator.size();
  if (text.substr(at).starts_with("()")) return at + 2;
  return std::min(text.find('(', at), text.size());
}

// Visits the characters that are in no brackets, until the visitor returns false.
template <class Visit>
void VisitOutside(std::string_view text, Visit&& visit) {
  int depth = 0;
  for (size_t i = 0; i < text.size();) {
    if (depth == 0 && BeginsOperator(text, i)) {
      i = EndOfOperator(text, i);
      continue;
    }
    if (text.substr(i).starts_with(kAnonymous)) {
      i += kAnonymous.size();
      continue;
    }
    if (depth == 0 && !visit(i)) return;
    const bool is_arrow = text[i] == '>' && i != 0 && text[i - 1] == '-';
    if (text[i] == '<' || text[i] == '(' || text[i] == '[' || text[i] == '{') ++depth;
    if ((text[i] == '>' && !is_arrow) || text[i] == ')' || text[i] == ']' || text[i] == '}')
      depth = std::max(depth - 1, 0);
    ++i;
  }
}

std::string_view WithoutTemplate(std::string_view part) {
  size_t end = part.size();
  VisitOutside(part, [&](size_t at) {
    if (part[at] == '<' && at != 0) end = std::min(end, at);
    return end == part.size();
  });
  return part.substr(0, end);
}

// Without "[clone .isra.0]", "@GLIBC_2.2.5", ".constprop.0".
std::string_view WithoutMarks(std::string_view name) {
  name = name.substr(0, name.find(" [clone "));
  const std::string_view part = symbols::PartOf(name);
  if (!part.empty()) name = part;
  name = symbols::WithoutCopyMarks(name);
  const size_t version = name.find('@');
  return version == 0 || name.substr(std::min(version, name.size())).starts_with("@plt")
             ? name
             : name.substr(0, version);
}

}  // namespace

std::string NameParts::Plain() const {
  return parts.empty() ? std::string() : std::string(WithoutTemplate(parts.back()));
}

NameParts TakeApart(std::string_view name) {
  const std::string text = WithoutSpaces(WithoutMarks(name));
  NameParts taken;
  size_t begin = 0;
  size_t end = text.size();
  VisitOutside(text, [&](size_t at) {
    if (text[at] == ' ') begin = at + 1;
    if (text[at] == '(') end = at;
    return end == text.size();
  });
  if (end != text.size()) {
    const size_t close = std::max(text.rfind(')'), end + 1);
    taken.parameters = text.substr(end + 1, close - end - 1);
    if (taken.parameters == "void") taken.parameters = "";
  }
  const std::string_view own = std::string_view(text).substr(begin, end - begin);
  size_t part = 0;
  VisitOutside(own, [&](size_t at) {
    if (at < part || !own.substr(at).starts_with("::")) return true;
    if (at != 0) taken.parts.emplace_back(own.substr(part, at - part));
    part = at + 2;
    return true;
  });
  if (part < own.size()) taken.parts.emplace_back(own.substr(part));
  return taken;
}

bool Fits(const NameParts& typed, const NameParts& function) {
  if (typed.parts.empty() || typed.parts.size() > function.parts.size()) return false;
  if (typed.parameters && typed.parameters != function.parameters) return false;
  const auto skipped = static_cast<ptrdiff_t>(function.parts.size() - typed.parts.size());
  return std::equal(
      typed.parts.begin(), typed.parts.end(), function.parts.begin() + skipped,
      [](const std::string& a, const std::string& b) { return a == b || a == WithoutTemplate(b); });
}

}  // namespace flowback::dap
