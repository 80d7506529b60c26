// SPDX-License-Identifier: MIT
#include "cli/report/report_sections.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cli/report/analysis_run.h"
#include "cli/report/coverage_part.h"
#include "cli/report/output_lines.h"
#include "cli/report/timeline_part.h"
#include "cli/text/status.h"

namespace flowback::cli {
namespace {

using ReportJson = nlohmann::json;

constexpr size_t kMostText = size_t{64} << 20;

// Cuts an array to its first elements. `left_out` gets the number of the others.
void CutArray(ReportJson& object, const char* key, size_t most, ReportJson& left_out) {
  const auto at = object.find(key);
  if (at == object.end() || !at->is_array()) return;
  const size_t size = at->size();
  left_out[key] = size > most ? size - most : 0;
  if (size > most) at->erase(at->begin() + static_cast<std::ptrdiff_t>(most), at->end());
}

struct ArrayLimit {
  const char* key;
  size_t most;
};

Error UnreadableAnswer(const char* expected) {
  return {ErrorCode::kUnreadable,
          fmt::format("the command's answer cannot be read: it is not {}", expected)};
}

// Reads one JSON object and cuts its arrays. Errors: kUnreadable.
Result<ReportJson> ReadObject(std::FILE* file, std::span<const ArrayLimit> limits) {
  const std::string text = TextOf(file, kMostText + 1);
  if (text.size() > kMostText)
    return Fail(
        Error(ErrorCode::kUnreadable,
              fmt::format("the command's answer is longer than the {} MB that a report reads",
                          kMostText >> 20))
            .Remedy("choose a part of the recording with --time or --tid"));
  ReportJson object = ReportJson::parse(text, nullptr, false);
  if (!object.is_object()) return Fail(UnreadableAnswer("one JSON object"));
  ReportJson left_out = ReportJson::object();
  for (const ArrayLimit& limit : limits) CutArray(object, limit.key, limit.most, left_out);
  object["left_out"] = std::move(left_out);
  return object;
}

Result<ReportJson> ReadInfo(std::FILE* file) {
  static constexpr ArrayLimit kLimits[] = {
      {"threads", 200},       {"streams", 20}, {"images", 100},  {"ends", 20},
      {"thread_counters", 0}, {"nobody", 20},  {"warnings", 50}, {"remedies", 50}};
  Result<ReportJson> info = ReadObject(file, kLimits);
  if (!info) return info;
  for (const char* key : {"packets", "records", "bundle", "counters"}) info->erase(key);
  return info;
}

Result<ReportJson> ReadSpikes(std::FILE* file) {
  static constexpr ArrayLimit kLimits[] = {{"causes", 20}, {"outliers", 10}, {"loops", 10}};
  Result<ReportJson> spikes = ReadObject(file, kLimits);
  if (!spikes) return spikes;
  for (ReportJson& outlier : (*spikes)["outliers"])
    for (const char* key : {"parts", "parting", "nearest", "rest"}) outlier.erase(key);
  return spikes;
}

Result<ReportJson> ReadLocks(std::FILE* file) {
  static constexpr ArrayLimit kLimits[] = {{"sites", 40},     {"threads", 100},   {"worst", 20},
                                           {"open", 20},      {"loops", 0},       {"locks", 0},
                                           {"deadlocks", 20}, {"shared_lines", 0}};
  Result<ReportJson> locks = ReadObject(file, kLimits);
  if (!locks) return locks;
  for (ReportJson& site : (*locks)["sites"])
    for (const char* key : {"threads", "locks", "paths"}) site.erase(key);
  return locks;
}

Result<ReportJson> ReadCrash(std::FILE* file) {
  static constexpr ArrayLimit kLimits[] = {{"threads", 0}};
  Result<ReportJson> crash = ReadObject(file, kLimits);
  if (!crash) return crash;
  for (const char* key : {"core_stack", "operands", "why", "frees", "returned_last"})
    crash->erase(key);
  return crash;
}

Result<ReportJson> ReadText(std::FILE* file) {
  constexpr size_t kMost = size_t{48} << 10;
  std::string text = TextOf(file, kMost + 1);
  const bool is_cut = text.size() > kMost;
  if (is_cut) text.resize(text.rfind('\n', kMost) + 1);
  return ReportJson{{"text", std::move(text)}, {"is_cut", is_cut}};
}

// Returns whether the process of a crash section died or hung.
bool HasDied(const ReportJson& section) {
  const auto data = section.find("data");
  if (data == section.end()) return false;
  if (data->value("hung", false)) return true;
  const std::string kind = data->value("kind", "");
  return kind != "exited" && kind != "still-running" && kind != "ended";
}

Result<ReportJson> ReadTimeline(std::FILE* file) {
  std::optional<ReportJson> timeline = ReadTimelinePage(file, {});
  if (!timeline) return Fail(UnreadableAnswer("a page with a timeline"));
  return *std::move(timeline);
}

Result<ReportJson> ReadCoverageLines(std::FILE* file) {
  std::optional<ReportJson> coverage = ReadCoverage(file, {});
  if (!coverage) return Fail(UnreadableAnswer("lines of JSON with a coverage"));
  return *std::move(coverage);
}

// Returns when the file was written, in seconds since 1970; null if it is not known.
ReportJson DateOf(const std::string& input) {
  struct stat about{};
  if (stat(input.c_str(), &about) != 0) return nullptr;
  return about.st_mtim.tv_sec;
}

ReportJson MessageJson(const AnalysisMessage& message) {
  return {{"text", message.text}, {"remedies", message.remedies}};
}

AnalysisMessage MessageOf(const Error& error) {
  AnalysisMessage message{error.message(), {}};
  if (!error.remedy().empty()) message.remedies.push_back(error.remedy());
  return message;
}

ReportJson MessagesJson(const AnalysisAnswer& answer, const char* name) {
  ReportJson json = ReportJson::array();
  for (const AnalysisMessage& message : answer.messages) json.push_back(MessageJson(message));
  if (answer.left_out_messages > 0)
    json.push_back(
        MessageJson({fmt::format("the report leaves out {} further messages and remedies of {}",
                                 answer.left_out_messages, name),
                     {}}));
  return json;
}

}  // namespace

// One command that a section is made from.
struct ReportSections::Analysis {
  const char* name;                // of the section
  std::vector<std::string> words;  // the command, ahead of its input
  std::vector<std::string> more;   // what stands behind the input
  Result<ReportJson> (*read)(std::FILE*);
  std::vector<std::vector<std::string>>
      shown;  // what stands there in the commands that the page shows
};

std::vector<std::string> ReportSections::Words(const Analysis& analysis,
                                               const std::string& input) const {
  std::vector<std::string> words = analysis.words;
  if (!input.empty()) words.push_back(input);
  words.insert(words.end(), options_.passed.begin(), options_.passed.end());
  words.insert(words.end(), analysis.more.begin(), analysis.more.end());
  return words;
}

Result<ReportJson> ReportSections::Section(const Analysis& analysis, const std::string& input) {
  Result<AnalysisAnswer> answer = RunAnalysis(Words(analysis, input));
  if (!answer) return Fail(answer.error());
  losses_.any_loss = losses_.any_loss || answer->status == kFinishedWithLosses;
  losses_.missing_image = losses_.missing_image || answer->status == kImageIsMissing;
  ReportJson section = {
      {"name", analysis.name}, {"status", answer->status}, {"seconds", answer->seconds}};
  ReportJson commands = ReportJson::array();
  for (const std::vector<std::string>& more : analysis.shown) {
    Analysis shown{analysis.name, analysis.words, more, nullptr, {}};
    commands.push_back(CommandText(Words(shown, input)));
  }
  section["commands"] = std::move(commands);
  if (answer->has_result()) {
    Result<ReportJson> data = analysis.read(answer->output.get());
    if (data)
      section["data"] = *std::move(data);
    else
      section["error"] = MessageJson(MessageOf(data.error()));
  } else {
    section["error"] = MessageJson(answer->WhyNone());
    if (!answer->messages.empty()) answer->messages.pop_back();
  }
  section["messages"] = MessagesJson(*answer, analysis.name);
  return section;
}

std::vector<ReportSections::Analysis> ReportSections::Analyses() const {
  using Words = std::vector<std::string>;
  const Words json = {"--json"};
  const Words region = {options_.function.empty() ? "--auto" : "--function=" + options_.function};
  const auto with = [](Words words, const char* more) {
    words.emplace_back(more);
    return words;
  };
  return {{"info", {"info"}, json, ReadInfo, {{}, json}},
          {"crash", {"crash"}, json, ReadCrash, {{}, json}},
          {"crash text", {"crash"}, {}, ReadText, {{}}},
          {"timeline",
           {"timeline"},
           {"--waits", "--html=-"},
           ReadTimeline,
           {{"--waits"}, with(json, "--waits"), {"--waits", "--html=timeline.html"}}},
          {"spikes",
           {"spikes"},
           with(region, "--json"),
           ReadSpikes,
           {region, with(region, "--json"), with(region, "--html=spikes.html")}},
          {"locks", {"locks"}, json, ReadLocks, {{}, json, {"--html=locks.html"}}},
          {"coverage",
           {"coverage"},
           json,
           ReadCoverageLines,
           {{}, json, {"--format=html", "-o", "coverage.html"}}}};
}

// Samples have no calls that a page could show, but they have a text.
Result<ReportJson> ReportSections::TimelineText(ReportJson page, const std::string& input) {
  Result<ReportJson> text =
      Section({"timeline", {"timeline"}, {}, ReadText, {{}, {"--json"}}}, input);
  if (!text) return Fail(text.error());
  return text->contains("data") ? text : Result<ReportJson>(std::move(page));
}

Result<ReportJson> ReportSections::Of(const std::string& input) {
  const std::vector<Analysis> analyses = Analyses();
  ReportJson sections = ReportJson::array();
  for (size_t i = 0; i < analyses.size(); ++i) {
    const Analysis& analysis = analyses[i];
    if (analysis.read == ReadText && !HasDied(sections.back())) continue;
    if (tell_) tell_(analysis.name, i + 1, analyses.size());
    Result<ReportJson> section = Section(analysis, input);
    if (section && analysis.read == ReadTimeline && section->contains("error"))
      section = TimelineText(*std::move(section), input);
    if (!section) return Fail(section.error());
    sections.push_back(*std::move(section));
  }
  return ReportJson{{"input", input}, {"date", DateOf(input)}, {"sections", std::move(sections)}};
}

}  // namespace flowback::cli
