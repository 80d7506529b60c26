// SPDX-License-Identifier: MIT
#include "replay/symbols/elf/split_names.h"

#include <algorithm>
#include <array>
#include <span>

namespace flowback::symbols {
namespace {

constexpr std::array<std::string_view, 2> kMoved = {"cold", "__part"};
constexpr std::array<std::string_view, 5> kCalled = {"part", "resume", "destroy", "cleanup",
                                                     "actor"};
constexpr std::array<std::string_view, 7> kCopies = {
    "constprop", "isra", "lto_priv", "llvm", "localalias", "specialized", "__uniq"};

bool IsNumber(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

// A name's last mark with its numbers, and what stands ahead of it.
struct LastMark {
  std::string_view rest;
  std::string_view mark;  // empty: the name has none
};

// "f.cold.1" is "f" and "cold".
LastMark InDots(std::string_view name) {
  size_t dot = name.rfind('.');
  std::string_view last = name.substr(std::min(dot + 1, name.size()));
  while (dot != name.npos && dot != 0 && IsNumber(last)) {
    const size_t before = name.rfind('.', dot - 1);
    if (before == name.npos) return {};
    last = name.substr(before + 1, dot - before - 1);
    dot = before;
  }
  if (dot == name.npos || dot == 0) return {};
  return {name.substr(0, dot), last};
}

// "f(int) [clone .cold.1]" is "f(int)" and "cold".
LastMark LastOf(std::string_view name) {
  constexpr std::string_view kClone = " [clone ";
  if (!name.ends_with(']')) return InDots(name);
  const size_t at = name.rfind(kClone);
  if (at == name.npos) return {};
  const std::string_view inside =
      name.substr(at + kClone.size(), name.size() - at - kClone.size() - 1);
  const size_t begin = inside.find_first_not_of('.');
  if (begin == inside.npos) return {};
  const std::string_view marks = inside.substr(begin);
  return {name.substr(0, at), marks.substr(0, marks.find('.'))};
}

std::string_view Without(std::string_view name, std::span<const std::string_view> marks) {
  const LastMark last = LastOf(name);
  return std::ranges::find(marks, last.mark) == marks.end() ? std::string_view() : last.rest;
}

}  // namespace

std::string_view MovedFrom(std::string_view name) {
  std::string_view whole;
  for (std::string_view rest = Without(name, kMoved); !rest.empty(); rest = Without(rest, kMoved))
    whole = rest;
  return whole;
}

std::string_view FunctionNameOf(std::string_view name) {
  const std::string_view whole = MovedFrom(name);
  return whole.empty() ? name : whole;
}

std::string_view PartOf(std::string_view name) {
  std::string_view whole;
  while (true) {
    std::string_view rest = Without(name, kMoved);
    if (rest.empty()) rest = Without(name, kCalled);
    if (rest.empty()) return whole;
    whole = name = rest;
  }
}

std::string_view WithoutCopyMarks(std::string_view name) {
  for (std::string_view rest = Without(name, kCopies); !rest.empty(); rest = Without(name, kCopies))
    name = rest;
  return name;
}

}  // namespace flowback::symbols
