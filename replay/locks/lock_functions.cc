// SPDX-License-Identifier: MIT
#include "replay/locks/lock_functions.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

namespace flowback {
namespace {

struct Row {
  std::string_view name;
  LockFunction function;
};

constexpr Row kRows[] = {
#define LOCK_FUNCTION(name, use, family) {name, {LockUse::use, family}},
#include "replay/locks/lock_functions.def"
#undef LOCK_FUNCTION
};

// "void std::__foo<int>::bar(int) const" is "std::foo::bar"; Go's "sync.(*Mutex).Lock" stays.
std::string ShortName(std::string_view name) {
  name = name.substr(0, name.find('@'));
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

const Names& AllNames() {
  static const Names names = [] {
    Names made;
    for (const Row& row : kRows) {
      if (row.name.ends_with('*'))
        made.beginnings.push_back({row.name.substr(0, row.name.size() - 1), row.function});
      else
        made.whole.emplace(row.name, row.function);
    }
    return made;
  }();
  return names;
}

}  // namespace

LockFunction LockFunctionOf(std::string_view name) {
  const Names& names = AllNames();
  const std::string plain = ShortName(name);
  if (const auto found = names.whole.find(plain); found != names.whole.end()) return found->second;
  for (const Row& row : names.beginnings)
    if (plain.starts_with(row.name)) return row.function;
  return {};
}

}  // namespace flowback
