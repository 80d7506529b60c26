// SPDX-License-Identifier: MIT
// The limits as SARIF 2.1.0, which code hosts show beside the source: a rule for each limit, and a
// result for each one that was missed.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "cli/diff/diff_view.h"
#include "replay/writers/text/json_parts.h"

namespace flowback::cli {
namespace {

// Returns the path as the path of a URI.
std::string UriPath(std::string_view path) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/+";
  std::string uri = path.starts_with('/') ? "file://" : "";
  for (const char each : path) {
    if (kPlain.contains(each))
      uri += each;
    else
      uri += fmt::format("%{:02X}", static_cast<uint8_t>(each));
  }
  return uri;
}

// Returns the place of the one function that the limit names; line 0: there is no such place.
DiffPlace PlaceOf(const DiffLimit& limit, const RunComparison& diff) {
  DiffPlace place;
  if (!limit.function) return place;
  for (const FunctionChange& each : diff.functions) {
    if (each.name.empty() || !limit.function->Matches(each.name)) continue;
    if (place.line != 0) return {};
    place = each.place();
  }
  return place;
}

// Code hosts refuse a result without a place: where the limit has none, it is that of the largest
// change.
DiffPlace PlaceOrLargest(const DiffLimit& limit, const RunComparison& diff) {
  const DiffPlace own = PlaceOf(limit, diff);
  if (own.line != 0) return own;
  for (const FunctionChange& each : diff.functions)
    if (const DiffPlace place = each.place(); place.line != 0) return place;
  return {};
}

// The texts of the limits, each once: two rules of one name are refused.
std::vector<std::string> Rules(const DiffView& view) {
  std::vector<std::string> rules;
  for (const DiffLimit& limit : view.limits)
    if (std::ranges::find(rules, limit.text) == rules.end()) rules.push_back(limit.text);
  return rules;
}

std::string Message(std::string_view text) {
  return JsonObject([&](JsonLine& message) { message.Text("text", text); });
}

std::string Location(const DiffPlace& place) {
  return JsonObject([&](JsonLine& location) {
    location.Raw("physicalLocation", JsonObject([&](JsonLine& physical) {
                   physical.Raw("artifactLocation", JsonObject([&](JsonLine& artifact) {
                                  artifact.Text("uri", UriPath(place.file));
                                }));
                   physical.Raw("region", JsonObject([&](JsonLine& region) {
                                  region.Number("startLine", place.line);
                                }));
                 }));
  });
}

std::string Results(const DiffView& view, const std::vector<std::string>& rules) {
  std::string results = "[";
  for (size_t i = 0; i < view.limits.size(); ++i) {
    if (view.outcomes[i].passed()) continue;
    const DiffLimit& limit = view.limits[i];
    results += results.size() > 1 ? ",\n" : "\n";
    const auto rule = std::ranges::find(rules, limit.text) - rules.begin();
    results += JsonObject([&](JsonLine& result) {
      result.Text("ruleId", limit.text)
          .Number("ruleIndex", static_cast<uint64_t>(rule))
          .Text("level", "error");
      result.Raw("message", Message(limit.text + ": " + OutcomeText(limit, view.outcomes[i])));
      const DiffPlace place = PlaceOrLargest(limit, view.diff);
      if (place.line != 0) result.Raw("locations", "[" + Location(place) + "]");
    });
  }
  return results + "]";
}

}  // namespace

void WriteDiffSarif(const DiffView& view, TextSink& sink) {
  const std::vector<std::string> texts = Rules(view);
  const std::string rules = JsonArray(texts, [](const std::string& text) {
    return JsonObject([&](JsonLine& rule) {
      rule.Text("id", text);
      rule.Raw("shortDescription", Message("`flowback diff --fail-if '" + text + "'`"));
    });
  });
  const std::string run = JsonObject([&](JsonLine& line) {
    line.Raw("tool", JsonObject([&](JsonLine& tool) {
               tool.Raw("driver", JsonObject([&](JsonLine& driver) {
                          driver.Text("name", "flowback diff").Raw("rules", rules);
                        }));
             }));
    line.Raw("results", Results(view, texts));
  });
  sink.buffer() += JsonObject([&](JsonLine& log) {
                     log.Text("$schema", "https://json.schemastore.org/sarif-2.1.0.json");
                     log.Text("version", "2.1.0").Raw("runs", "[" + run + "]");
                   }) +
                   '\n';
  sink.Commit();
}

}  // namespace flowback::cli
