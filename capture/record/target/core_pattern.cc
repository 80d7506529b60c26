// SPDX-License-Identifier: MIT
#include "capture/record/target/core_pattern.h"

#include <algorithm>
#include <fstream>

namespace flowback::record {
namespace {

std::string FirstLine(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// Names come from the program: they must lead into no other folder.
std::string InOneFolder(std::string name) {
  std::ranges::replace(name, '/', '!');
  if (name == "." || name == "..") name[0] = '!';
  return name;
}

std::string Value(char letter, const CoreFacts& facts) {
  switch (letter) {
    case '%':
      return "%";
    case 'p':
    case 'P':
      return std::to_string(facts.pid);
    case 'i':
    case 'I':
      return std::to_string(facts.tid);
    case 'u':
      return std::to_string(facts.uid);
    case 'g':
      return std::to_string(facts.gid);
    case 's':
      return std::to_string(facts.signal);
    case 't':
      return std::to_string(facts.time);
    case 'c':
      return std::to_string(facts.size_limit);
    case 'C':
      return std::to_string(facts.cpu);
    case 'd':
      return "1";  // dumped as the user
    case 'h':
      return InOneFolder(facts.host);
    case 'e':
      return InOneFolder(facts.comm);
    case 'f':
      return InOneFolder(facts.program.substr(facts.program.rfind('/') + 1));
    case 'E':
      return InOneFolder(facts.program);
    default:
      return {};
  }
}

}  // namespace

CorePattern ReadCorePattern() {
  const std::string uses_pid = FirstLine("/proc/sys/kernel/core_uses_pid");
  return {FirstLine("/proc/sys/kernel/core_pattern"), !uses_pid.empty() && uses_pid != "0"};
}

std::string CoreFileName(const CorePattern& pattern, const CoreFacts& facts) {
  if (pattern.is_pipe()) return {};
  std::string name;
  bool names_pid = false;
  for (size_t i = 0; i < pattern.text.size(); ++i) {
    if (pattern.text[i] != '%') {
      name += pattern.text[i];
      continue;
    }
    if (++i == pattern.text.size()) break;
    names_pid = names_pid || pattern.text[i] == 'p';
    name += Value(pattern.text[i], facts);
  }
  if (pattern.uses_pid && !names_pid) name += '.' + std::to_string(facts.pid);
  return name;
}

}  // namespace flowback::record
