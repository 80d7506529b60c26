// SPDX-License-Identifier: MIT
#include "replay/symbols/demangle.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace flowback::symbols {

std::string Demangled(const std::string& name) {
  // The demangler also reads encoded types: "i" would become "int".
  if (!name.starts_with("_Z")) return name;
  const size_t at = name.find('@');
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name.substr(0, at).c_str(), nullptr, nullptr, &status), &std::free);
  if (status != 0 || text == nullptr) return name;
  return at == std::string::npos ? text.get() : text.get() + name.substr(at);
}

}  // namespace flowback::symbols
