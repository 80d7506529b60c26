// SPDX-License-Identifier: MIT
#include "capture/record/target/program_file.h"

#include <elf.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <string_view>
#include <utility>

namespace flowback::record {
namespace {

constexpr int kMaxScripts = 5;      // one naming the next, as in the kernel
constexpr size_t kMaxLine = 256;    // of a script's first line, as in the kernel
constexpr size_t kMaxHeaders = 64;  // program headers looked at for the loader's name

// The structures of a class of ELF files.
struct Elf64 {
  using Header = Elf64_Ehdr;
  using Segment = Elf64_Phdr;
};
struct Elf32 {
  using Header = Elf32_Ehdr;
  using Segment = Elf32_Phdr;
};

std::string MachineName(unsigned machine) {
  switch (machine) {
    case EM_X86_64:
      return "x32";
    case EM_AARCH64:
      return "64-bit Arm";
    case EM_ARM:
      return "32-bit Arm";
    case EM_RISCV:
      return "RISC-V";
    default:
      return "ELF machine " + std::to_string(machine);
  }
}

// The file name of the dynamic loader; empty for a static program.
template <class Elf>
std::string LoaderOf(std::ifstream& file, const typename Elf::Header& header) {
  for (size_t i = 0; i < header.e_phnum && i < kMaxHeaders; ++i) {
    typename Elf::Segment segment{};
    file.seekg(static_cast<std::streamoff>(header.e_phoff + i * sizeof segment));
    if (!file.read(reinterpret_cast<char*>(&segment), sizeof segment)) break;
    if (segment.p_type != PT_INTERP || segment.p_filesz > 4096) continue;
    std::string name(segment.p_filesz, '\0');
    file.seekg(static_cast<std::streamoff>(segment.p_offset));
    file.read(name.data(), static_cast<std::streamsize>(name.size()));
    return name.c_str();
  }
  return {};
}

// Why the file can't be loaded; empty: it can.
template <class Elf>
std::string DamageOf(std::ifstream& file, const typename Elf::Header& header, uint64_t size) {
  if (header.e_type != ET_EXEC && header.e_type != ET_DYN) return "it is no executable file";
  bool loads = false;
  for (size_t i = 0; i < header.e_phnum; ++i) {
    typename Elf::Segment segment{};
    file.seekg(static_cast<std::streamoff>(header.e_phoff + i * sizeof segment));
    if (!file.read(reinterpret_cast<char*>(&segment), sizeof segment)) {
      file.clear();
      return "its program headers are not all there";
    }
    loads |= segment.p_type == PT_LOAD;
    // Where no byte comes from the file, as of a .bss alone, any offset will do.
    if (segment.p_type == PT_LOAD && segment.p_filesz != 0 &&
        (segment.p_offset > size || segment.p_filesz > size - segment.p_offset))
      return "a segment of it lies behind its end: it was cut short";
  }
  return loads ? "" : "it has no segment to load";
}

template <class Elf>
std::optional<ProgramRefusal> RefusalOf(std::ifstream& file, const std::string& start,
                                        uint64_t size, const std::string& root) {
  typename Elf::Header header{};
  std::memcpy(&header, start.data(), sizeof header);
  if (std::string damage = DamageOf<Elf>(file, header, size); !damage.empty())
    return ProgramRefusal{ENOEXEC, {}, std::move(damage)};
  const std::string loader = LoaderOf<Elf>(file, header);
  if (!loader.empty() && access((root + loader).c_str(), X_OK) != 0)
    return ProgramRefusal{errno, {}, {}};
  return std::nullopt;
}

// Fills in the mode of what it does not refuse.
std::optional<ProgramRefusal> Refusal(std::ifstream& file, const std::string& start, uint64_t size,
                                      const std::optional<std::string>& foreign_root,
                                      CodeMode& mode) {
  Elf32_Ehdr header{};  // up to the machine both classes are the same
  if (start.size() < SELFMAG || start.compare(0, SELFMAG, ELFMAG) != 0)
    return ProgramRefusal{ENOEXEC, {}, {}};
  const bool is_long = start.size() > EI_CLASS && start[EI_CLASS] == ELFCLASS64;
  if (start.size() < (is_long ? sizeof(Elf64_Ehdr) : sizeof header))
    return ProgramRefusal{ENOEXEC, {}, "its header is cut short"};
  std::memcpy(&header, start.data(), sizeof header);
  if (foreign_root && is_long && header.e_machine == EM_AARCH64 &&
      header.e_ident[EI_DATA] == ELFDATA2LSB) {
    mode = CodeMode::kAArch64;
    return RefusalOf<Elf64>(file, start, size, *foreign_root);
  }
  mode = is_long ? CodeMode::kX86_64 : CodeMode::kX86_32;
  if (header.e_machine != (is_long ? EM_X86_64 : EM_386))
    return ProgramRefusal{0, MachineName(header.e_machine), {}};
  return is_long ? RefusalOf<Elf64>(file, start, size, "")
                 : RefusalOf<Elf32>(file, start, size, "");
}

// Interpreter and, if there is one, its single argument.
std::vector<std::string> WordsOfFirstLine(const std::string& start) {
  constexpr std::string_view kBlank = " \t";
  std::string_view line = std::string_view(start).substr(2);
  line = line.substr(0, line.find('\n'));
  const size_t begin = line.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  line = line.substr(begin, line.find_last_not_of(kBlank) + 1 - begin);
  const size_t end = line.find_first_of(kBlank);
  std::vector<std::string> words{std::string(line.substr(0, end))};
  if (end != std::string_view::npos)
    words.emplace_back(line.substr(line.find_first_not_of(kBlank, end)));
  return words;
}

}  // namespace

std::vector<std::string> ProgramFile::Arguments(const std::vector<std::string>& given) const {
  if (script_words.empty()) return given;
  std::vector<std::string> words = script_words;
  if (!given.empty()) words.insert(words.end(), given.begin() + 1, given.end());
  return words;
}

std::expected<ProgramFile, ProgramRefusal> FindProgram(
    const std::string& path, const std::optional<std::string>& foreign_root) {
  ProgramFile program{.path = path, .script_words = {}};
  for (int i = 0; i <= kMaxScripts; ++i) {
    struct stat about{};
    if (stat(program.path.c_str(), &about) != 0)
      return std::unexpected(ProgramRefusal{errno, {}, {}});
    if (!S_ISREG(about.st_mode)) return std::unexpected(ProgramRefusal{EACCES, {}, {}});
    if (access(program.path.c_str(), X_OK) != 0)
      return std::unexpected(ProgramRefusal{errno, {}, {}});
    std::ifstream file(program.path, std::ios::binary);
    if (!file) return std::unexpected(ProgramRefusal{EACCES, {}, {}, true});
    std::string start(kMaxLine, '\0');
    file.read(start.data(), kMaxLine);
    start.resize(static_cast<size_t>(file.gcount()));
    file.clear();
    if (!start.starts_with("#!")) {
      if (auto refusal = Refusal(file, start, static_cast<uint64_t>(about.st_size), foreign_root,
                                 program.mode))
        return std::unexpected(std::move(*refusal));
      program.changes_identity = ((about.st_mode & S_ISUID) && about.st_uid != geteuid()) ||
                                 ((about.st_mode & S_ISGID) && about.st_gid != getegid());
      return program;
    }
    std::vector<std::string> words = WordsOfFirstLine(start);
    if (words.empty()) return std::unexpected(ProgramRefusal{ENOEXEC, {}, {}});
    const std::string interpreter = words[0];
    words.push_back(program.path);
    // The script before it is an argument of this interpreter already.
    if (!program.script_words.empty())
      words.insert(words.end(), program.script_words.begin() + 1, program.script_words.end());
    program.script_words = std::move(words);
    program.path = interpreter;
  }
  return std::unexpected(ProgramRefusal{ELOOP, {}, {}});
}

std::optional<std::string> ForeignRoot(const std::string& named) {
  constexpr const char* kDebians = "/usr/aarch64-linux-gnu";
  if (!named.empty()) return named;
  return access(kDebians, R_OK) == 0 ? kDebians : "";
}

bool MayTraceOtherRights() {
  constexpr unsigned kCapSysPtrace = 19;
  std::ifstream file("/proc/self/status");
  constexpr std::string_view kKey = "CapEff:";
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(kKey))
      return (std::strtoull(line.c_str() + kKey.size(), nullptr, 16) >> kCapSysPtrace & 1) != 0;
  return false;
}

std::string LookUpInPath(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  const char* path = std::getenv("PATH");
  std::string_view rest = path != nullptr ? path : "/bin:/usr/bin";
  std::string refused;  // there, and not executable: execvp goes on searching
  while (true) {
    const size_t end = rest.find(':');
    const std::string folder(rest.substr(0, end));
    const std::string file = (folder.empty() ? "." : folder) + "/" + name;
    struct stat about{};
    if (stat(file.c_str(), &about) == 0) {
      if (S_ISREG(about.st_mode) && access(file.c_str(), X_OK) == 0) return file;
      if (refused.empty()) refused = file;
    }
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  return refused.empty() ? name : refused;
}

}  // namespace flowback::record
