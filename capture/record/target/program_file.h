// SPDX-License-Identifier: MIT
// What the kernel would run for a file: itself, or the interpreter that its first line names.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "flowback/model/instruction.h"

namespace flowback::record {

struct ProgramFile {
  std::string path;  // the ELF file
  // What stands in front of the caller's arguments after the first one, which it replaces; empty
  // for a program that is no script.
  std::vector<std::string> script_words;
  CodeMode mode = CodeMode::kX86_64;  // of its code: 64-bit or 32-bit
  bool changes_identity = false;      // set-user-ID or set-group-ID, which an emulator can't grant

  // The words the program finds as its arguments.
  std::vector<std::string> Arguments(const std::vector<std::string>& given) const;
};

struct ProgramRefusal {
  int error = 0;            // as execve reports it; 0 when the kernel would run it
  std::string machine;      // then: another architecture's program, "32-bit Arm"
  std::string damage;       // an ELF file that can't be loaded: "its program headers are missing"
  bool unreadable = false;  // the kernel may run it, but lets this user see nothing of its code
};

// `path` is not looked up in PATH. Accepts programs for 64-bit and for 32-bit x86; with a foreign
// root, which may be empty, also those for AArch64, whose dynamic loader lies below that.
std::expected<ProgramFile, ProgramRefusal> FindProgram(
    const std::string& path, const std::optional<std::string>& foreign_root = std::nullopt);

// Returns where libraries of AArch64 programs lie: the named folder, else Debian's for cross
// compilers. Empty: no folder was named, and Debian's is not installed. With it FindProgram accepts
// such programs.
std::optional<std::string> ForeignRoot(const std::string& named);

// Returns the file that execvp takes for `name`; `name` itself: PATH has no such file.
std::string LookUpInPath(const std::string& name);

// Whether the kernel gives a set-user-ID program its rights although this process traces it.
bool MayTraceOtherRights();

// What the user should know of a program that changes its identity: here it could not.
inline std::string IdentityNote(const ProgramFile& program) {
  return "'" + program.path + "' is set-user-ID: it ran without the rights that gives";
}

}  // namespace flowback::record
