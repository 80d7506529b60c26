// SPDX-License-Identifier: MIT
#include "cli/report/report_job.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/reading/bundle_input.h"
#include "cli/reading/reader_output.h"
#include "cli/report/report_sections.h"
#include "cli/text/output.h"
#include "cli/text/status.h"
#include "cli/text/terminal.h"
#include "cli/text/terminal_session.h"
#include "replay/writers/report/report_page.h"

namespace flowback::cli {
namespace {

using ReportJson = nlohmann::json;

// A name of any bytes becomes text of JSON.
std::string JsonTextOf(const ReportJson& json) {
  return json.dump(-1, ' ', false, ReportJson::error_handler_t::replace);
}

bool HasData(const ReportJson& section) { return section.contains("data"); }

// Returns the error of a section, as the command reported it.
Error ErrorOf(const ReportJson& section) {
  const ReportJson& error = section["error"];
  const int status = section["status"];
  const ErrorCode code = status == kWrongUsage        ? ErrorCode::kUsage
                         : status == kInputUnreadable ? ErrorCode::kUnreadable
                                                      : ErrorCode::kSystem;
  Error result(code, error["text"].get<std::string>());
  if (!error["remedies"].empty()) result.Remedy(error["remedies"].front().get<std::string>());
  return result;
}

// Shows on a terminal which analysis runs.
class ReportProgress {
 public:
  ReportProgress() : is_shown_(IsTerminal(STDERR_FILENO) && !IsQuiet()) {}
  ~ReportProgress() { Show(""); }
  ReportProgress(const ReportProgress&) = delete;
  ReportProgress& operator=(const ReportProgress&) = delete;

  void Show(const std::string& words) const {
    if (!is_shown_) return;
    std::fprintf(stderr, "\r%s\033[K", words.c_str());
    std::fflush(stderr);
  }

 private:
  bool is_shown_;
};

class ReportJob {
 public:
  explicit ReportJob(const ReportOptions& options) : options_(options) {
    const OpenOptions& open = options.reader.open;
    inputs_.push_back(open.bundle.empty() ? open.input : open.bundle);
    inputs_.insert(inputs_.end(), options.more.begin(), options.more.end());
  }

  int Run() {
    if (const int status = CheckInput(options_.reader); status != kDone) return status;
    for (const std::string& input : options_.more) {
      const Result<ReaderOptions> reader = OptionsForInput(options_.reader, input);
      if (!reader) return Report(reader.error());
      if (const int status = CheckInput(*reader); status != kDone) return status;
    }
    Result<Output> output = Output::Open(options_.reader.output);  // CheckInput looked at the file
    if (!output) return Report(output.error());
    if (Status status = Gather(); !status) {
      static_cast<void>(output->Finish(false));
      return Report(status.error());
    }
    Write(*output);
    if (Status written = output->Finish(); !written) return Report(written.error());
    TellOfFailures();
    return ExitStatus();
  }

 private:
  // Reports an input that cannot be read, or that the page would overwrite, before the work begins.
  int CheckInput(const ReaderOptions& reader) const {
    Result<Recording> recording = OpenInput(reader);
    if (!recording) return Report(recording.error(), reader.InputName());
    const std::string& path = options_.reader.output;
    if (path.empty() || path == "-") return kDone;
    const Status may = CheckMayOverwrite(path, path, reader, *recording, nullptr);
    return may ? kDone : Report(may.error());
  }

  Status Gather() {
    const ReportProgress progress;
    size_t number = 0;
    ReportSections sections(options_, [&](std::string_view name, size_t step, size_t steps) {
      progress.Show(
          fmt::format("report: {}, {} of {}", name, number * steps + step, inputs_.size() * steps));
    });
    for (const std::string& input : inputs_) {
      Result<ReportJson> recording = sections.Of(input);
      if (!recording) return Fail(recording.error());
      recordings_.push_back(*std::move(recording));
      ++number;
    }
    losses_ = sections.losses();
    return JudgeAnswers();
  }

  // Errors: kUsage if no recording has the function that was asked for; what kept all analyses of a
  // recording from an answer.
  Status JudgeAnswers() const {
    const ReportJson* without_function = nullptr;
    bool any_function = options_.function.empty();
    for (const ReportJson& recording : recordings_) {
      const ReportJson& sections = recording["sections"];
      if (std::ranges::none_of(sections, HasData)) return Fail(ErrorOf(sections.front()));
      for (const ReportJson& section : sections)
        if (section["name"] == "spikes" && section["status"] == static_cast<int>(kWrongUsage))
          without_function = &section;
        else if (section["name"] == "spikes")
          any_function = true;
    }
    if (any_function || without_function == nullptr) return {};
    return Fail(ErrorOf(*without_function));
  }

  void Write(Output& output) const {
    ReportJson page = {{"schema", "flowback.report/1"},
                       {"version", options_.version},
                       {"title", options_.title},
                       {"recordings", recordings_}};
    if (options_.reader.json) {
      output.Write(JsonTextOf(page));
      output.Write("\n");
      return;
    }
    WriteReportPage({.title = Title(), .sentences = Sentences(), .json = JsonTextOf(page)}, output);
  }

  std::string Title() const {
    if (!options_.title.empty()) return options_.title;
    return inputs_.size() == 1 ? "flowback report: " + inputs_.front() : "flowback report";
  }

  // What a reader sees who runs no scripts.
  std::vector<std::string> Sentences() const {
    std::vector<std::string> all;
    for (const ReportJson& recording : recordings_)
      for (const ReportJson& section : recording["sections"]) {
        const auto data = section.find("data");
        if (data == section.end()) continue;
        for (const char* key : {"sentences", "said"})
          if (const auto said = data->find(key); said != data->end())
            for (const ReportJson& sentence : *said) all.push_back(sentence.get<std::string>());
        if (data->contains("sentence")) all.push_back((*data)["sentence"].get<std::string>());
      }
    return all;
  }

  // An analysis that does not apply is the page's matter. One that died is also the user's.
  void TellOfFailures() const {
    for (const ReportJson& recording : recordings_)
      for (const ReportJson& section : recording["sections"])
        if (section.contains("error") && IsVerbose())
          Warn(fmt::format("{}: {} has no answer: {}", recording["input"].get<std::string>(),
                           section["name"].get<std::string>(),
                           section["error"]["text"].get<std::string>()));
  }

  int ExitStatus() const {
    if (!options_.reader.strict) return kDone;
    if (losses_.missing_image) return kImageIsMissing;
    return losses_.any_loss ? kFinishedWithLosses : kDone;
  }

  const ReportOptions& options_;
  std::vector<std::string> inputs_;
  std::vector<ReportJson> recordings_;
  ReportLosses losses_;
};

}  // namespace

int RunReportJob(const ReportOptions& options) { return ReportJob(options).Run(); }

}  // namespace flowback::cli
