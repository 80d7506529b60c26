// SPDX-License-Identifier: MIT
// The comparison as JSON lines, schema flowback.diff/1.
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "cli/diff/diff_view.h"
#include "replay/writers/text/json_parts.h"

namespace flowback::cli {
namespace {

void AddPlace(JsonLine& line, const std::string& prefix, const DiffPlace& place) {
  if (place.line == 0) {
    line.Null(prefix + "file").Null(prefix + "line");
    return;
  }
  line.Text(prefix + "file", place.file).Number(prefix + "line", place.line);
}

// A line of type `type`, written by `write`.
template <class Write>
void AddObject(TextSink& sink, const char* type, const Write& write) {
  JsonLine line(sink.buffer());
  line.Text("type", type);
  write(line);
  line.End();
  sink.Commit();
}

class DiffJsonWriter {
 public:
  DiffJsonWriter(const DiffView& view, size_t most, TextSink& sink)
      : view_(view), diff_(view.diff), most_(most), sink_(sink) {}

  LeftOut Write() {
    WriteHead();
    for (const ObjectMatch& each : diff_.objects)
      if (MayWrite("object")) WriteMatch(each);
    for (const FunctionChange& each : diff_.functions)
      if (MayWrite("function")) WriteFunction(each);
    for (const LineChange& each : diff_.lines)
      if (IsChanged(each) && MayWrite("line")) WriteLine(each);
    for (const DirectionChange& each : diff_.directions)
      if (MayWrite("direction")) WriteDirection(each);
    for (const WaitChange& each : diff_.waits)
      if (MayWrite("wait")) WriteWait(each);
    for (size_t i = 0; i < view_.limits.size(); ++i) WriteLimit(i);
    return std::move(left_out_);
  }

 private:
  static bool IsChanged(const LineChange& each) {
    return each.fate != Fate::kBoth || each.times.delta() != 0 || each.instructions.delta() != 0;
  }
  bool MayWrite(const char* type) {
    if (written_[type]++ < most_) return true;
    ++left_out_[type];
    return false;
  }

  // With repeats, the range of each side is there, too.
  std::string Change(const MeasuredChange& change) const {
    return JsonObject([&](JsonLine& line) {
      line.Number("old", change.old.rounded()).Number("new", change.now.rounded());
      line.Bool("significant", change.delta() != 0 && change.IsSignificant());
      if (diff_.IsSingle()) return;
      const auto number = [&](const char* key, double value) {
        line.Number(key, static_cast<uint64_t>(value));
      };
      number("old_least", change.old.least);
      number("old_most", change.old.most);
      number("new_least", change.now.least);
      number("new_most", change.now.most);
    });
  }
  void AddFate(JsonLine& line, Fate fate, bool in_all_runs) const {
    line.Text("fate", Name(fate)).Bool("in_all_runs", in_all_runs);
  }

  void WriteHead() {
    AddObject(sink_, "diff", [this](JsonLine& line) {
      const auto text = [](const std::string& each) { return JsonText(each); };
      line.Text("schema", "flowback.diff/1");
      line.Raw("old", JsonArray(view_.old, text)).Raw("new", JsonArray(view_.now, text));
      line.Text("sentence", DiffSentences(view_).front());
      line.Bool("emulated", diff_.emulated).Bool("sampled", diff_.sampled);
      line.Bool("has_calls", diff_.has_calls).Bool("has_times", diff_.has_times);
      line.Bool("has_waits", diff_.has_waits);
      line.Bool("old_lost", diff_.old_lost).Bool("new_lost", diff_.lost);
      line.Bool("same_builds", diff_.same_builds);
      line.Raw("instructions", Change(diff_.instructions));
      if (diff_.has_times)
        line.Raw("duration", Change(diff_.duration)).Raw("off_cpu", Change(diff_.off_cpu));
      if (diff_.has_waits) line.Raw("waits", Change(diff_.all_waits));
      if (diff_.has_waits && diff_.has_times) line.Raw("waiting", Change(diff_.waiting));
      line.Number("unmatched_lines", diff_.unmatched_lines);
      line.Number("unknown_directions", diff_.unknown_directions);
      line.Raw("coverage", JsonObject([this](JsonLine& shares) {
                 for (const CoverageMeasure& each : diff_.coverage)
                   shares.Raw(each.name, JsonObject([&](JsonLine& share) {
                                share.Raw("executed", Change(each.executed));
                                share.Raw("total", Change(each.total));
                              }));
               }));
    });
  }

  void WriteMatch(const ObjectMatch& each) {
    AddObject(sink_, "object", [&](JsonLine& line) {
      line.TextOrNull("old", each.old_name).TextOrNull("new", each.name);
      line.Bool("same_build", each.same_build).Bool("executed", each.executed);
      line.Bool("old_missing", each.old_missing).Bool("new_missing", each.missing);
    });
  }

  void WriteFunction(const FunctionChange& each) {
    AddObject(sink_, "function", [&](JsonLine& line) {
      line.Text("object", each.object).TextOrNull("function", each.name);
      line.HexOrNull("address", each.address);
      AddPlace(line, "", each.at);
      AddPlace(line, "old_", each.old_at);
      AddFate(line, each.fate, each.in_all_runs);
      line.Raw("calls", Change(each.calls)).Raw("self_instructions", Change(each.self));
      if (diff_.has_calls) line.Raw("instructions", Change(each.total));
      if (!diff_.has_times) return;
      line.Raw("self_time", Change(each.time)).Raw("time", Change(each.total_time));
      line.Raw("off_cpu", Change(each.off_cpu));
    });
  }

  void WriteLine(const LineChange& each) {
    AddObject(sink_, "line", [&](JsonLine& line) {
      line.Text("file", each.file).NumberOrNull("line", each.line);
      line.NumberOrNull("old_line", each.old_line).Bool("found", each.found);
      line.TextOrNull("function", each.function).TextOrNull("text", each.text);
      AddFate(line, each.fate, each.in_all_runs);
      line.Raw("times", Change(each.times)).Raw("instructions", Change(each.instructions));
    });
  }

  void WriteDirection(const DirectionChange& each) {
    AddObject(sink_, "direction", [&](JsonLine& line) {
      line.Text("object", each.object).Text("function", each.function);
      AddPlace(line, "", each.at);
      AddPlace(line, "to_", each.to);
      if (each.address == 0)
        line.Null("address").Null("taken");
      else
        line.Hex("address", each.address).Bool("taken", each.taken);
      AddFate(line, each.fate, each.in_all_runs);
      line.Bool("branch_reached", each.reached).Raw("times", Change(each.times));
    });
  }

  void WriteWait(const WaitChange& each) {
    AddObject(sink_, "wait", [&](JsonLine& line) {
      line.Text("function", each.function).TextOrNull("caller", each.caller);
      AddFate(line, each.fate, each.in_all_runs);
      line.Raw("waits", Change(each.waits)).Raw("trips", Change(each.trips));
      if (diff_.has_times) line.Raw("waiting", Change(each.waiting));
    });
  }

  void WriteLimit(size_t number) {
    const LimitOutcome& outcome = view_.outcomes[number];
    AddObject(sink_, "limit", [&](JsonLine& line) {
      line.Text("limit", view_.limits[number].text).Bool("passed", outcome.passed());
      line.Text("found", OutcomeText(view_.limits[number], outcome));
      if (outcome.problem.empty())
        line.Raw("value", Change(outcome.change)).Bool("noise", outcome.is_noise);
    });
  }

  const DiffView& view_;
  const RunComparison& diff_;
  const size_t most_;
  TextSink& sink_;
  std::map<std::string, size_t> written_;
  LeftOut left_out_;
};

}  // namespace

LeftOut WriteDiffJson(const DiffView& view, TextSink& sink, size_t most) {
  return DiffJsonWriter(view, most, sink).Write();
}

}  // namespace flowback::cli
