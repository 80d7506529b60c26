// SPDX-License-Identifier: MIT
#include "cli/reading/file_head.h"

#include <fstream>

namespace flowback::cli {
namespace {

std::string HeadOf(const std::string& path) {
  std::string head(8, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<size_t>(file.gcount()));
  return head;
}

bool IsPerfMagic(std::string_view head) { return head == "PERFILE2" || head == "2ELIFREP"; }

}  // namespace

bool IsRecording(const std::string& path) { return IsPerfMagic(HeadOf(path)); }

std::string_view KindOfValuableFile(const std::string& path) {
  const std::string head = HeadOf(path);
  if (IsPerfMagic(head)) return "a recording";
  if (head.starts_with("\x28\xb5\x2f\xfd")) return "a bundle, or another file compressed by zstd,";
  return head.starts_with(
             "\x7f"
             "ELF")
             ? "an ELF file"
             : "";
}

}  // namespace flowback::cli
