// SPDX-License-Identifier: MIT
#include "cli/listing/source_columns.h"

#include "replay/writers/text/printable.h"

namespace flowback::cli {
namespace {

void AppendPlace(std::string& out, const SourceFrame& frame) {
  if (frame.file.empty()) {
    out += '-';
    return;
  }
  AppendPrintable(out, frame.file.substr(frame.file.rfind('/') + 1));
  out += ':';
  out += frame.line == 0 ? "?" : std::to_string(frame.line);
}

void AppendJsonPlace(std::string& out, const SourceFrame& frame) {
  if (frame.file.empty())
    out += "null";
  else
    AppendJsonString(out, frame.file);
}

}  // namespace

SourcePlace SourceColumns::At(const AddressSpace* space, uint64_t ip) const {
  if (space == nullptr) return {.begin = ip, .end = ip + 1, .frames = {}, .scope = 0};
  return settings_.names.lines->Find(*space, ip);
}

void SourceColumns::AppendShort(std::string& out, const SourcePlace& place) {
  AppendPlace(out, place.frames.empty() ? SourceFrame() : place.frames.front());
}

void SourceColumns::AppendChain(std::string& out, const SourcePlace& place) {
  AppendShort(out, place);
  for (size_t i = 1; i < place.frames.size(); ++i) {
    out += " (inlined by ";
    AppendPrintable(out, place.frames[i].function.empty() ? "[unknown]" : place.frames[i].function);
    out += " at ";
    AppendPlace(out, place.frames[i]);
    out += ')';
  }
}

void SourceColumns::AppendLine(JsonLine& line, const SourcePlace& place) {
  if (place.known())
    line.Text("file", place.frames.front().file);
  else
    line.Null("file");
  if (place.known() && place.frames.front().line != 0)
    line.Number("line", place.frames.front().line);
  else
    line.Null("line");
  std::string inlined = "[";
  for (size_t i = 0; i + 1 < place.frames.size(); ++i) {
    inlined += i == 0 ? "{\"function\":" : ",{\"function\":";
    AppendJsonString(inlined, place.frames[i].function);
    inlined += ",\"call_file\":";
    AppendJsonPlace(inlined, place.frames[i + 1]);
    inlined += ",\"call_line\":" + std::to_string(place.frames[i + 1].line) + '}';
  }
  line.Raw("inlined", inlined + ']');
}

std::string_view SourceColumns::TextOf(const SourcePlace& place) const {
  if (!place.known()) return {};
  return settings_.names.lines->Text(place.frames.front().file, place.frames.front().line);
}

void SourceColumns::AppendText(std::string& out, const SourcePlace& place) const {
  const std::string_view text = TextOf(place);
  out += text.empty() ? "-" : PrintableSource(text);
}

void SourceColumns::AppendText(JsonLine& line, const SourcePlace& place) const {
  line.TextOrNull("source", TextOf(place));
}

}  // namespace flowback::cli
