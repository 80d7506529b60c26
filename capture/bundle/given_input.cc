// SPDX-License-Identifier: MIT
#include "capture/bundle/given_input.h"

#include <limits>
#include <nlohmann/json.hpp>

#include "capture/formats/input/json_document.h"

namespace flowback::bundle {
namespace {

using Json = nlohmann::ordered_json;

const std::vector<JsonValue>& Items(const JsonValue& object, std::string_view key) {
  static const std::vector<JsonValue> none;
  const JsonValue* const value = object.Find(key);
  return value != nullptr && value->kind == JsonValue::Kind::kArray ? value->items : none;
}

std::vector<std::string> Texts(const JsonValue& object, std::string_view key) {
  std::vector<std::string> texts;
  for (const JsonValue& item : Items(object, key)) texts.push_back(item.text);
  return texts;
}

// Empty: it is no number, or one that does not fit.
template <class Number>
std::optional<Number> NumberIn(const JsonValue& value) {
  const bool fits = value.kind == JsonValue::Kind::kInteger && !value.negative &&
                    value.number <= std::numeric_limits<Number>::max();
  return fits ? std::optional(static_cast<Number>(value.number)) : std::nullopt;
}
template <class Number>
std::optional<Number> NumberAt(const JsonValue& object, std::string_view key) {
  const JsonValue* const value = object.Find(key);
  return value == nullptr ? std::nullopt : NumberIn<Number>(*value);
}
std::string TextAt(const JsonValue& object, std::string_view key) {
  const JsonValue* const value = object.Find(key);
  return value == nullptr ? std::string() : value->text;
}
bool IsTrueAt(const JsonValue& object, std::string_view key) {
  const JsonValue* const value = object.Find(key);
  return value != nullptr && value->kind == JsonValue::Kind::kBoolean && value->number == 1;
}

Json SectionJson(const SectionSpec& section) {
  return {{"file", section.file},
          {"offset", section.offset},
          {"size", section.size},
          {"address", section.address}};
}

Json ImageJson(const ImageSpec& image) {
  Json json = {{"file", image.file}};
  if (image.load_address) json["load_address"] = *image.load_address;
  return json;
}

Json FilterJson(const TraceFilter& filter) {
  Json ranges = Json::array();
  for (const AddressRange& range : filter.ranges)
    ranges.push_back({{"begin", range.begin}, {"end", range.end}});
  return {{"set", filter.set}, {"ranges", std::move(ranges)}};
}

void AddCode(const OpenOptions& given, Json& json) {
  for (const SectionSpec& section : given.sections)
    json["sections"].push_back(SectionJson(section));
  for (const ImageSpec& image : given.images) json["images"].push_back(ImageJson(image));
}

void ParseCode(const JsonValue& json, OpenOptions& given) {
  for (const JsonValue& item : Items(json, "sections"))
    given.sections.push_back({.file = TextAt(item, "file"),
                              .offset = NumberAt<uint64_t>(item, "offset").value_or(0),
                              .size = NumberAt<uint64_t>(item, "size").value_or(0),
                              .address = NumberAt<uint64_t>(item, "address").value_or(0)});
  for (const JsonValue& item : Items(json, "images"))
    given.images.push_back(
        {.file = TextAt(item, "file"), .load_address = NumberAt<uint64_t>(item, "load_address")});
}

void ParseProcessor(const JsonValue& json, OpenOptions& given) {
  if (const JsonValue* cpu = json.Find("cpu"))
    given.cpu = CpuId{.intel = IsTrueAt(*cpu, "intel"),
                      .family = NumberAt<uint16_t>(*cpu, "family").value_or(0),
                      .model = NumberAt<uint8_t>(*cpu, "model").value_or(0),
                      .stepping = NumberAt<uint8_t>(*cpu, "stepping").value_or(0)};
  given.tsc_ctc_numerator = NumberAt<uint32_t>(json, "tsc_ctc_numerator").value_or(0);
  given.tsc_ctc_denominator = NumberAt<uint32_t>(json, "tsc_ctc_denominator").value_or(0);
  given.mtc_shift = NumberAt<uint8_t>(json, "mtc_freq");
  given.nominal_ratio = NumberAt<uint32_t>(json, "nominal_freq").value_or(0);
  if (const JsonValue* time = json.Find("time_conv"))
    given.time_conversion = TimeConversion{.shift = NumberAt<uint16_t>(*time, "shift").value_or(0),
                                           .mult = NumberAt<uint32_t>(*time, "mult").value_or(0),
                                           .zero = NumberAt<uint64_t>(*time, "zero").value_or(0)};
}

void ParseFilter(const JsonValue& json, OpenOptions& given) {
  const JsonValue* const filter = json.Find("filter");
  if (filter == nullptr) return;
  given.filter.emplace();
  given.filter->set = IsTrueAt(*filter, "set");
  for (const JsonValue& range : Items(*filter, "ranges"))
    given.filter->ranges.push_back({.begin = NumberAt<uint64_t>(range, "begin").value_or(0),
                                    .end = NumberAt<uint64_t>(range, "end").value_or(0)});
}

}  // namespace

bool HasGiven(const OpenOptions& given) { return GivenJson(given) != Json::object(); }

std::vector<std::string> FilesOf(const OpenOptions& given) {
  std::vector<std::string> files = given.raw_pt;
  files.insert(files.end(), given.pevent.begin(), given.pevent.end());
  for (const SectionSpec& section : given.sections) files.push_back(section.file);
  for (const ImageSpec& image : given.images) files.push_back(image.file);
  return files;
}

void AddGiven(const OpenOptions& given, OpenOptions& options) {
  const auto take = [](const auto& from, auto& to, bool is_absent) {
    if (is_absent) to = from;
  };
  take(given.raw_pt, options.raw_pt, options.raw_pt.empty());
  take(given.pevent, options.pevent, options.pevent.empty());
  take(given.sample_type, options.sample_type, !options.sample_type);
  options.sections.insert(options.sections.begin(), given.sections.begin(), given.sections.end());
  options.images.insert(options.images.begin(), given.images.begin(), given.images.end());
  take(given.cpu, options.cpu, !options.cpu);
  const bool has_ratio = options.tsc_ctc_denominator != 0;
  take(given.tsc_ctc_numerator, options.tsc_ctc_numerator, !has_ratio);
  take(given.tsc_ctc_denominator, options.tsc_ctc_denominator, !has_ratio);
  take(given.mtc_shift, options.mtc_shift, !options.mtc_shift);
  take(given.nominal_ratio, options.nominal_ratio, options.nominal_ratio == 0);
  take(given.time_conversion, options.time_conversion, !options.time_conversion);
  take(given.filter, options.filter, !options.filter);
}

Json GivenJson(const OpenOptions& given) {
  Json json = Json::object();
  if (!given.raw_pt.empty()) json["raw_pt"] = given.raw_pt;
  if (!given.pevent.empty()) json["pevent"] = given.pevent;
  if (given.sample_type) json["sample_type"] = *given.sample_type;
  AddCode(given, json);
  if (given.cpu)
    json["cpu"] = {{"intel", given.cpu->intel},
                   {"family", given.cpu->family},
                   {"model", given.cpu->model},
                   {"stepping", given.cpu->stepping}};
  if (given.tsc_ctc_denominator != 0) {
    json["tsc_ctc_numerator"] = given.tsc_ctc_numerator;
    json["tsc_ctc_denominator"] = given.tsc_ctc_denominator;
  }
  if (given.mtc_shift) json["mtc_freq"] = *given.mtc_shift;
  if (given.nominal_ratio != 0) json["nominal_freq"] = given.nominal_ratio;
  if (given.time_conversion)
    json["time_conv"] = {{"shift", given.time_conversion->shift},
                         {"mult", given.time_conversion->mult},
                         {"zero", given.time_conversion->zero}};
  if (given.filter) json["filter"] = FilterJson(*given.filter);
  return json;
}

OpenOptions ParseGiven(const JsonValue& json) {
  OpenOptions given;
  given.raw_pt = Texts(json, "raw_pt");
  given.pevent = Texts(json, "pevent");
  given.sample_type = NumberAt<uint64_t>(json, "sample_type");
  ParseCode(json, given);
  ParseProcessor(json, given);
  ParseFilter(json, given);
  return given;
}

}  // namespace flowback::bundle
