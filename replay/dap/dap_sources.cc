// SPDX-License-Identifier: MIT
// The sources that an editor shows: files of this machine by their paths, the recording's own
// copies by reference, and the instructions of a function where there is no source.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "base/hex.h"
#include "base/path_text.h"
#include "decode/code/images/image_search.h"
#include "replay/dap/dap_server.h"

namespace flowback::dap {
namespace {

// Functions are listed until their texts are so large in all.
constexpr size_t kMostListedBytes = size_t{64} << 20;

// What a line names may be a device.
bool IsHere(const std::string& path) {
  std::error_code failed;
  return std::filesystem::is_regular_file(path, failed);
}

}  // namespace

// Where the file's text is: in the recording's bundle or below --symfs, else at its path. Empty:
// not found, or known to be another version.
std::string DapServer::PlaceOf(std::string_view file) {
  const auto [entry, is_new] = source_places_.try_emplace(std::string(file));
  if (!is_new) return entry->second;
  Session& session = opened_->view.session();
  std::vector<std::string> places;
  if (const std::string& root = session.options().search.symfs; !root.empty()) {
    places.push_back(UnderDirectory(root, NormalPath(file)));
    places.push_back(UnderDirectory(root, std::string(file)));
  }
  places.push_back(NormalPath(file));
  const auto found = std::ranges::find_if(places, IsHere);
  // The lines' own reader finds the same place, and knows the versions.
  constexpr uint32_t kMostBlank = 64;
  bool has_text = false;
  for (uint32_t line = 1; line <= kMostBlank && !has_text && found != places.end(); ++line)
    has_text = !session.lines().Text(file, line).empty();
  return entry->second = has_text ? *found : std::string();
}

int64_t DapServer::ReferenceTo(GivenSource source) {
  const auto same = [&](const GivenSource& each) {
    return each.file == source.file && each.listed.begin() == source.listed.begin() &&
           each.space == source.space;
  };
  const auto found = std::ranges::find_if(given_, same);
  if (found != given_.end()) return found - given_.begin() + 1;
  given_.push_back(std::move(source));
  return static_cast<int64_t>(given_.size());
}

const DapServer::GivenSource* DapServer::GivenOf(int64_t reference) const {
  if (reference <= 0 || static_cast<size_t>(reference) > given_.size()) return nullptr;
  return &given_[static_cast<size_t>(reference) - 1];
}

// Without "a/../", which editors take for another folder. A file that is not here, but in the
// recording's bundle, gets a reference, by which the editor asks for its text.
Json DapServer::SourceOf(std::string_view file) {
  const std::string path = NormalPath(file);
  Json told = {{"name", path.substr(path.rfind('/') + 1)}, {"path", path}};
  if (IsHere(path) || PlaceOf(file).empty()) return told;
  told["sourceReference"] = ReferenceTo({.file = std::string(file)});
  told["origin"] = "the recording's bundle";
  return told;
}

bool DapServer::HasSource(std::string_view file) {
  return IsHere(NormalPath(file)) || !PlaceOf(file).empty();
}

// Shows a frame of code without source in the function's instructions. `file` is the source that
// is missing; empty: none is known.
void DapServer::ShowInstructions(const Frame& frame, std::string_view file, Json& told) {
  if (frame.space == nullptr || frame.address == 0) return;
  const uint64_t at = frame.is_exact ? frame.address : frame.address - 1;
  const CodeMode mode = opened_->view.machine().At(frame.thread).instruction.mode;
  Session& session = opened_->view.session();
  const FunctionPiece piece = session.functions().Find(frame.space, at);
  if (!piece.Holds(at)) return;
  const auto known = std::ranges::find_if(given_, [&](const GivenSource& each) {
    return each.space == frame.space && each.listed.begin() == piece.begin;
  });
  int64_t reference = known - given_.begin() + 1;
  if (known == given_.end()) {
    if (listed_bytes_ > kMostListedBytes) return;
    ListedFunction listing = ListedFunction::At(session, *frame.space, at, mode);
    listed_bytes_ += listing.text().size();
    reference = ReferenceTo({.space = frame.space, .listed = std::move(listing)});
  }
  const ListedFunction& listed = GivenOf(reference)->listed;
  const auto line = listed.LineOf(at);
  if (!line) return;
  told["line"] = static_cast<int64_t>(*line) - (lines_from_1_ ? 0 : 1);
  told["source"] = {
      {"name", (listed.name().empty() ? Hex(listed.begin()) : listed.name()) + " (instructions)"},
      {"sourceReference", reference},
      {"origin", file.empty() ? std::string("no source is known")
                              : fmt::format("{} is neither here nor in the recording", file)}};
}

Result<DapServer::Answer> DapServer::LoadedSources(const Json& /*arguments*/) {
  Json sources = Json::array();
  if (const AddressSpace* space = Space())
    for (const std::string& file : opened_->places.Files(*space)) sources.push_back(SourceOf(file));
  return Answer{.body = {{"sources", std::move(sources)}}};
}

// Only files that the recording's lines name are read.
Result<DapServer::Answer> DapServer::Source(const Json& arguments) {
  const Json& source = MemberOf(arguments, "source");
  const int64_t reference =
      NumberIn(source, "sourceReference", NumberIn(arguments, "sourceReference"));
  std::string path = TextIn(source, "path");
  if (reference > 0) {
    const GivenSource* given = GivenOf(reference);
    if (given == nullptr)
      return Fail(ErrorCode::kUsage, fmt::format("there is no source {}", reference));
    if (given->file.empty())
      return Answer{.body = {{"content", given->listed.text()}, {"mimeType", "text/x-asm"}}};
    path = given->file;
  }
  const AddressSpace* space = Space();
  const std::vector<std::string> files =
      space == nullptr ? std::vector<std::string>() : opened_->places.Files(*space);
  if (reference <= 0 && !std::ranges::binary_search(files, path))
    return Fail(ErrorCode::kUsage, fmt::format("the recording's code is not of a file '{}'", path));
  constexpr uintmax_t kMostBytes = uintmax_t{16} << 20;
  const std::string place = IsHere(path) ? path : PlaceOf(path);
  std::error_code failed;
  if (!place.empty() && std::filesystem::file_size(place, failed) > kMostBytes)
    return Fail(ErrorCode::kUnreadable,
                fmt::format("'{}' is larger than {} MB", path, kMostBytes >> 20));
  const std::ifstream text(place);
  if (place.empty() || !text)
    return Fail(Error(ErrorCode::kUnreadable,
                      fmt::format("'{}' is not on this machine, and the recording has no copy of "
                                  "it",
                                  path))
                    .Remedy("`flowback pack` where the sources are makes a bundle with them"));
  std::ostringstream content;
  content << text.rdbuf();
  return Answer{.body = {{"content", content.str()}}};
}

}  // namespace flowback::dap
