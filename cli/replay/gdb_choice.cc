// SPDX-License-Identifier: MIT
#include "cli/replay/gdb_choice.h"

#include <fmt/format.h>

#include <array>
#include <cstdio>

#include "capture/record/target/program_file.h"

namespace flowback::cli {
namespace {

constexpr char kOfAllSets[] = "gdb-multiarch";

constexpr bool IsOfThisMachine(CodeMode mode) {
#ifdef __aarch64__
  return mode == CodeMode::kAArch64;
#else
  return mode != CodeMode::kAArch64;
#endif
}

// Where it is not found, the path is the name.
bool IsInstalled(const char* name) { return record::LookUpInPath(name).contains('/'); }

// Other distributions build the one gdb for all instruction sets.
bool KnowsSetOf(CodeMode mode) {
  const std::string set = mode == CodeMode::kAArch64 ? "aarch64" : "i386:x86-64";
  const std::string asked =
      "gdb -nx -batch -ex 'set architecture " + set + "' -ex 'show architecture' 2>&1";
  FILE* const told = popen(asked.c_str(), "re");
  if (told == nullptr) return false;
  std::string text;
  std::array<char, 4096> part;
  while (const size_t size = std::fread(part.data(), 1, part.size(), told))
    text.append(part.data(), size);
  return pclose(told) == 0 && !text.contains("Undefined item") && text.contains(set);
}

}  // namespace

std::string UsualGdbFor(CodeMode mode) { return IsOfThisMachine(mode) ? "gdb" : kOfAllSets; }

Result<std::string> GdbFor(CodeMode mode) {
  const bool is_own = IsOfThisMachine(mode);
  if (is_own && IsInstalled("gdb")) return "gdb";
  if (IsInstalled(kOfAllSets)) return kOfAllSets;
  if (is_own)
    return Fail(Error(ErrorCode::kCommandMissing, "replay starts gdb, which is not installed")
                    .Remedy("apt install gdb; or --gdb-server, for a gdb elsewhere"));
  if (IsInstalled("gdb") && KnowsSetOf(mode)) return "gdb";
  return Fail(
      Error(ErrorCode::kCommandMissing,
            fmt::format("the recorded program is of {}, which no installed gdb can show",
                        TraitsOf(mode).name))
          .Remedy(fmt::format("apt install {}; or --gdb-server, for a gdb elsewhere", kOfAllSets)));
}

}  // namespace flowback::cli
