// SPDX-License-Identifier: MIT
// What a report says about one recording: a section for each analysis.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/report/report_options.h"
#include "flowback/base/error.h"

namespace flowback::cli {

// The worst that the analyses of a report ended with.
struct ReportLosses {
  bool any_loss = false;       // under --strict
  bool missing_image = false;  // under --strict
};

class ReportSections {
 public:
  // `options` must outlive it. `tell(name, number, all)` is called before each analysis.
  using Tell = std::function<void(std::string_view name, size_t number, size_t all)>;
  ReportSections(const ReportOptions& options, Tell tell)
      : options_(options), tell_(std::move(tell)) {}

  // Runs the analyses of a recording, one after the other. Returns an object with `input`, and
  // `sections[]`: each has `name`, `commands[]`, `seconds`, `messages[]`, and either `data` or
  // `error`. An empty input is what --raw-pt names. Errors: kSystem if no process can be started.
  Result<nlohmann::json> Of(const std::string& input);

  const ReportLosses& losses() const { return losses_; }

 private:
  struct Analysis;

  std::vector<std::string> Words(const Analysis& analysis, const std::string& input) const;
  std::vector<Analysis> Analyses() const;
  Result<nlohmann::json> TimelineText(nlohmann::json page, const std::string& input);
  Result<nlohmann::json> Section(const Analysis& analysis, const std::string& input);

  const ReportOptions& options_;
  Tell tell_;
  ReportLosses losses_;
};

}  // namespace flowback::cli
