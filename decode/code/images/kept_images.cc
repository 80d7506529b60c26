// SPDX-License-Identifier: MIT
#include "decode/code/images/kept_images.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>

#include "base/mapped_file.h"
#include "decode/code/cache/disk_cache.h"

namespace flowback {
namespace {

constexpr std::string_view kFirstLine = "flowback-images 1";
constexpr std::string_view kFolderEnd = ".images";
constexpr size_t kMostIndex = size_t{64} << 20;
constexpr size_t kLongestName = 255;
constexpr int kHex = 16;

template <class Number>
std::optional<Number> NumberIn(std::string_view text, int base = 10) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string Unescaped(std::string_view text) {
  std::string path;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto code =
        text[i] == '%' ? NumberIn<uint8_t>(text.substr(i + 1, 2), kHex) : std::nullopt;
    path += code ? static_cast<char>(*code) : text[i];
    if (code) i += 2;
  }
  return path;
}

std::string HashText(uint64_t hash) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

std::optional<BuildId> BuildIdIn(std::string_view text) {
  BuildId build_id;
  if (text == "-") return build_id;
  if (text.size() % 2 != 0) return std::nullopt;
  for (size_t i = 0; i < text.size(); i += 2) {
    const auto byte = NumberIn<uint8_t>(text.substr(i, 2), kHex);
    if (!byte) return std::nullopt;
    build_id.bytes.push_back(*byte);
  }
  return build_id;
}

// An index may come from anywhere, so a name in it counts only if it names a file in the folder
// itself.
bool IsName(std::string_view name) {
  return !name.empty() && name.size() <= kLongestName && name[0] != '.' &&
         name.find('/') == std::string_view::npos;
}

std::vector<std::string_view> WordsOf(std::string_view line) {
  std::vector<std::string_view> words;
  while (!line.empty()) {
    const size_t end = std::min(line.find(' '), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return words;
}

std::string ReadIndex(const std::string& folder) {
  std::ifstream file(folder + "/" + kImagesIndex, std::ios::binary);
  file.seekg(0, std::ios::end);
  const auto size = file.tellg();
  if (!file || size <= 0) return {};
  std::string text(std::min(kMostIndex, static_cast<size_t>(size)), '\0');
  file.seekg(0);
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  return text;
}

}  // namespace

std::string ImagesFolderOf(const std::string& recording) {
  return recording + std::string(kFolderEnd);
}

std::string EscapedName(std::string_view path) {
  std::string text;
  for (const char c : path) {
    if (c > ' ' && c < 0x7f && c != '%') {
      text += c;
      continue;
    }
    char code[4];
    std::snprintf(code, sizeof code, "%%%02x", static_cast<unsigned>(static_cast<uint8_t>(c)));
    text += code;
  }
  return text;
}

void ImageHash::Add(Bytes bytes) {
  while (rest_.size() + bytes.size() >= kStep) {
    const size_t part = kStep - rest_.size();
    if (rest_.empty()) {
      hash_ = ContentHash(bytes.first(kStep), hash_);
    } else {
      rest_.insert(rest_.end(), bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(part));
      hash_ = ContentHash(rest_, hash_);
      rest_.clear();
    }
    bytes = bytes.subspan(part);
  }
  rest_.insert(rest_.end(), bytes.begin(), bytes.end());
}

uint64_t ImageHash::Finish() { return ContentHash(rest_, hash_); }

uint64_t ImageHash::Of(Bytes content) {
  ImageHash hash;
  hash.Add(content);
  return hash.Finish();
}

std::string KeptImage::Line() const {
  return "image " + name + " " + std::to_string(size) + " " + HashText(hash) + " " +
         (build_id.empty() ? "-" : build_id.ToHex()) + " " + EscapedName(path) + "\n";
}

std::string KeptMapping::Line() const {
  return "mapped " + name + " " + std::to_string(time) + " " + std::to_string(pid) + " " +
         HashText(address) + "\n";
}

std::string KeptNames::Line() const {
  return "names " + name + " " + std::to_string(pid) + " " +
         (clock_offset ? std::to_string(*clock_offset) : "-") + "\n";
}

void KeptImages::AddLine(std::string_view line) {
  const std::vector<std::string_view> words = WordsOf(line);
  if (words.size() < 3 || !IsName(words[1])) return;
  const std::string name(words[1]);
  if (words[0] == "image" && words.size() == 6) {
    const auto size = NumberIn<uint64_t>(words[2]);
    const auto hash = NumberIn<uint64_t>(words[3], kHex);
    const auto build_id = BuildIdIn(words[4]);
    if (!size || !hash || !build_id) return;
    const auto [image, is_new] =
        images_.try_emplace(name, KeptImage{name, *size, *hash, *build_id, Unescaped(words[5])});
    if (is_new && !build_id->empty()) by_build_id_[build_id->ToHex()].push_back(&image->second);
  } else if (words[0] == "mapped" && words.size() == 5) {
    const auto time = NumberIn<uint64_t>(words[2]);
    const auto pid = NumberIn<int32_t>(words[3]);
    const auto address = NumberIn<uint64_t>(words[4], kHex);
    if (time && pid && address) mapped_.insert_or_assign({*time, *pid, *address}, name);
  } else if (words[0] == "names" && words.size() == 4) {
    if (const auto pid = NumberIn<int32_t>(words[2]))
      names_.push_back({name, *pid, NumberIn<int64_t>(words[3])});
  }
}

KeptImages KeptImages::Of(const std::string& recording) {
  KeptImages kept;
  if (recording.empty()) return kept;
  kept.folder_ = ImagesFolderOf(recording);
  const std::string text = ReadIndex(kept.folder_);
  std::string_view rest = text;
  bool first = true;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    if (first && rest.substr(0, end) != kFirstLine) return kept;
    if (!first) kept.AddLine(rest.substr(0, end));
    first = false;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return kept;
}

// A build may have several files, such as one that is stripped and one that is not. Then the one
// that was kept from the record's path is taken.
const KeptImage* KeptImages::Find(const MmapRecord& record, const BuildId& build_id) const {
  if (build_id.empty()) {
    const auto mapping = mapped_.find({record.time, record.pid, record.address});
    if (mapping == mapped_.end()) return nullptr;
    const auto image = images_.find(mapping->second);
    return image != images_.end() && image->second.path == record.path ? &image->second : nullptr;
  }
  const auto found = by_build_id_.find(build_id.ToHex());
  if (found == by_build_id_.end()) return nullptr;
  for (const KeptImage* image : found->second)
    if (image->path == record.path) return image;
  return found->second.front();
}

KeptImages KeptImages::Of(const Recording& recording) {
  namespace fs = std::filesystem;
  std::vector<std::string> paths = {recording.path};
  for (const auto& file : recording.files) {
    paths.push_back(file->path());
    paths.push_back(fs::path(file->path()).parent_path());
  }
  std::error_code failed;
  for (const std::string& path : paths)
    if (!path.empty() && fs::exists(ImagesFolderOf(path) + "/" + kImagesIndex, failed))
      return Of(path);
  return Of(recording.path);
}

std::string OriginOf(const std::string& file) {
  const size_t slash = file.rfind('/');
  if (slash == std::string::npos) return file;
  const std::string_view folder(file.data(), slash);
  if (!folder.ends_with(kFolderEnd)) return file;
  const std::string text = ReadIndex(std::string(folder));
  const std::string begin = "\nimage " + file.substr(slash + 1) + " ";
  const size_t line = text.find(begin);
  if (line == std::string::npos) return file;
  const size_t end = std::min(text.find('\n', line + 1), text.size());
  const auto words = WordsOf(std::string_view(text).substr(line + 1, end - line - 1));
  return words.size() == 6 ? Unescaped(words[5]) : file;
}

}  // namespace flowback
