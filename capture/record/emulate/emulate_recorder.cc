// SPDX-License-Identifier: MIT
// The emulating engine as a recorder.
#include <optional>

#include "capture/record/control/recorder.h"
#include "capture/record/control/recording_outputs.h"
#include "capture/record/emulate/emulate_engine.h"
#include "capture/record/target/fixed_addresses.h"
#include "capture/record/target/launch.h"

namespace flowback::record {
namespace {

class EmulateRecorder : public Recorder {
 public:
  explicit EmulateRecorder(const RecordOptions& options) : options_(options) {}

  Result<pid_t> Start(RecordSession& session) override;
  Result<RecordSummary> Run() override { return Finished(engine_->Run(pid_), outputs_, *session_); }
  void RequestStop() override { engine_->RequestStop(); }
  void RequestSnapshot() override { engine_->RequestSnapshot(); }

 private:
  const RecordOptions& options_;
  RecordSession* session_ = nullptr;
  std::unique_ptr<OwnedArea> area_;
  Outputs outputs_;
  std::optional<EmulateEngine> engine_;
  std::optional<FixedAddresses> addresses_;
  pid_t pid_ = -1;
};

Result<pid_t> EmulateRecorder::Start(RecordSession& session) {
  session_ = &session;
  auto area = OwnedArea::Create(options_);
  if (!area) return Fail(std::move(area.error()));
  area_ = std::move(*area);
  const auto command = MakeEmulatedCommand(options_, area_->path());
  if (!command) return Fail(command.error());
  auto outputs = OpenOutputs(options_, area_->clock(), session);
  if (!outputs) return Fail(std::move(outputs.error()));
  outputs_ = std::move(*outputs);
  engine_.emplace(options_, command->plugin_interface, *area_, *outputs_.metered);
  for (const std::string& note : command->notes) engine_->AddNote(note);
  addresses_.emplace(command->wants_same_places);
  if (command->wants_same_places && !addresses_->in_force()) engine_->AddNote(kRandomAddresses);
  const auto pid = Launch(command->words, command->environment, session.signals());
  if (pid) pid_ = *pid;
  return pid;
}

}  // namespace

std::unique_ptr<Recorder> MakeEmulateRecorder(const RecordOptions& options) {
  return std::make_unique<EmulateRecorder>(options);
}

}  // namespace flowback::record
