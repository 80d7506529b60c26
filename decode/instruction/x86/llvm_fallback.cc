// SPDX-License-Identifier: MIT
// libLLVM is 130 MB and takes some 11 ms to load, which most runs never need: it is opened when the
// first instruction is met that Zydis does not know (APX, FRED and what comes after them), through
// LLVM's C interface, whose functions are stable over releases.
#include "decode/instruction/x86/llvm_fallback.h"

#include <dlfcn.h>
#include <llvm-c/Disassembler.h>
#include <llvm-c/Target.h>

#include <algorithm>
#include <array>
#include <mutex>

#include "decode/instruction/x86/machine_modes.h"
#include "decode/instruction/x86/prefixes.h"

namespace flowback::x86 {
namespace {

// Only ever loaded, never unloaded: other rooms may use the same library.
class Library {
 public:
  Library() {
    for (const char* name : {"libLLVM.so.19.1", "libLLVM-19.so", "libLLVM-19.so.1"}) {
      handle_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
      if (handle_ != nullptr) break;
    }
    if (handle_ == nullptr) return;
    if (!Find("LLVMCreateDisasmCPUFeatures", create_) || !Find("LLVMDisasmInstruction", run_) ||
        !Find("LLVMSetDisasmOptions", set_options_))
      return;
    for (const char* name : {"LLVMInitializeX86TargetInfo", "LLVMInitializeX86TargetMC",
                             "LLVMInitializeX86Disassembler"}) {
      void (*initialize)() = nullptr;
      if (!Find(name, initialize)) return;
      initialize();
    }
    contexts_ = {Create("x86_64-unknown-unknown"), Create("i386-unknown-unknown"),
                 Create("i386-unknown-unknown-code16")};
  }

  // Prefixes that LLVM can't join to an instruction, LOCK among them, are instructions of their own
  // to it. They are put together again with what follows.
  unsigned RunWithPrefixes(Bytes code, uint64_t address, CodeMode mode, std::string* text) {
    std::string prefixes;
    for (unsigned skipped = 0; skipped < code.size();) {
      std::string part;
      const Bytes rest = code.subspan(skipped);
      const unsigned length = Run(rest, address + skipped, mode, &part);
      if (length == 0) return 0;
      if (!IsPrefixesOnly(rest.first(length), mode)) {
        if (text != nullptr) *text = prefixes + part;
        return skipped + length;
      }
      prefixes += part + ' ';
      skipped += length;
    }
    return 0;
  }

 private:
  static bool IsPrefixesOnly(Bytes bytes, CodeMode mode) {
    return std::all_of(bytes.begin(), bytes.end(), [&](uint8_t byte) {
      return IsLegacyPrefix(byte) || (mode == CodeMode::kX86_64 && IsRex(byte));
    });
  }

  unsigned Run(Bytes code, uint64_t address, CodeMode mode, std::string* text) {
    LLVMDisasmContextRef context = contexts_[IndexOf(mode)];
    if (context == nullptr) return 0;
    std::array<uint8_t, kLongestInstruction> copy{};  // the interface wants writable bytes
    const size_t size = std::min<size_t>(code.size(), copy.size());
    std::copy_n(code.data(), size, copy.data());
    std::array<char, 256> line{};
    const std::scoped_lock lock(mutex_);
    const size_t length = run_(context, copy.data(), size, address, line.data(), line.size());
    *text = Tidy(line.data());
    return static_cast<unsigned>(length);
  }

  // LLVM separates by tabs, and starts with one.
  static std::string Tidy(std::string line) {
    std::replace(line.begin(), line.end(), '\t', ' ');
    const size_t begin = std::min(line.find_first_not_of(' '), line.size());
    return line.substr(begin);
  }

  template <class F>
  bool Find(const char* name, F*& function) {
    function = reinterpret_cast<F*>(dlsym(handle_, name));
    return function != nullptr;
  }
  LLVMDisasmContextRef Create(const char* triple) {
    LLVMDisasmContextRef context = create_(triple, "", "", nullptr, 0, nullptr, nullptr);
    if (context != nullptr) set_options_(context, LLVMDisassembler_Option_AsmPrinterVariant);
    return context;
  }

  void* handle_ = nullptr;
  decltype(&LLVMCreateDisasmCPUFeatures) create_ = nullptr;
  decltype(&LLVMDisasmInstruction) run_ = nullptr;
  decltype(&LLVMSetDisasmOptions) set_options_ = nullptr;
  std::array<LLVMDisasmContextRef, kModes> contexts_{};
  std::mutex mutex_;  // a context may be used by one thread at a time
};

}  // namespace

unsigned LlvmDisassemble(Bytes code, uint64_t address, CodeMode mode, std::string* text) {
  // Loaded once and kept to the end of the process: destroying it at exit would race with LLVM's
  // own destructors.
  static Library& library = *new Library;
  return library.RunWithPrefixes(code, address, mode, text);
}

}  // namespace flowback::x86
