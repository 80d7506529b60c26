// SPDX-License-Identifier: MIT
#include "replay/gdb/gdb_files.h"

#include <sys/stat.h>

#include <algorithm>

#include "decode/code/images/image_search.h"
#include "replay/gdb/gdb_packets.h"
#include "replay/writers/text/printable.h"

namespace flowback::gdb {
namespace {

// Numbers of the protocol, which are not this machine's.
constexpr int kNoSuchFile = 2;
constexpr int kBadNumber = 9;
constexpr int kPermission = 13;
constexpr int kInvalid = 22;
constexpr int kTooManyOpen = 24;

std::string Failed(int number) {
  std::string text = "F-1,";
  constexpr char kDigits[] = "0123456789abcdef";
  if (number > 15) text += kDigits[number / 16];
  return text + kDigits[number % 16];
}

std::string HexNumber(uint64_t value) {
  std::string digits;
  do {
    digits.insert(digits.begin(), "0123456789abcdef"[value & 15]);
    value >>= 4;
  } while (value != 0);
  return digits;
}

// The highest byte first, as the protocol has its structures.
void AppendBig(std::string& out, uint64_t value, size_t size) {
  for (size_t i = size; i-- != 0;) out += static_cast<char>(i < 8 ? value >> (8 * i) : 0);
}

}  // namespace

std::string GdbFiles::Answer(std::string_view rest) {
  if (TakeWord(rest, "setfs:")) return "F0";
  if (TakeWord(rest, "open:")) return Open(rest);
  if (TakeWord(rest, "pread:")) return Read(rest);
  if (TakeWord(rest, "fstat:")) return Status(rest);
  if (TakeWord(rest, "close:")) return Close(rest);
  return "";
}

std::string GdbFiles::Open(std::string_view rest) {
  constexpr uint64_t kWriting = 3;
  const size_t comma = rest.find(',');
  const auto path = BytesOfHex(rest.substr(0, comma));
  if (!path || comma == std::string_view::npos) return Failed(kInvalid);
  rest.remove_prefix(comma + 1);
  if (TakeHex(rest).value_or(kWriting) & kWriting) return Failed(kPermission);
  if (open_.size() >= kMostOpen) return Failed(kTooManyOpen);
  if (path->starts_with("/proc/")) {
    auto texts = kernel_files_();
    const auto text = texts.find(*path);
    return text == texts.end() ? Failed(kNoSuchFile) : Keep({.text = std::move(text->second)});
  }
  const ImageStatus* image = Find(*path);
  const std::string found = image != nullptr ? image->file : DebugFileAt(*path);
  if (found.empty()) return Failed(kNoSuchFile);
  auto file = MappedFile::Open(found);
  if (!file) return Failed(kNoSuchFile);
  struct stat status{};
  const bool has_time = stat(found.c_str(), &status) == 0 && status.st_mtime > 0;
  return Keep(
      {.file = *std::move(file), .changed = has_time ? static_cast<uint64_t>(status.st_mtime) : 0});
}

std::string GdbFiles::Keep(OpenFile file) {
  open_[next_] = std::move(file);
  return "F" + HexNumber(next_++);
}

Bytes GdbFiles::OpenFile::bytes() const {
  return file != nullptr ? file->bytes()
                         : Bytes(reinterpret_cast<const uint8_t*>(text.data()), text.size());
}

std::string GdbFiles::DebugFileAt(const std::string& path) const {
  const std::string& root = session_.options().search.symfs;
  const bool is_one = path.starts_with("/usr/lib/debug/") && path.ends_with(".debug") &&
                      path.find("/../") == std::string::npos;
  return is_one && !root.empty() ? UnderDirectory(root, path) : "";
}

// A program names its loader by a path of its own, which leads to the file by links that are not
// recorded: then the only file of that name is meant.
const ImageStatus* GdbFiles::Find(const std::string& path) const {
  const auto name_of = [](const std::string& file) { return file.substr(file.rfind('/') + 1); };
  const ImageStatus* named = nullptr;
  size_t count = 0;
  for (const ImageStatus& image : session_.code().images()) {
    if (!image.usable) continue;
    // gdb has the path out of a document, in which some bytes are written out.
    if (image.path == path || PrintableProse(image.path) == path) return &image;
    if (name_of(image.path) != name_of(path)) continue;
    named = &image;
    ++count;
  }
  return count == 1 ? named : nullptr;
}

std::string GdbFiles::Read(std::string_view rest) const {
  const auto number = TakeHex(rest);
  TakeWord(rest, ",");
  const auto size = TakeHex(rest);
  TakeWord(rest, ",");
  const auto offset = TakeHex(rest);
  if (!number || !size || !offset) return Failed(kInvalid);
  const auto file = open_.find(*number);
  if (file == open_.end()) return Failed(kBadNumber);
  const Bytes bytes = file->second.bytes();
  if (*offset >= bytes.size()) return "F0;";
  // Escaped, each byte may take two.
  const uint64_t most = std::min<uint64_t>(kMostPacketBytes / 2 - 64, *size);
  const Bytes part = bytes.subspan(*offset, std::min<uint64_t>(most, bytes.size() - *offset));
  return "F" + HexNumber(part.size()) + ";" +
         Escaped({reinterpret_cast<const char*>(part.data()), part.size()});
}

// The protocol's struct stat: its size is what gdb asks for.
std::string GdbFiles::Status(std::string_view rest) const {
  constexpr uint64_t kRegularReadable = 0100444;
  constexpr uint64_t kBlock = 4096;
  const auto file = open_.find(TakeHex(rest).value_or(0));
  if (file == open_.end()) return Failed(kBadNumber);
  const uint64_t size = file->second.bytes().size();
  std::string status;
  AppendBig(status, 0, 4);                 // device
  AppendBig(status, file->first, 4);       // inode
  AppendBig(status, kRegularReadable, 4);  // mode
  AppendBig(status, 1, 4);                 // links
  AppendBig(status, 0, 4);                 // user
  AppendBig(status, 0, 4);                 // group
  AppendBig(status, 0, 4);                 // special device
  AppendBig(status, size, 8);
  AppendBig(status, kBlock, 8);
  AppendBig(status, (size + 511) / 512, 8);
  // Read, changed, made. gdb warns of sources that changed later.
  for (int i = 0; i < 3; ++i) AppendBig(status, file->second.changed, 4);
  return "F" + HexNumber(status.size()) + ";" + Escaped(status);
}

std::string GdbFiles::Close(std::string_view rest) {
  return open_.erase(TakeHex(rest).value_or(0)) != 0 ? "F0" : Failed(kBadNumber);
}

}  // namespace flowback::gdb
