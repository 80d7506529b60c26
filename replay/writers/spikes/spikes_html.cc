// SPDX-License-Identifier: MIT
// `spikes --html`: the page's data.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "replay/writers/page/page_parts.h"
#include "replay/writers/spikes/page_instances.h"
#include "replay/writers/spikes/page_paths.h"
#include "replay/writers/spikes/page_source.h"
#include "replay/writers/spikes/spikes_view.h"
#include "replay/writers/text/printable.h"
#include "replay/writers/timeline/timeline_view.h"
#include "replay/writers/writers.h"

namespace flowback {

extern const std::string_view kSpikesStyle;  // the files in page/
extern const std::string_view kSpikesBody;
extern const std::string_view kSpikesNumbersScript;
extern const std::string_view kSpikesBarsScript;
extern const std::string_view kSpikesStripScript;
extern const std::string_view kSpikesPathsScript;
extern const std::string_view kSpikesFlameScript;
extern const std::string_view kSpikesTreesScript;
extern const std::string_view kSpikesBranchScript;
extern const std::string_view kSpikesScript;

namespace {

constexpr size_t kMostNameColumns = 500;
constexpr size_t kMostExcerpts = 4;  // of causes: those that the sentences name

// Texts that stand in the page once, and are referred to by number.
class Texts {
 public:
  size_t NumberOf(const std::string& text) {
    const auto [at, is_new] = numbers_.try_emplace(text, all_.size());
    if (is_new) all_.push_back(text);
    return at->second;
  }
  const std::vector<std::string>& all() const { return all_; }

 private:
  std::map<std::string, size_t> numbers_;
  std::vector<std::string> all_;
};

class PageWriter {
 public:
  PageWriter(const SpikesView& view, TextSink& sink)
      : view_(view), report_(*view.report), sink_(sink), sources_("") {}

  void Write() {
    WritePage({.title = "flowback spikes",
               .styles = {kCommonStyle, kListingStyle, kFiguresStyle, kTipStyle, kSpikesStyle},
               .scripts = {kThemeScript, kNumbersScript, kTipScript, kSearchScript, kFiguresScript,
                           kZoomScript, kFlameScript, kSpikesNumbersScript, kSpikesBarsScript,
                           kSpikesStripScript, kSpikesPathsScript, kSpikesFlameScript,
                           kSpikesTreesScript, kSpikesBranchScript, kSpikesScript},
               .write_body = [&] { sink_.Write(kSpikesBody); },
               .write_data = [&] { WriteData(); }},
              sink_);
  }

 private:
  std::string& out() { return sink_.buffer(); }

  template <class Item>
  void Array(std::string_view key, size_t count, Item item) {
    WriteArray(key, count, sink_, item);
  }
  template <class Item>
  void NextArray(std::string_view key, size_t count, Item item) {
    out() += ",\n";
    Array(key, count, item);
  }
  static std::string Quoted(std::string_view text) {
    return QuotedInScript(NameWords(text, kMostNameColumns));
  }

  void WriteData();
  void WriteInstances(const PageInstances& page);
  void WriteBars(const PageInstances& page);
  void WritePaths();
  void WriteExplained();
  void WriteTexts();
  std::string CostsText(const std::vector<PathCost>& costs) const;
  std::string SumsText(const PagePath& path, const GroupSums& sums, const PathCost& cost) const;
  size_t SiteOf(const InstancePath& node);
  std::string BranchText(const Outlier& outlier);
  std::string WayText(std::string_view who, uint32_t edge) const;
  std::string ExcerptText(const CodeWords& place);

  const SpikesView& view_;
  const SpikeReport& report_;
  TextSink& sink_;
  SourceReader sources_;
  PagePaths paths_;
  Texts names_;
  Texts full_names_;
  Texts sites_;
  std::vector<std::string> site_lines_;  // the source's text, by the site's number
};

void PageWriter::WriteData() {
  const PageInstances page = ChooseInstances(view_);
  out() += fmt::format("{{\"title\":{},\"report\":{},\n", Quoted(view_.input),
                       JsonInScript(SpikesJson(view_)));
  out() += fmt::format(
      "\"calls\":{},\"has_times\":{},\"begin\":{},\"length\":{},\"all\":{},\"columns\":{},"
      "\"levels\":{},\"slow_"
      "kept\":{},\n",
      view_.is_function, report_.has_times, page.begin, page.length, report_.instances.size(),
      page.columns, PageLimits{}.levels, PageLimits{}.slow);
  Array("rows", page.rows.size(), [&](size_t i) {
    return fmt::format("{{\"name\":{},\"instances\":{}}}", QuotedInScript(page.rows[i].name),
                       page.rows[i].instances);
  });
  WriteInstances(page);
  WriteBars(page);
  WritePaths();
  WriteExplained();
  WriteTexts();
  out() += "}\n";
}

void PageWriter::WriteInstances(const PageInstances& page) {
  const auto& shown = page.shown;
  bool is_first = true;
  const auto column = [&](std::string_view key, auto value) {
    if (!std::exchange(is_first, false)) out() += ",\n";
    Array(key, shown.size(), [&](size_t i) {
      return fmt::format("{}", value(shown[i], report_.instances[shown[i].number]));
    });
  };
  using Shown = PageInstance;
  out() += ",\n\"instances\":{";
  column("number", [](const Shown& at, const Instance&) { return at.number; });
  column("row", [](const Shown& at, const Instance&) { return at.row; });
  column("stands", [](const Shown& at, const Instance&) { return at.stands_for; });
  column("tid", [](const Shown&, const Instance& is) { return is.tid; });
  column("place",
         [&](const Shown&, const Instance& is) { return StripPlace(report_, is) - page.begin; });
  column("measure",
         [&](const Shown&, const Instance& is) { return MeasureOf(is, report_.measure); });
  column("time", [](const Shown&, const Instance& is) { return is.time(); });
  column("instructions", [](const Shown&, const Instance& is) { return is.instructions; });
  column("state", [](const Shown&, const Instance& is) { return static_cast<int>(is.state); });
  column("group",
         [&](const Shown&, const Instance& is) { return static_cast<int>(report_.GroupOf(is)); });
  column("lost", [](const Shown&, const Instance& is) { return is.lost_bytes; });
  column("times", [](const Shown&, const Instance& is) {
    return fmt::format("{}", fmt::join(is.times, ","));
  });
  out() += '}';
}

void PageWriter::WriteBars(const PageInstances& page) {
  const auto& bars = page.bars;
  out() += ",\n\"bars\":{";
  Array("normal", bars.size(), [&](size_t i) { return fmt::format("{}", bars[i].normal); });
  out() += ',';
  Array("slow", bars.size(), [&](size_t i) { return fmt::format("{}", bars[i].slow); });
  out() += ',';
  Array("largest", bars.size(), [&](size_t i) { return fmt::format("{}", bars[i].largest); });
  out() += '}';
}

// Returns the number of the words for the place of a call; 0: it is not known.
size_t PageWriter::SiteOf(const InstancePath& node) {
  if (sites_.all().empty()) {
    sites_.NumberOf({});
    site_lines_.emplace_back();
  }
  if (node.site == 0 || node.space == nullptr) return 0;
  const CodeWords words = WordsOf(view_, node.space, node.site);
  const size_t number = sites_.NumberOf(words.Full());
  if (number == site_lines_.size())
    site_lines_.push_back(
        words.has_line() ? PrintableSource(view_.lines->Text(words.file, words.line)) : "");
  return number;
}

// How many instances have the path is not known of several together.
std::string PageWriter::SumsText(const PagePath& path, const GroupSums& sums,
                                 const PathCost& cost) const {
  return fmt::format("{},{},{},{},{}", path.is_rest ? 0 : sums.Path(path.node).instances,
                     cost.entries, cost.instructions, cost.cycles, fmt::join(cost.times, ","));
}

void PageWriter::WritePaths() {
  paths_ = ChoosePaths(report_);
  const std::vector<PagePath>& paths = paths_.paths;
  const std::vector<InstancePath>& nodes = report_.paths.nodes();
  out() += ",\n\"paths\":{";
  Array("parent", paths.size(), [&](size_t i) { return std::to_string(paths[i].parent); });
  NextArray("name", paths.size(), [&](size_t i) {
    return std::to_string(
        names_.NumberOf(paths[i].is_rest ? "smaller paths" : PathName(view_, paths[i].node)));
  });
  NextArray("full", paths.size(), [&](size_t i) {
    const InstancePath& node = nodes[paths[i].node];
    const bool is_call = !paths[i].is_rest && node.kind == PathKind::kCall;
    return std::to_string(full_names_.NumberOf(
        is_call ? NameWords(report_.functions[node.function].name, kMostNameColumns)
                : std::string()));
  });
  NextArray("site", paths.size(), [&](size_t i) {
    return std::to_string(paths[i].is_rest ? 0 : SiteOf(nodes[paths[i].node]));
  });
  for (const auto& [name, group] :
       {std::pair("slow", &report_.slow_sums), std::pair("normal", &report_.normal_sums)}) {
    const std::vector<PathCost> costs = paths_.Sum(CostsByNode(report_, *group));
    NextArray(name, paths.size(),
              [&, sums = group](size_t i) { return SumsText(paths[i], *sums, costs[i]); });
  }
  out() += '}';
}

// [path, entries, instructions, cycles, the time of each class] of each path with a cost.
std::string PageWriter::CostsText(const std::vector<PathCost>& costs) const {
  std::string text = "[";
  for (size_t i = 0; i < costs.size(); ++i) {
    if (costs[i].entries == 0 && costs[i].instructions == 0 && costs[i].time() == 0) continue;
    text += fmt::format("{}[{},{},{},{},{}]", text.size() == 1 ? "" : ",", i, costs[i].entries,
                        costs[i].instructions, costs[i].cycles, fmt::join(costs[i].times, ","));
  }
  return text + ']';
}

void PageWriter::WriteExplained() {
  if (report_.normal != 0 && !report_.median_costs.empty())
    out() += fmt::format(",\n\"median\":{{\"instance\":{},\"costs\":{}}}", report_.median,
                         CostsText(paths_.Sum(CostsByNode(report_, report_.median_costs))));
  const std::vector<Cause>& causes = report_.causes.parts;
  NextArray("causes", std::min(causes.size(), kMostExcerpts),
            [&](size_t i) { return "\n" + ExcerptText(CauseWords(view_, causes[i])); });
  const size_t trees = std::min(report_.outliers.size(), PagePaths::kMostTrees);
  NextArray("explained", trees, [&](size_t i) {
    const Outlier& outlier = report_.outliers[i];
    return fmt::format("\n{{\"branch\":{},\"costs\":{}}}", BranchText(outlier),
                       CostsText(paths_.Sum(CostsByNode(report_, outlier.costs))));
  });
}

// Where an instance went: `who` is "slow" or "normal".
std::string PageWriter::WayText(std::string_view who, uint32_t edge) const {
  if (edge == BranchTable::kNoEdge) return fmt::format("{{\"who\":\"{}\",\"ended\":true}}", who);
  const BranchWay& way = report_.branches.edges()[edge];
  const CodeWords from = WordsOf(view_, way.space, way.address);
  const CodeWords to = WordsOf(view_, way.space, way.target);
  return fmt::format(
      "{{\"who\":\"{}\",\"at\":{},\"target\":{},\"file\":{},\"line\":{},\"slow\":{},\"normal\":{}}"
      "}",
      who, QuotedInScript(from.Full()), QuotedInScript(to.Full()), QuotedInScript(to.file), to.line,
      report_.slow_sums.Branch(edge).instances, report_.normal_sums.Branch(edge).instances);
}

std::string PageWriter::BranchText(const Outlier& outlier) {
  const Parting& parting = outlier.parting;
  if (parting.is_cut) return "null";
  const uint32_t edge = parting.edge != BranchTable::kNoEdge ? parting.edge : parting.other;
  const BranchWay& way = report_.branches.edges()[edge];
  const CodeWords place = WordsOf(view_, way.space, way.address);
  return fmt::format("{{\"after\":{},\"place\":{},\"ways\":[{},{}],\"source\":{}}}", parting.after,
                     QuotedInScript(place.Full()), WayText("slow", parting.edge),
                     WayText("normal", parting.other), ExcerptText(place));
}

std::string PageWriter::ExcerptText(const CodeWords& place) {
  const SourceExcerpt excerpt = ExcerptAt(*view_.lines, sources_, place);
  std::string lines;
  for (const std::string& line : excerpt.lines)
    lines += (lines.empty() ? "" : ",") + QuotedInScript(line);
  return fmt::format("{{\"file\":{},\"line\":{},\"first\":{},\"lines\":[{}],\"note\":{}}}",
                     QuotedInScript(excerpt.file), excerpt.line, excerpt.first, lines,
                     QuotedInScript(excerpt.note));
}

void PageWriter::WriteTexts() {
  const auto texts = [&](std::string_view key, const std::vector<std::string>& all) {
    NextArray(key, all.size(), [&](size_t i) { return QuotedInScript(all[i]); });
  };
  texts("names", names_.all());
  texts("full", full_names_.all());
  texts("sites", sites_.all());
  texts("lines", site_lines_);
}

}  // namespace

void WriteSpikesHtml(const SpikesView& view, TextSink& sink) { PageWriter(view, sink).Write(); }

}  // namespace flowback
