// SPDX-License-Identifier: MIT
#include "cli/spikes/place_match.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "cli/options/arguments.h"

namespace flowback::cli {
namespace {

bool IsFile(std::string_view path, std::string_view end) {
  if (!path.ends_with(end)) return false;
  return path.size() == end.size() || path[path.size() - end.size() - 1] == '/' ||
         end.starts_with('/');
}

}  // namespace

Result<PlaceMatch> PlaceMatch::Parse(const std::string& option, const std::string& word,
                                     Symbolizer& symbolizer, SourceLines& lines) {
  PlaceMatch match(symbolizer, lines);
  const size_t colon = word.rfind(':');
  const bool is_line = colon != std::string::npos && colon != 0 && word[colon - 1] != ':' &&
                       ParseNumber(word.substr(colon + 1)).has_value();
  if (is_line) {
    const uint64_t line = *ParseNumber(word.substr(colon + 1));
    match.file_ = word.substr(0, colon);
    match.line_ = static_cast<uint32_t>(line);
    if (line != 0 && line <= UINT32_MAX) return match;
  } else if (word.starts_with("0x")) {
    match.address_ = ParseNumber(word);
    if (match.address_) return match;
  } else if (!word.empty()) {
    Result<NamePattern> pattern = NamePattern::Parse(word);
    if (!pattern) return Fail(pattern.error());
    match.function_ = *std::move(pattern);
    return match;
  }
  return Fail(Error(ErrorCode::kUsage, fmt::format("{}: can't understand '{}'", option, word))
                  .Remedy(fmt::format("{} handle (a function), srv.cc:42 (a line) or 0x401136 (an "
                                      "address)",
                                      option)));
}

bool PlaceMatch::operator()(const AddressSpace* space, uint64_t ip) const {
  if (address_) return ip == *address_;
  if (space == nullptr) return false;
  return function_ ? BeginsFunction(*space, ip) : BeginsLine(*space, ip);
}

bool PlaceMatch::BeginsFunction(const AddressSpace& space, uint64_t ip) const {
  const auto symbol = symbolizer_->Find(space, ip);
  if (!symbol || symbol->offset != 0 || !symbol->is_function) return false;
  if (function_->Matches(symbol->name)) return true;
  for (const std::string& name : symbolizer_->OtherNames(space, ip))
    if (function_->Matches(name)) return true;
  return false;
}

bool PlaceMatch::BeginsLine(const AddressSpace& space, uint64_t ip) const {
  const SourcePlace place = lines_->Find(space, ip);
  if (place.begin != ip || !place.is_statement) return false;
  for (const SourceFrame& frame : place.frames)
    if (frame.line == line_ && IsFile(frame.file, file_)) return true;
  return false;
}

}  // namespace flowback::cli
