// SPDX-License-Identifier: MIT
#include "cli/locks/saved_locks.h"

#include <fmt/format.h>

#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

namespace flowback::cli {
namespace {

using nlohmann::json;

constexpr std::string_view kSchema = "flowback.locks/1";
constexpr size_t kMostSites = size_t{1} << 18;

Error Unreadable(const std::string& path, std::string_view why) {
  return Error(ErrorCode::kUnreadable, fmt::format("--baseline: {}: {}", path, why))
      .Remedy("a recording, or what `flowback locks --json -o FILE` has written");
}

// Takes the values of the JSON one by one. An array has no key: `sites[]` is the key "sites" and
// the empty one.
class FigureReader final : public nlohmann::json_sax<json> {
 public:
  bool null() override { return true; }
  bool boolean(bool value) override {
    if (depth_ == 1 && keys_[0] == "nanoseconds") figures.nanoseconds = value;
    if (depth_ == 1 && keys_[0] == "has_times") figures.has_times = value;
    return true;
  }
  bool number_integer(number_integer_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool number_unsigned(number_unsigned_t value) override {
    if (depth_ == 2 && keys_[0] == "waits") {
      if (keys_[1] == "life") figures.life = value;
      if (keys_[1] == "waiting") figures.waiting = value;
    }
    if (IsInSite()) SetNumber(figures.sites.back(), value);
    return true;
  }
  bool string(string_t& value) override {
    if (depth_ == 1 && keys_[0] == "schema") schema = value;
    if (IsInSite() && keys_[2] == "function") figures.sites.back().function = value;
    if (IsInSite() && keys_[2] == "caller") figures.sites.back().caller = value;
    return true;
  }
  bool start_object(std::size_t) override {
    if (depth_ == 1 && keys_[0] == "waits") has_waits = true;
    if (depth_ == 2 && is_sites_) {
      if (figures.sites.size() == kMostSites) return false;
      figures.sites.emplace_back();
    }
    return Enter();
  }
  bool start_array(std::size_t) override {
    if (depth_ == 1) is_sites_ = keys_[0] == "sites";
    if (depth_ == 1 && is_sites_) has_sites = true;
    return Enter();
  }
  bool key(string_t& name) override {
    if (depth_ - 1 < kDepths) keys_[depth_ - 1] = name;
    return true;
  }
  bool end_object() override { return Leave(); }
  bool end_array() override {
    if (depth_ == 2) is_sites_ = false;
    return Leave();
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

  LockFigures figures;
  std::string schema;
  bool has_waits = false;
  bool has_sites = false;

 private:
  static constexpr size_t kDepths = 3;

  bool IsInSite() const { return depth_ == 3 && is_sites_ && !figures.sites.empty(); }
  bool Enter() {
    if (depth_ < kDepths) keys_[depth_].clear();
    ++depth_;
    return true;
  }
  bool Leave() {
    --depth_;
    return true;
  }
  void SetNumber(LockFigure& site, uint64_t value) {
    if (keys_[2] == "waits") site.waits = value;
    if (keys_[2] == "trips") site.trips = value;
    if (keys_[2] == "waiting") site.waiting = value;
    if (keys_[2] == "acquisitions") site.acquisitions = value;
  }

  size_t depth_ = 0;
  bool is_sites_ = false;  // within the array of that name
  std::string keys_[kDepths];
};

}  // namespace

bool LooksLikeLocks(const std::string& path) {
  constexpr size_t kHead = 4096;
  std::string head(kHead, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<size_t>(file.gcount()));
  return head.starts_with('{') && head.contains("\"flowback.locks/");
}

Result<LockFigures> ReadSavedLocks(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  FigureReader reader;
  const bool is_whole = json::sax_parse(file, &reader);
  if (!reader.schema.empty() && reader.schema != kSchema)
    return Fail(Unreadable(
        path, fmt::format("its schema is not {}: another version has written it", kSchema)));
  if (reader.figures.sites.size() == kMostSites)
    return Fail(Unreadable(path, fmt::format("it has {} sites or more", kMostSites)));
  if (!is_whole) return Fail(Unreadable(path, "the JSON is cut or damaged"));
  if (!reader.has_waits || !reader.has_sites)
    return Fail(Unreadable(path, "it has no sums of waits"));
  reader.figures.input = path;
  return std::move(reader.figures);
}

}  // namespace flowback::cli
