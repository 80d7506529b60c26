// SPDX-License-Identifier: MIT
#include "flowback/replay/coverage_report.h"

#include "replay/coverage/object_coverage.h"

namespace flowback {

void CoverageShare::Add(Executed state) {
  ++total;
  if (state == Executed::kYes) ++executed;
  if (state == Executed::kUnknown) ++unknown;
}

void CoverageShare::Add(const CoverageShare& other) {
  total += other.total;
  executed += other.executed;
  unknown += other.unknown;
}

void CoverageShares::Add(const CoverageShares& other) {
  functions.Add(other.functions);
  blocks.Add(other.blocks);
  branches.Add(other.branches);
  instructions.Add(other.instructions);
  lines.Add(other.lines);
}

CoverageReport CoverageReport::Of(const CoverageCounts& counts, const CoverageSources& sources,
                                  const CoverageChoice& choice) {
  CoverageReport report;
  SourceFileNumbers numbers;
  for (const ObjectCounts& each : counts.objects)
    if (!choice.object || choice.object(each.id))
      report.objects.push_back(HoldAgainstCode(each, sources, numbers));
  MarkUnknown(report.objects, counts, sources);
  SourceFileNumbers::Sorted files = numbers.Take();
  report.files = std::move(files.names);
  for (ObjectCoverage& object : report.objects) {
    for (std::vector<SourceLine>* const all : {&object.places, &object.begins})
      for (SourceLine& place : *all)
        if (place.line != 0) place.file = files.numbers[place.file];
    SumUp(object, choice, report.files);
    report.shares.Add(object.shares);
  }
  return report;
}

}  // namespace flowback
