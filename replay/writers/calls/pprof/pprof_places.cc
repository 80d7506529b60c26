// SPDX-License-Identifier: MIT
#include "replay/writers/calls/pprof/pprof_places.h"

#include <algorithm>
#include <span>

#include "pprof.pb.h"
#include "replay/writers/calls/message_field.h"
#include "replay/writers/text/printable.h"

namespace flowback {
namespace {

using pprof::Profile;

std::string BuildIdOf(const Session& session, const std::string& file) {
  for (const ImageStatus& image : session.code().images())
    if (image.file == file && image.usable)
      return (image.found.empty() ? image.recorded : image.found).ToHex();
  return {};
}

}  // namespace

PprofPlaces::PprofPlaces(Session& session, const std::vector<ExportedFunction>& functions,
                         TextSink& sink)
    : session_(session), functions_(functions), sink_(sink) {
  Text("");  // number 0 is no text
}

int64_t PprofPlaces::Text(std::string_view text) {
  const auto [at, is_new] =
      texts_.try_emplace(std::string(text), static_cast<int64_t>(text_list_.size()));
  if (is_new) text_list_.push_back(&at->first);
  return at->second;
}

uint64_t PprofPlaces::Location(uint32_t number, const AddressSpace* space, uint64_t site) {
  const ExportedFunction& function = functions_[number];
  if (space == nullptr) space = function.space;
  const auto [at, is_new] = locations_.try_emplace({number, space, site}, last_location_ + 1);
  if (!is_new) return at->second;
  const uint64_t address = site == 0 ? function.entry_ip : site;
  pprof::Location location;
  location.set_id(++last_location_);
  location.set_mapping_id(Mapping(space, address));
  location.set_address(address);
  const SourcePlace place =
      space == nullptr ? SourcePlace{} : session_.lines().Find(*space, address);
  const std::span<const SourceFrame> frames = place.frames;
  // The entry has the function itself, even if another one was inlined there.
  for (size_t i = site == 0 ? frames.size() : 0; i + 1 < frames.size(); ++i) {
    pprof::Line& line = *location.add_line();
    line.set_function_id(Function(ExportedName(frames[i].function, number), function.object,
                                  frames[i].file, frames[i].first_line));
    line.set_line(frames[i].line);
  }
  const SourceFrame outermost = frames.empty() ? SourceFrame{} : frames.back();
  pprof::Line& line = *location.add_line();
  line.set_function_id(
      Function(function.name, function.object, outermost.file, outermost.first_line));
  line.set_line(outermost.line);
  AppendMessage(Profile::kLocationFieldNumber, location, sink_.buffer());
  sink_.Commit();
  return location.id();
}

uint64_t PprofPlaces::Named(const std::string& name) {
  const auto [at, is_new] = named_.try_emplace(name, last_location_ + 1);
  if (!is_new) return at->second;
  pprof::Location location;
  location.set_id(++last_location_);
  location.add_line()->set_function_id(Function(name, "", "", 0));
  AppendMessage(Profile::kLocationFieldNumber, location, sink_.buffer());
  return location.id();
}

uint64_t PprofPlaces::Mapping(const AddressSpace* space, uint64_t address) {
  const CodeMapping* const mapping = space == nullptr ? nullptr : space->Find(address);
  return mapping == nullptr ? 0 : WriteMapping(*mapping);
}

uint64_t PprofPlaces::WriteMapping(const CodeMapping& mapping) {
  const std::string& file = mapping.section->name();
  const auto [at, is_new] = mappings_.try_emplace({mapping.address, file}, mappings_.size() + 1);
  if (!is_new) return at->second;
  pprof::Mapping written;
  written.set_id(at->second);
  written.set_memory_start(mapping.address);
  written.set_memory_limit(mapping.address + mapping.size);
  written.set_file_offset(mapping.section->file_offset() + mapping.section_offset);
  written.set_filename(Text(ExportedName(session_.RecordedPath(file), 0)));
  written.set_build_id(Text(BuildIdOf(session_, file)));
  written.set_has_functions(true);  // a reader shall not look for names itself
  written.set_has_filenames(true);
  written.set_has_line_numbers(true);
  written.set_has_inline_frames(true);
  AppendMessage(Profile::kMappingFieldNumber, written, sink_.buffer());
  return at->second;
}

uint64_t PprofPlaces::Function(const std::string& name, const std::string& object,
                               std::string_view file, uint32_t first_line) {
  const auto [at, is_new] = function_ids_.try_emplace({name, object}, function_ids_.size() + 1);
  if (!is_new) return at->second;
  pprof::Function function;
  function.set_id(at->second);
  function.set_name(Text(name));
  function.set_system_name(function.name());
  function.set_filename(Text(ExportedName(file, 0)));
  function.set_start_line(first_line);
  AppendMessage(Profile::kFunctionFieldNumber, function, sink_.buffer());
  return at->second;
}

void PprofPlaces::Finish() {
  for (const std::string* const text : text_list_) {
    AppendText(Profile::kStringTableFieldNumber, *text, sink_.buffer());
    sink_.Commit();
  }
}

}  // namespace flowback
