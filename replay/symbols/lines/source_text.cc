// SPDX-License-Identifier: MIT
#include "replay/symbols/lines/source_text.h"

#include "base/text_words.h"

namespace flowback::symbols {
namespace {

// A longer file is no source that a person wrote; the bound keeps a mistaken path harmless.
constexpr size_t kMaxSize = size_t{256} << 20;

}  // namespace

bool SourceText::Read(const std::string& path) {
  const auto file = MappedFile::Open(path);
  if (!file || (*file)->bytes().size() > kMaxSize) return false;
  // A copy: sources get edited, and a mapping of a file that is cut meanwhile would fault.
  const Bytes bytes = (*file)->bytes();
  text_.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  begins_.push_back(0);
  for (size_t i = 0; i < text_.size(); ++i)
    if (text_[i] == '\n') begins_.push_back(i + 1);
  return true;
}

std::string_view SourceText::Line(uint32_t number) const {
  if (number == 0 || number > begins_.size()) return {};
  const size_t begin = begins_[number - 1];
  const size_t end = number < begins_.size() ? begins_[number] : text_.size();
  // A line is printed each time that it executes: no person reads a longer line.
  constexpr size_t kLongest = 4096;
  return Trimmed(std::string_view(text_).substr(begin, end - begin)).substr(0, kLongest);
}

}  // namespace flowback::symbols
