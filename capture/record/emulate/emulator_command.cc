// SPDX-License-Identifier: MIT
#include "capture/record/emulate/emulator_command.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/descriptor.h"

namespace flowback::record {
namespace {

constexpr char kProgramArgument[] = ",program=";
constexpr size_t kMaxComm = 15;  // the kernel keeps so much of a program's name

// The program may change its folder.
std::string WholePath(const std::string& path) {
  std::error_code failed;
  const std::filesystem::path whole = std::filesystem::absolute(path, failed);
  return failed ? path : whole.string();
}

bool IsSameFile(const std::string& one, const std::string& other) {
  struct stat about_one{};
  struct stat about_other{};
  return stat(one.c_str(), &about_one) == 0 && stat(other.c_str(), &about_other) == 0 &&
         about_one.st_dev == about_other.st_dev && about_one.st_ino == about_other.st_ino;
}

// Returns whether the path is such as "/proc/self/exe" or "/proc/1234/exe", wherever it leads.
bool IsExeLink(const std::string& path) {
  if (path.substr(path.rfind('/') + 1) != "exe") return false;
  const Descriptor link(open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat about{};
  struct statfs system{};
  return *link >= 0 && fstat(*link, &about) == 0 && S_ISLNK(about.st_mode) &&
         fstatfs(*link, &system) == 0 && system.f_type == PROC_SUPER_MAGIC;
}

int DigitValue(char digit) { return digit <= '9' ? digit - '0' : digit - 'a' + 10; }

}  // namespace

std::string ToHex(const std::string& text) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (const char c : text) {
    hex += kDigits[static_cast<uint8_t>(c) >> 4];
    hex += kDigits[c & 0xf];
  }
  return hex;
}

std::string FromHex(const std::string& hex) {
  std::string text;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    text += static_cast<char>(DigitValue(hex[i]) << 4 | DigitValue(hex[i + 1]));
  return text;
}

EmulatorSetup EmulatorSetup::For(CodeMode program) const {
  EmulatorSetup setup = *this;
  if (program == mode) return setup;
  setup.mode = program;
  setup.emulator = other.path;
  setup.plugin_interface = other.plugin_interface;
  setup.other = {.path = emulator, .plugin_interface = plugin_interface};
  return setup;
}

std::vector<std::string> EmulatorCommand(const EmulatorSetup& setup, const ProgramFile& program,
                                         const std::string& asked_for,
                                         const std::vector<std::string>& arguments) {
  const std::vector<std::string> words = program.Arguments(arguments);
  const std::string name = asked_for.substr(asked_for.rfind('/') + 1).substr(0, kMaxComm);
  std::vector<std::string> command = {setup.emulator};
  if (setup.one_instruction_blocks) command.push_back(OneInstructionOption(setup.plugin_interface));
  if (setup.mode == CodeMode::kAArch64 && !setup.root.empty())
    command.insert(command.end(), {"-L", setup.root});
  if (setup.same_random_numbers) command.insert(command.end(), {"-seed", "0"});
  const std::string plugin =
      setup.plugin + ",plugin=" + ToHex(setup.plugin) + ",area=" + setup.area + kProgramArgument +
      ToHex(WholePath(program.path)) + ",name=" + ToHex(name) +
      ",exact=" + (setup.one_instruction_blocks ? "on" : "off") +
      ",locks=" + (setup.tells_addresses ? "on" : "off") +
      ",from=" + ToHex(ToText(setup.watched.from)) +
      ",until=" + ToHex(ToText(setup.watched.until)) +
      ",start=" + (setup.starts_on ? "on" : "off") + ",open=" + std::to_string(setup.open_area) +
      ",other=" + ToHex(setup.other.path) +
      ",other_interface=" + std::to_string(setup.other.plugin_interface) +
      ",root=" + ToHex(setup.root);
  command.insert(command.end(), {"-plugin", plugin});
  if (!words.empty()) command.insert(command.end(), {"-0", words[0]});
  command.push_back(program.path);
  if (!words.empty()) command.insert(command.end(), words.begin() + 1, words.end());
  return command;
}

std::string BehindExeLink(const std::string& path, const std::string& emulator,
                          const std::string& other) {
  if (!IsExeLink(path) || (!IsSameFile(path, emulator) && !IsSameFile(path, other))) return path;
  // The emulator's command line, word by word.
  std::ifstream file(path.substr(0, path.size() - std::string("exe").size()) + "cmdline");
  const std::string words{std::istreambuf_iterator<char>(file), {}};
  const size_t argument = words.find(kProgramArgument);
  if (argument == std::string::npos) return path;
  const size_t begin = argument + sizeof kProgramArgument - 1;
  const size_t end = words.find_first_of(std::string(",\0", 2), begin);
  return FromHex(words.substr(begin, end - begin));
}

EmulatorEnvironment SplitEnvironment(const std::vector<std::string>& variables, bool same_places) {
  // Its threads would get arenas of their own, earlier or later than the program's mappings.
  const std::string arenas = "MALLOC_ARENA_MAX";
  EmulatorEnvironment result;
  if (same_places) {
    result.words = {"-U", arenas};
    result.variables = {arenas + "=1"};
  }
  for (const std::string& variable : variables) {
    // The emulator splits what it is given at commas, so such a variable is left where it is.
    const bool loader = variable.starts_with("LD_") && variable.find('=') != std::string::npos &&
                        variable.find(',') == std::string::npos;
    if (loader || (same_places && variable.starts_with(arenas + "=")))
      result.words.insert(result.words.end(), {"-E", variable});
    else if (!variable.starts_with("QEMU_"))
      result.variables.push_back(variable);
  }
  return result;
}

}  // namespace flowback::record
