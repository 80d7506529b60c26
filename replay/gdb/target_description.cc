// SPDX-License-Identifier: MIT
// gdb needs the registers that its own tables of an instruction set call for, by name and width, in
// features of known names. None of them but the program counter has a value in a replay.
#include "replay/gdb/target_description.h"

namespace flowback::gdb {
namespace {

constexpr char kIntel[] = "org.gnu.gdb.i386.";
constexpr char kArm[] = "org.gnu.gdb.aarch64.";

// Adds registers of one feature.
class RegisterList {
 public:
  void Begin(std::string feature) { feature_ = std::move(feature); }
  void Add(std::string name, unsigned bits, std::string type = {}) {
    list.push_back({std::move(name), bits, std::move(type), feature_});
  }
  void AddAll(std::initializer_list<const char*> names, unsigned bits) {
    for (const char* name : names) Add(name, bits);
  }
  void AddNumbered(const char* prefix, unsigned first, unsigned end, unsigned bits,
                   const std::string& type = {}) {
    for (unsigned i = first; i < end; ++i) Add(prefix + std::to_string(i), bits, type);
  }

  std::vector<Register> list;

 private:
  std::string feature_;
};

void AddIntel(RegisterList& registers, bool is_64) {
  registers.Begin(std::string(kIntel) + "core");
  if (is_64) {
    registers.AddAll({"rax", "rbx", "rcx", "rdx", "rsi", "rdi"}, 64);
    registers.Add("rbp", 64, "data_ptr");
    registers.Add("rsp", 64, "data_ptr");
    registers.AddNumbered("r", 8, 16, 64);
    registers.Add("rip", 64, "code_ptr");
  } else {
    registers.AddAll({"eax", "ecx", "edx", "ebx"}, 32);
    registers.Add("esp", 32, "data_ptr");
    registers.Add("ebp", 32, "data_ptr");
    registers.AddAll({"esi", "edi"}, 32);
    registers.Add("eip", 32, "code_ptr");
  }
  registers.AddAll({"eflags", "cs", "ss", "ds", "es", "fs", "gs"}, 32);
  registers.AddNumbered("st", 0, 8, 80, "i387_ext");
  registers.AddAll({"fctrl", "fstat", "ftag", "fiseg", "fioff", "foseg", "fooff", "fop"}, 32);
  registers.Begin(std::string(kIntel) + "sse");
  registers.AddNumbered("xmm", 0, is_64 ? 16 : 8, 128, "uint128");
  registers.Add("mxcsr", 32);
  registers.Begin(std::string(kIntel) + "linux");
  registers.Add(is_64 ? "orig_rax" : "orig_eax", is_64 ? 64 : 32);
}

void AddArm(RegisterList& registers) {
  registers.Begin(std::string(kArm) + "core");
  registers.AddNumbered("x", 0, 31, 64);
  registers.Add("sp", 64, "data_ptr");
  registers.Add("pc", 64, "code_ptr");
  registers.Add("cpsr", 32);
  registers.Begin(std::string(kArm) + "fpu");
  registers.AddNumbered("v", 0, 32, 128, "uint128");
  registers.AddAll({"fpsr", "fpcr"}, 32);
}

std::string ArchitectureOf(CodeMode mode) {
  switch (mode) {
    case CodeMode::kAArch64:
      return "aarch64";
    case CodeMode::kX86_64:
      return "i386:x86-64";
    default:
      return "i386";
  }
}

}  // namespace

std::vector<Register> RegistersOf(CodeMode mode) {
  RegisterList registers;
  if (mode == CodeMode::kAArch64)
    AddArm(registers);
  else
    AddIntel(registers, mode == CodeMode::kX86_64);
  registers.Begin("org.flowback.replay");
  registers.Add(kFrameRegister, 64);
  return std::move(registers.list);
}

std::string TargetDescription(CodeMode mode, const std::vector<Register>& registers) {
  std::string text =
      "<?xml version=\"1.0\"?>\n<!DOCTYPE target SYSTEM \"gdb-target.dtd\">\n<target>\n";
  text += "<architecture>" + ArchitectureOf(mode) + "</architecture>\n";
  text += "<osabi>GNU/Linux</osabi>\n";
  std::string feature;
  for (const Register& one : registers) {
    if (one.feature != feature) {
      if (!feature.empty()) text += "</feature>\n";
      feature = one.feature;
      text += "<feature name=\"" + feature + "\">\n";
    }
    text += "<reg name=\"" + one.name + "\" bitsize=\"" + std::to_string(one.bits) + "\"";
    if (!one.type.empty()) text += " type=\"" + one.type + "\"";
    text += "/>\n";
  }
  return text + "</feature>\n</target>\n";
}

}  // namespace flowback::gdb
