// SPDX-License-Identifier: MIT
// libLLVM is 130 MB and takes some 11 ms to load, which most runs never need: it is opened at the
// first instruction that no other decoder can read, through LLVM's C interface, whose functions are
// stable over releases.
#include "decode/instruction/llvm_disassembler.h"

#include <dlfcn.h>
#include <llvm-c/Disassembler.h>
#include <llvm-c/Target.h>

#include <algorithm>
#include <array>

#include "flowback/model/code_mode.h"

namespace flowback {
namespace {

// Only ever loaded, never unloaded: other rooms may use the same library.
class LlvmLibrary {
 public:
  LlvmLibrary() {
    for (const char* name : {"libLLVM.so.19.1", "libLLVM-19.so", "libLLVM-19.so.1"}) {
      handle_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
      if (handle_ != nullptr) break;
    }
    if (handle_ == nullptr) return;
    complete_ = Find("LLVMCreateDisasmCPUFeatures", create_) &&
                Find("LLVMDisasmInstruction", run_) && Find("LLVMDisasmDispose", dispose_) &&
                Find("LLVMSetDisasmOptions", set_options_);
  }

  // Loaded once and kept to the end of the process: destroying it at exit would race with LLVM's
  // own destructors.
  static LlvmLibrary& Get() {
    static LlvmLibrary& library = *new LlvmLibrary;
    return library;
  }

  // Null: LLVM's library is incomplete, or lacks the target.
  LLVMDisasmContextRef Create(const LlvmTarget& target) {
    const std::scoped_lock lock(mutex_);  // LLVM's list of targets has none
    if (!complete_ || !SetUp(target.name)) return nullptr;
    LLVMDisasmContextRef context =
        create_(target.triple, "", target.features, nullptr, 0, nullptr, NoName);
    if (context == nullptr) return nullptr;
    uint64_t options = 0;
    if (target.second_syntax) options |= LLVMDisassembler_Option_AsmPrinterVariant;
    if (target.hexadecimal) options |= LLVMDisassembler_Option_PrintImmHex;
    if (options != 0) set_options_(context, options);
    return context;
  }
  void Dispose(LLVMDisasmContextRef context) { dispose_(context); }
  size_t Run(LLVMDisasmContextRef context, uint8_t* code, size_t size, uint64_t address, char* text,
             size_t text_size) {
    return run_(context, code, size, address, text, text_size);
  }

 private:
  // LLVM asks for the name of a branch's target; without a name it prints the address.
  static const char* NoName(void*, uint64_t, uint64_t* kind, uint64_t, const char** name) {
    *kind = LLVMDisassembler_ReferenceType_InOut_None;
    *name = nullptr;
    return nullptr;
  }

  bool SetUp(const std::string& target) {
    for (const char* part : {"TargetInfo", "TargetMC", "Disassembler"}) {
      void (*initialize)() = nullptr;
      if (!Find(("LLVMInitialize" + target + part).c_str(), initialize)) return false;
      initialize();
    }
    return true;
  }
  template <class F>
  bool Find(const char* name, F*& function) {
    function = reinterpret_cast<F*>(dlsym(handle_, name));
    return function != nullptr;
  }

  void* handle_ = nullptr;
  bool complete_ = false;
  decltype(&LLVMCreateDisasmCPUFeatures) create_ = nullptr;
  decltype(&LLVMDisasmInstruction) run_ = nullptr;
  decltype(&LLVMDisasmDispose) dispose_ = nullptr;
  decltype(&LLVMSetDisasmOptions) set_options_ = nullptr;
  std::mutex mutex_;
};

// LLVM separates by tabs, and starts with one.
std::string TidyText(std::string line) {
  std::ranges::replace(line, '\t', ' ');
  const size_t begin = std::min(line.find_first_not_of(' '), line.size());
  return line.substr(begin);
}

}  // namespace

LlvmDisassembler::LlvmDisassembler(const LlvmTarget& target)
    : context_(LlvmLibrary::Get().Create(target)) {}

LlvmDisassembler::~LlvmDisassembler() {
  if (context_ != nullptr) LlvmLibrary::Get().Dispose(context_);
}

unsigned LlvmDisassembler::Run(Bytes code, uint64_t address, std::string* text) {
  if (context_ == nullptr) return 0;
  std::array<uint8_t, kLongestInstruction> copy{};  // the interface wants writable bytes
  const size_t size = std::min<size_t>(code.size(), copy.size());
  std::copy_n(code.data(), size, copy.data());
  std::array<char, 256> line{};
  const std::scoped_lock lock(mutex_);
  const size_t length =
      LlvmLibrary::Get().Run(context_, copy.data(), size, address, line.data(), line.size());
  if (text != nullptr) *text = TidyText(line.data());
  return static_cast<unsigned>(length);
}

}  // namespace flowback
