// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <iostream>

#include "base/mapped_file.h"
#include "base/recorded/call_samples.h"
#include "capture/bundle/bundle_writer.h"
#include "capture/formats/input/samples.h"
#include "cli/pack/pack_options.h"
#include "cli/pack/pack_text.h"
#include "cli/reading/reading_job.h"
#include "replay/session/bundle_files.h"
#include "replay/session/redacted_core.h"

namespace flowback::cli {
namespace {

constexpr const char* kEnding = ".tar.zst";

class PackJob final : public ReadingJob {
 public:
  PackJob(const PackOptions& options, Recording recording)
      : ReadingJob(options.reader, std::move(recording)), options_(options) {}

 private:
  Status Prepare() override;
  std::string OutputPath() const override;
  Status Run(Output& output) override;
  bool MeetsAllLosses() const override { return true; }  // decodes nothing
  Status JudgeResult() override;

  Status AddRedacted(const PackedFile& file, bundle::BundleWriter& writer);
  Status Add(const PackedFile& file, bundle::BundleWriter& writer);
  Status OpenRecorded();

  const PackOptions& options_;
  BundleFiles files_;
  PackReport report_;
};

Status PackJob::Prepare() {
  const std::string& input = opened_.options().open.input;
  if (options_.reader.output.empty() && (input.starts_with("/dev/") || input.starts_with("/proc/")))
    return Fail(Error(ErrorCode::kUsage, "pack: the recording has no name to name the bundle after")
                    .Remedy("-o FILE"));
  if (Status status = OpenRecorded(); !status) return status;
  Result<BundleFiles> files =
      FilesForBundle(opened_, {.sources = !options_.strip_source, .cores = !options_.no_core});
  if (!files) return Fail(files.error());
  files_ = *std::move(files);
  files_.manifest.made_by = options_.made_by;
  files_.manifest.redacted = options_.redact;
  return {};
}

// The recording may hold samples and no trace.
Status PackJob::OpenRecorded() {
  const Recording& recording = opened_.recording();
  if (CallSamplesOf(recording.config) != nullptr || HasAccessSamples(recording)) {
    if (Status status = opened_.OpenSource(); !status) return status;
    return opened_.LoadCode();
  }
  if (Status status = opened_.OpenTrace(); !status) return status;
  return opened_.OpenCode();
}

// Where none is named: beside the recording, which may be a folder.
std::string PackJob::OutputPath() const {
  if (!options_.reader.output.empty()) return options_.reader.output;
  std::string name = opened_.InputName();
  while (name.size() > 1 && name.ends_with('/')) name.pop_back();
  if (name.ends_with(kEnding)) name.resize(name.size() - std::string_view(kEnding).size());
  return name + kEnding;
}

Status PackJob::AddRedacted(const PackedFile& file, bundle::BundleWriter& writer) {
  const auto core = MappedFile::Open(file.path);
  if (!core) return Fail(core.error());
  const Result<std::vector<uint8_t>> redacted = RedactCore((*core)->bytes(), file.path);
  if (!redacted) return Fail(redacted.error());
  const Bytes piece = *redacted;
  return writer.Add(file.member, {&piece, 1}, 0);
}

Status PackJob::Add(const PackedFile& file, bundle::BundleWriter& writer) {
  if (file.kind == PackedKind::kCore && options_.redact) return AddRedacted(file, writer);
  if (!file.path.empty()) return writer.AddFile(file.member, file.path);
  const Bytes piece = file.content;
  return writer.Add(file.member, {&piece, 1}, 0);
}

Status PackJob::Run(Output& output) {
  bundle::BundleWriter writer([&output](Bytes bytes) {
    output.Write({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    return Status();
  });
  if (Status status = writer.AddManifest(files_.manifest); !status) return status;
  for (const PackedFile& file : files_.files) {
    const uint64_t before = writer.content();
    if (Status status = Add(file, writer); !status) return status;
    PackReport::Sum& sum = report_.kinds[static_cast<size_t>(file.kind)];
    ++sum.files;
    sum.bytes += writer.content() - before;
    if (output.closed()) return {};
  }
  if (Status status = writer.Finish(); !status) return status;
  report_.packed_bytes = writer.packed();
  return {};
}

// Prints the packed files to the stream that the bundle does not use.
Status PackJob::JudgeResult() {
  for (const std::string& problem : files_.problems) Warn("not packed: " + problem);
  report_.input = opened_.InputName();
  report_.output = OutputPath();
  report_.cores = files_.manifest.cores;
  report_.redacted = options_.redact;
  const std::string text = options_.reader.json ? PackJson(report_) : PackText(report_);
  if (report_.output == "-")
    std::cerr << text;
  else
    static_cast<void>(Print(text));
  return {};
}

}  // namespace

int Pack(const PackOptions& options) { return RunReadingJob<PackJob>(options.reader, options); }

}  // namespace flowback::cli
