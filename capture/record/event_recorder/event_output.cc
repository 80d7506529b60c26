// SPDX-License-Identifier: MIT
#include "capture/record/event_recorder/event_output.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "capture/record/event_recorder/event_preamble.h"
#include "capture/record/output/kernel_copy.h"
#include "capture/record/output/output_file.h"
#include "capture/record/output/recording_folder.h"
#include "capture/record/perf_data/tracing_data.h"

namespace flowback::record {
namespace {

// "20261125181302": the local time, as perf names such files.
std::string TimeText() {
  const time_t now = time(nullptr);
  tm local{};
  localtime_r(&now, &local);
  char text[sizeof "20261125181302"];
  strftime(text, sizeof text, "%Y%m%d%H%M%S", &local);
  return text;
}

}  // namespace

EventOutput::EventOutput(const RecordOptions& options, kernel::SystemKernel& kernel)
    : options_(options),
      kernel_(kernel),
      folder_(options.events.kernel_code ? options.files.output : ""),
      older_(options.files.output) {
  if (!folder_.empty()) options_.files.output = DataPathIn(folder_);
}

// Before anything is recorded: records contain later changes of the code.
Status EventOutput::CopyKernelCode() {
  if (folder_.empty()) return {};
  if (Status made = MakeRecordingFolder(folder_); !made) return made;
  made_folder_ = true;
  return CopyKernel(kernel_, KernelFolderIn(folder_));
}

Status EventOutput::Create(const EventSet& events, const std::vector<kernel::Pmu>& pmus) {
  EventFileFacts facts = FactsForFile(options_, pmus, kernel_);
  if (auto layouts = TracingDataFeature(events.plan(), kernel_))
    facts.more.push_back(*std::move(layouts));
  auto file = EventFile::Create(options_, events.Recorded(), std::move(facts));
  if (!file) return Fail(std::move(file.error()));
  file_.emplace(std::move(*file));
  begun_ = std::chrono::steady_clock::now();
  return {};
}

Status EventOutput::Open(const EventSet& events, const std::vector<kernel::Pmu>& pmus,
                         pid_t command, std::vector<std::string>& notes) {
  const auto kept = options_.files.pipe < 0 ? older_.Keep() : Result<std::string>("");
  if (!kept) return Fail(kept.error());
  if (!kept->empty()) notes.push_back(*kept);
  if (Status copied = CopyKernelCode(); !copied) return copied;
  if (Status created = Create(events, pmus); !created) return created;
  const Status written = WritePreamble(events, options_, command, kernel_, *file_);
  // From here on a recorder that is killed leaves a file that perf reads, too.
  return written ? file_->EndRound() : written;
}

void EventOutput::GiveBack() {
  const bool made = file_.has_value();
  file_.reset();
  if (made_folder_) RemoveRecordingFolder(folder_);
  if (options_.files.pipe < 0) older_.BringBack(made);
}

void EventOutput::Began() { older_.LetGo(); }

bool EventOutput::IsDue() const {
  const RecordRotation& rotation = options_.rotation;
  if (rotation.bytes && file_->size() >= *rotation.bytes) return true;
  return rotation.time && std::chrono::steady_clock::now() - begun_ >= *rotation.time;
}

// Two of a second are told apart by two digits more, as perf has it.
std::string EventOutput::FreeName() const {
  const std::string name = options_.files.output + "." + TimeText();
  for (int number = 0;; ++number) {
    const std::string numbered = name + (number < 10 ? "0" : "") + std::to_string(number);
    if (access(numbered.c_str(), F_OK) != 0) return numbered;
  }
}

Status EventOutput::Rename() {
  const std::string name = FreeName();
  if (rename(options_.files.output.c_str(), name.c_str()) != 0)
    return Fail(Error(ErrorCode::kSystem, "can't rename '" + options_.files.output + "' to '" +
                                              name + "': " + std::strerror(errno))
                    .Remedy("leave --switch-output out, or -o FILE in another folder"));
  names_.push_back(name);
  ++switched_;
  const uint64_t most = options_.rotation.most_files;
  while (most != 0 && names_.size() >= most) {
    unlink(names_.front().c_str());
    names_.pop_front();
  }
  return {};
}

Status EventOutput::Switch(const EventSet& events, const std::vector<kernel::Pmu>& pmus,
                           const std::vector<pid_t>& runs) {
  if (Status finished = file_->Finish(); !finished) return finished;
  finished_bytes_ += file_->size();
  if (Status renamed = Rename(); !renamed) return renamed;
  if (Status created = Create(events, pmus); !created) return created;
  const Status written = WritePreambleOf(events, options_, runs, kernel_, *file_);
  return written ? file_->EndRound() : written;
}

Status EventOutput::Finish() { return file_->Finish(); }

}  // namespace flowback::record
