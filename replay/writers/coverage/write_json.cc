// SPDX-License-Identifier: MIT
// `coverage --format json`: one line with the sums, then one for each object, function, branch and
// source line, so that a reader of lines can take what it wants.
#include <fmt/format.h>

#include <string>

#include "flowback/writers.h"
#include "replay/coverage/report/by_source.h"
#include "replay/coverage/report/coverage_changes.h"
#include "replay/coverage/report/report_lists.h"
#include "replay/writers/coverage/coverage_words.h"
#include "replay/writers/text/json.h"
#include "replay/writers/writers.h"

namespace flowback {
namespace {

std::string_view StateWord(Executed state) {
  switch (state) {
    case Executed::kNo:
      return "no";
    case Executed::kYes:
      return "yes";
    case Executed::kUnknown:
      break;
  }
  return "unknown";
}

std::string ShareJson(const CoverageShare& share) {
  return fmt::format("{{\"total\":{},\"executed\":{},\"unknown\":{}}}", share.total, share.executed,
                     share.unknown);
}

void AddShares(JsonLine& line, const CoverageShares& shares) {
  line.Raw("functions", ShareJson(shares.functions))
      .Raw("blocks", ShareJson(shares.blocks))
      .Raw("branches", ShareJson(shares.branches))
      .Raw("instructions", ShareJson(shares.instructions))
      .Raw("lines", ShareJson(shares.lines));
}

class JsonWriter {
 public:
  JsonWriter(const CoverageView& view, TextSink& sink)
      : view_(view), report_(view.report), sink_(sink) {}

  void Write() {
    JsonLine head(sink_.buffer());
    head.Text("schema", "flowback.coverage/1").Text("type", "coverage");
    head.Number("recordings", view_.counts.recordings);
    head.Bool("emulated", view_.counts.emulated);
    head.Number("executed_instructions", view_.counts.instructions);
    AddShares(head, report_.shares);
    const ObjectCoverage* const main = MainObject(report_);
    if (main == nullptr)
      head.Null("main");
    else
      head.Text("main", main->counts->id.path);
    head.Raw("sentences", SentencesJson());
    head.End();
    for (const ObjectCoverage& object : report_.objects) WriteObject(object);
    for (const CoveredFile& file : BySource(report_)) WriteFile(file);
    if (view_.changes == nullptr) return;
    WriteChanges("newly_executed", view_.changes->newly_executed);
    WriteChanges("no_longer_executed", view_.changes->no_longer_executed);
  }

 private:
  std::string SentencesJson() const {
    std::string json;
    for (const std::string& sentence : CoverageSentences(view_)) {
      json += json.empty() ? '[' : ',';
      AppendJsonString(json, sentence);
    }
    return json + "]";
  }

  void WriteObject(const ObjectCoverage& object) {
    JsonLine line(sink_.buffer());
    const ObjectId& id = object.counts->id;
    line.Text("type", "object").Text("object", id.path);
    if (id.build_id.empty())
      line.Null("build_id");
    else
      line.Text("build_id", id.build_id.ToHex());
    line.Bool("made_at_run_time", id.made_at_run_time);
    if (object.problem.empty())
      line.Null("problem");
    else
      line.Text("problem", object.problem);
    AddShares(line, object.shares);
    line.Number("outside_instructions", object.outside_instructions);
    std::string losses = "{";
    for (const auto& [cause, count] : object.counts->losses) {
      if (losses.size() > 1) losses += ',';
      AppendJsonString(losses, cause);
      losses += fmt::format(":{}", count);
    }
    line.Raw("losses", losses + "}").End();
    for (const FunctionCoverage& function : object.functions) WriteFunction(object, function);
    for (const BranchCoverage& branch : object.branches) WriteBranch(object, branch);
    sink_.Commit();
  }

  void AddPlace(JsonLine& line, const SourceLine& at) {
    if (at.line == 0) {
      line.Null("file").Null("line");
    } else {
      line.Text("file", report_.files[at.file]).Number("line", at.line);
    }
  }

  void WriteFunction(const ObjectCoverage& object, const FunctionCoverage& function) {
    const StaticFunction& code = object.Code(function);
    JsonLine line(sink_.buffer());
    line.Text("type", "function").Text("object", object.counts->id.path);
    line.Text("function", code.name).Hex("address", code.begin).Number("bytes", code.code_bytes);
    line.Number("uncertain_bytes", code.uncertain_bytes);
    AddPlace(line, function.at);
    line.Text("executed", StateWord(function.state)).Number("entries", function.entries);
    AddShares(line, function.shares);
    line.End();
    sink_.Commit();
  }

  void WriteBranch(const ObjectCoverage& object, const BranchCoverage& branch) {
    JsonLine line(sink_.buffer());
    line.Text("type", "branch").Text("object", object.counts->id.path);
    line.Hex("address", branch.address).Hex("target", branch.target);
    AddPlace(line, branch.at);
    line.Number("taken", branch.taken).Number("not_taken", branch.not_taken).End();
    sink_.Commit();
  }

  void WriteChanges(std::string_view type, const std::vector<CoverageChange>& changes) {
    for (const CoverageChange& change : changes) {
      JsonLine line(sink_.buffer());
      line.Text("type", type).Text("object", change.object).Text("function", change.function);
      line.Number("bytes", change.bytes).End();
      sink_.Commit();
    }
  }

  void WriteFile(const CoveredFile& file) {
    for (const CoveredLine& each : file.lines) {
      JsonLine line(sink_.buffer());
      line.Text("type", "line").Text("file", report_.files[file.file]);
      line.Number("line", each.line).Text("executed", StateWord(each.state));
      line.Number("times", each.times);
      if (!each.copies.empty()) line.Raw("copies", CopiesJson(each.copies));
      line.End();
      sink_.Commit();
    }
  }

  static std::string CopiesJson(const std::vector<CoveredCopy>& copies) {
    std::string json = "[";
    for (const CoveredCopy& copy : copies) {
      json += json.size() > 1 ? ",{\"function\":" : "{\"function\":";
      AppendJsonString(json, copy.function);
      json += fmt::format(R"(,"executed":"{}","times":{}}})", StateWord(copy.state), copy.times);
    }
    return json + "]";
  }

  const CoverageView& view_;
  const CoverageReport& report_;
  TextSink& sink_;
};

}  // namespace

void WriteCoverageJson(const CoverageView& view, TextSink& sink) { JsonWriter(view, sink).Write(); }

}  // namespace flowback
