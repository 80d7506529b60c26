// SPDX-License-Identifier: MIT
#include "replay/locks/lock_functions.h"

#include <array>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace flowback {
namespace {

struct Row {
  std::string_view name;
  LockFunction function;
};

#define LOCK_FUNCTION(name, use, family) {name, {LockUse::use, family}},
constexpr Row kRows[] = {
#include "replay/locks/lock_functions.def"
};
constexpr Row kKernelRows[] = {
#include "replay/locks/kernel_lock_functions.def"
};
#undef LOCK_FUNCTION

// What compilers add to the name of a part or a copy of a function. Go's names have dots, too.
std::string_view WithoutSuffix(std::string_view name) {
  constexpr std::array<std::string_view, 5> kSuffixes = {".constprop.", ".isra.", ".part.", ".cold",
                                                         ".llvm."};
  for (const std::string_view suffix : kSuffixes) name = name.substr(0, name.find(suffix));
  return name;
}

// "void std::__foo<int>::bar(int) const" is "std::foo::bar"; Go's "sync.(*Mutex).Lock" stays.
std::string ShortName(std::string_view name) {
  name = WithoutSuffix(name.substr(0, name.find('@')));
  std::string text;
  unsigned depth = 0;
  for (size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    const bool of_go = name.substr(i).starts_with("(*");
    if (c == '<') ++depth;
    if (depth == 0 && c == '(' && !of_go) break;
    if (depth == 0) text += c;
    if (c == '>' && depth > 0) --depth;
  }
  const size_t type = text.rfind(' ');
  if (type != std::string::npos) text.erase(0, type + 1);
  // Underscores ahead of each part: `__gthread_mutex_lock`, `std::__atomic_base::wait`.
  std::string plain;
  for (const char c : text)
    if (c != '_' || (!plain.empty() && plain.back() != ':')) plain += c;
  return plain;
}

struct Names {
  std::unordered_map<std::string_view, LockFunction> whole;
  std::vector<Row> beginnings;
};

Names NamesOf(std::span<const Row> rows) {
  Names names;
  for (const Row& row : rows) {
    if (row.name.ends_with('*'))
      names.beginnings.push_back({row.name.substr(0, row.name.size() - 1), row.function});
    else
      names.whole.emplace(row.name, row.function);
  }
  return names;
}

}  // namespace

LockFunction LockFunctionOf(std::string_view name, bool of_kernel) {
  static const Names of_programs = NamesOf(kRows);
  static const Names of_linux = NamesOf(kKernelRows);
  const Names& names = of_kernel ? of_linux : of_programs;
  const std::string plain = ShortName(name);
  if (const auto found = names.whole.find(plain); found != names.whole.end()) return found->second;
  for (const Row& row : names.beginnings)
    if (plain.starts_with(row.name)) return row.function;
  return {};
}

}  // namespace flowback
