// SPDX-License-Identifier: MIT
#include "replay/writers/coverage/html_tables.h"

#include <fmt/format.h>

#include "replay/coverage/report/coverage_metric.h"
#include "replay/writers/coverage/coverage_words.h"
#include "replay/writers/text/xml.h"

namespace flowback {
namespace {

double Percent(uint64_t part, const CoverageShare& share) {
  return share.total == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(share.total);
}

// A cell that sorts by the share: a thing without any comes last.
void AppendCell(const CoverageShare& share, std::string& out) {
  out += fmt::format("<td data-v={:.4f}>{} {}",
                     share.total == 0 ? -1.0 : Percent(share.executed, share), PercentOf(share),
                     FractionOf(share));
}

// The same with a bar, in a cell of its own.
void AppendBarCells(const CoverageShare& share, std::string& out) {
  out += "<td>";
  if (share.total != 0) AppendBar(share, out);
  AppendCell(share, out);
}

void AppendHead(std::initializer_list<const char*> headings, std::string& out) {
  out += "<table class=sorts><tr>";
  for (const char* heading : headings) out += fmt::format("<th>{}", heading);
  out += "</tr>\n";
}

}  // namespace

std::string FileAnchor(uint32_t file) { return fmt::format("f{}", file); }
std::string LineAnchor(uint32_t file, uint32_t line) { return fmt::format("f{}-{}", file, line); }

void AppendBar(const CoverageShare& share, std::string& out) {
  out += fmt::format("<span class=bar><i style=\"width:{:.2f}%\"></i>",
                     Percent(share.executed, share));
  if (share.unknown != 0)
    out += fmt::format("<i class=u style=\"width:{:.2f}%\"></i>", Percent(share.unknown, share));
  out += "</span>";
}

void AppendOverview(const CoverageShares& shares, std::string& out) {
  struct Metric {
    const char* name;
    const CoverageShare& share;
  };
  out += "<div class=all>";
  for (const Metric& metric : {Metric{"lines", shares.lines}, Metric{"functions", shares.functions},
                               Metric{"branch directions", shares.branches},
                               Metric{"instructions", shares.instructions}}) {
    if (metric.share.total == 0) continue;
    out += fmt::format("<span>{}</span>", metric.name);
    AppendBar(metric.share, out);
    out +=
        fmt::format("<b>{}</b><span>{}</span>", PercentOf(metric.share), FractionOf(metric.share));
  }
  out += "</div>\n";
}

void AppendObjectTable(const CoverageReport& report, std::string& out) {
  out += "<h2>Objects</h2>\n";
  AppendHead({"functions", "blocks", "branches", "", "instructions", "lines", "object"}, out);
  for (const ObjectCoverage& object : report.objects) {
    const CoverageShares& shares = object.shares;
    const std::string name = Xml(object.counts->id.path);
    out += fmt::format("<tr data-name=\"{}\">", name);
    AppendCell(shares.functions, out);
    AppendCell(shares.blocks, out);
    AppendCell(shares.branches, out);
    AppendBarCells(shares.instructions, out);
    AppendCell(shares.lines, out);
    out += fmt::format("<td>{}</tr>\n", name);
  }
  out += "</table>\n";
}

void AppendDirectoryTable(const CoverageReport& report, const std::vector<CoveredFile>& files,
                          std::string& out) {
  const std::vector<CoveredDirectory> directories = ByDirectory(report, files);
  if (directories.size() < 2) return;
  out += "<h2>Directories</h2>\n";
  AppendHead({"", "lines", "functions", "branches", "files", "directory"}, out);
  for (const CoveredDirectory& each : directories) {
    out += fmt::format("<tr data-name=\"{}\">", Xml(each.name));
    AppendBarCells(each.shares.lines, out);
    AppendCell(each.shares.functions, out);
    AppendCell(each.shares.branches, out);
    out += fmt::format("<td>{}<td>{}</tr>\n", each.files, Xml(each.name));
  }
  out += "</table>\n";
}

void AppendFileTable(const CoverageReport& report, std::span<const CoveredFile> files,
                     std::string& out) {
  AppendHead({"", "lines", "functions", "branches", "file"}, out);
  for (const CoveredFile& file : files) {
    const std::string name = Xml(report.files[file.file]);
    out += fmt::format("<tr data-name=\"{}\">", name);
    AppendBarCells(file.shares.lines, out);
    AppendCell(file.shares.functions, out);
    AppendCell(file.shares.branches, out);
    out += fmt::format("<td><a href=\"#{}\">{}</a></tr>\n", FileAnchor(file.file), name);
  }
  out += "</table>\n";
}

}  // namespace flowback
