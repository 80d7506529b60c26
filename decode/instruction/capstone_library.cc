// SPDX-License-Identifier: MIT
#include "decode/instruction/capstone_library.h"

#include <dlfcn.h>

#include <string>

namespace flowback {
namespace {

template <class F>
bool Find(void* handle, const char* name, F*& function) {
  function = reinterpret_cast<F*>(dlsym(handle, name));
  return function != nullptr;
}

CapstoneLibrary Load() {
  // The interface changes with the number in the file's name only.
  const std::string file = "libcapstone.so." + std::to_string(CS_API_MAJOR);
  void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return {};
  CapstoneLibrary library;
  const bool complete =
      Find(handle, "cs_open", library.open) && Find(handle, "cs_close", library.close) &&
      Find(handle, "cs_malloc", library.allocate) && Find(handle, "cs_free", library.free) &&
      Find(handle, "cs_disasm_iter", library.decode) && Find(handle, "cs_insn_name", library.name);
  return complete ? library : CapstoneLibrary{};
}

}  // namespace

const CapstoneLibrary& CapstoneLibrary::Get() {
  static const CapstoneLibrary library = Load();
  return library;
}

}  // namespace flowback
