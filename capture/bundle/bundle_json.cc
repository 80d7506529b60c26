// SPDX-License-Identifier: MIT
#include "capture/bundle/bundle_json.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "capture/bundle/given_input.h"
#include "capture/formats/input/json_document.h"

namespace flowback::bundle {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kSchema = "flowback.bundle/1";
constexpr const char* kIndexSchema = "flowback.bundle-index/1";

// Paths are bytes, and JSON is text.
std::string Dump(const Json& json) {
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Error NotUsable(const std::string& path, std::string_view member, const std::string& problem) {
  return Error(ErrorCode::kUnreadable, path + ": its " + std::string(member) + " " + problem)
      .Remedy("pack the recording again with this version: flowback pack");
}

std::string TextOf(const JsonValue& object, std::string_view key) {
  const JsonValue* const value = object.Find(key);
  return value != nullptr && value->kind == JsonValue::Kind::kString ? value->text : "";
}

uint64_t NumberOf(const JsonValue& object, std::string_view key) {
  const JsonValue* const value = object.Find(key);
  const bool is_number =
      value != nullptr && value->kind == JsonValue::Kind::kInteger && !value->negative;
  return is_number ? value->number : 0;
}

bool IsTrue(const JsonValue& object, std::string_view key) {
  const JsonValue* const value = object.Find(key);
  return value != nullptr && value->kind == JsonValue::Kind::kBoolean && value->number == 1;
}

const std::vector<JsonValue>& ItemsOf(const JsonValue& object, std::string_view key) {
  static const std::vector<JsonValue> none;
  const JsonValue* const value = object.Find(key);
  return value != nullptr && value->kind == JsonValue::Kind::kArray ? value->items : none;
}

Result<JsonValue> Parse(Bytes text, const std::string& path, std::string_view member,
                        const char* schema) {
  Result<JsonValue> json = ParseJson(text, path + ", " + std::string(member));
  if (!json) return json;
  if (TextOf(*json, "schema") == schema) return json;
  return Fail(NotUsable(path, member, "is not of the version that this program reads"));
}

}  // namespace

std::string ManifestJson(const Manifest& manifest) {
  Json json = {{"schema", kSchema},       {"made_by", manifest.made_by},
               {"input", manifest.input}, {"recording", manifest.recording},
               {"cores", manifest.cores}, {"redacted", manifest.redacted}};
  if (!manifest.kallsyms.empty()) json["kallsyms"] = manifest.kallsyms;
  if (!manifest.kcore.empty()) json["kcore"] = manifest.kcore;
  if (HasGiven(manifest.given)) json["given"] = GivenJson(manifest.given);
  return Dump(json);
}

std::string IndexJson(const std::vector<IndexedMember>& members) {
  Json list = Json::array();
  for (const IndexedMember& member : members)
    list.push_back({{"name", member.name},
                    {"size", member.size},
                    {"packed_offset", member.packed_offset},
                    {"tar_offset", member.tar_offset}});
  return Dump({{"schema", kIndexSchema}, {"members", std::move(list)}});
}

Result<Manifest> ParseManifest(Bytes text, const std::string& path) {
  const Result<JsonValue> json = Parse(text, path, kManifest, kSchema);
  if (!json) return Fail(json.error());
  Manifest manifest{.made_by = TextOf(*json, "made_by"),
                    .input = TextOf(*json, "input"),
                    .recording = TextOf(*json, "recording"),
                    .cores = {},
                    .redacted = IsTrue(*json, "redacted"),
                    .kallsyms = TextOf(*json, "kallsyms"),
                    .kcore = TextOf(*json, "kcore"),
                    .given = {}};
  if (const JsonValue* given = json->Find("given")) manifest.given = ParseGiven(*given);
  for (const JsonValue& core : ItemsOf(*json, "cores")) manifest.cores.push_back(core.text);
  std::vector<std::string> named = manifest.cores;
  for (const std::string& name : {manifest.kallsyms, manifest.kcore})
    if (!name.empty()) named.push_back(name);
  for (const std::string& file : FilesOf(manifest.given)) named.push_back(file);
  named.push_back(manifest.recording);
  for (const std::string& name : named)
    if (!IsMemberName(name))
      return Fail(NotUsable(path, kManifest, "names '" + name + "', which no member may be named"));
  return manifest;
}

Result<std::vector<IndexedMember>> ParseIndex(Bytes text, const std::string& path) {
  const Result<JsonValue> json = Parse(text, path, kIndex, kIndexSchema);
  if (!json) return Fail(json.error());
  std::vector<IndexedMember> members;
  for (const JsonValue& item : ItemsOf(*json, "members")) {
    IndexedMember& member = members.emplace_back();
    member.name = TextOf(item, "name");
    member.size = NumberOf(item, "size");
    member.packed_offset = NumberOf(item, "packed_offset");
    member.tar_offset = NumberOf(item, "tar_offset");
  }
  return members;
}

}  // namespace flowback::bundle
