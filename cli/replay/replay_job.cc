// SPDX-License-Identifier: MIT
#include "cli/replay/replay_job.h"

#include <errno.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <map>
#include <utility>

#include "cli/options/arguments.h"
#include "cli/reading/stream_report.h"
#include "cli/reading/time_words.h"
#include "cli/replay/gdb_connection.h"
#include "cli/replay/gdb_program.h"
#include "cli/replay/replay_moment.h"
#include "cli/text/status.h"
#include "cli/text/terminal_session.h"
#include "replay/timeline/kept_times.h"

namespace flowback::cli {

int ReplayJob::Execute() {
  if (Status status = Prepare(); !status) return Report(status.error());
  if (Status status = Run(); !status) return opened_.EndWithout(status.error());
  opened_.inputs().set_times(false);
  const Status found = opened_.FindLosses();
  const int status = opened_.End(found, {.keep_more = [this] {
                                   if (opened_.MayKeepResults()) stacks_->Keep();
                                 }});
  return gdb_status_ != 0 ? gdb_status_ : status;
}

Status ReplayJob::Prepare() {
  if (Status status = opened_.OpenTrace(); !status) return status;
  if (Status status = CheckNoSamples(opened_.recording(), opened_.source(), "a flow to replay");
      !status)
    return status;
  if (Status status = opened_.OpenCode(); !status) return status;
  opened_.PrepareStreams(true);
  if (Status status = opened_.ChooseThreads(); !status) return status;
  WarnOfSharedStreams(opened_.recording(), opened_.threads(), opened_.InputName());
  return {};
}

// The chosen threads of one process, as the index numbers them.
std::vector<size_t> ReplayJob::ThreadsOfProcess() const {
  const auto is_chosen = [this](const ThreadFlow& flow) {
    return std::ranges::any_of(opened_.threads().owners(), [&](const StreamOwner& owner) {
      return owner.tid == flow.tid && owner.pid == flow.pid;
    });
  };
  std::map<int32_t, uint64_t> executed;  // by process
  std::vector<size_t> chosen;
  for (size_t i = 0; i < index_->threads().size(); ++i) {
    if (!is_chosen(opened_.flows()[i])) continue;
    chosen.push_back(i);
    executed[index_->threads()[i].pid] += index_->threads()[i].instructions;
  }
  if (executed.empty()) return {};
  const auto most =
      std::ranges::max_element(executed, {}, [](const auto& process) { return process.second; });
  const int32_t pid = options_.pid.value_or(most->first);
  if (!options_.pid && executed.size() > 1)
    Warn(fmt::format("{} processes were recorded; this replays process {}, which executed most",
                     executed.size(), pid),
         {"--pid PID for another one; `flowback info` lists them"});
  std::erase_if(chosen, [&](size_t thread) { return index_->threads()[thread].pid != pid; });
  return chosen;
}

Status ReplayJob::OpenMachine() {
  const WorkProgress progress = opened_.ShowProgress("replay", opened_.SelectedBytes());
  opened_.AddKnownLosses();
  Result<std::unique_ptr<Decoder>> decoder = opened_.NewDecoder();
  if (!decoder) return Fail(decoder.error());
  decoder_ = *std::move(decoder);
  const IndexCache cache = opened_.CacheFor(CachedResult::kLasting);
  Result<TimedIndex> index =
      OpenTimedIndex(opened_.recording(), opened_.code(), opened_.inputs(), *decoder_, {}, cache);
  if (!index) return Fail(index.error());
  index_.emplace(std::move(index->index));
  machine_.emplace(*index_, ThreadsOfProcess());
  if (machine_->size() == 0)
    return Fail(Error(ErrorCode::kUsage, "no instruction of the process was recorded")
                    .Remedy("`flowback info` lists processes and what the recording lacks"));
  stacks_.emplace(opened_, *index_, cache);
  return GoToMoment(options_.at, opened_, *machine_);
}

// The code has been read from the dumps already, so they are of the recorded processes.
Status ReplayJob::OpenCore() {
  for (const std::string& path : options_.reader.search.cores) {
    Result<EndCore> core = EndCore::Open(path);
    if (!core) return Fail(core.error());
    if (core->pid() == machine_->thread(0).pid) core_.emplace(*std::move(core));
  }
  return {};
}

Status ReplayJob::Run() {
  if (Status status = OpenMachine(); !status) return status;
  if (Status status = OpenCore(); !status) return status;
  return options_.gdb_server ? RunServer() : RunGdb();
}

Result<GdbListener> ReplayJob::Listen() const {
  const std::string& word = *options_.gdb_server;
  const std::string address = options_.listen.empty() ? "127.0.0.1" : options_.listen;
  if (word.empty()) return GdbListener::OnPort(address, 0);
  const auto port = ParseNumber(word);
  if (!port) {
    if (options_.listen.empty()) return GdbListener::OnPath(word);
    return Fail(Error(ErrorCode::kUsage, "--listen takes a port, not a path").Remedy("give one"));
  }
  if (*port > UINT16_MAX)
    return Fail(Error(ErrorCode::kUsage, fmt::format("--gdb-server {}: no port", word))
                    .Remedy("a number up to 65535"));
  return GdbListener::OnPort(address, static_cast<uint16_t>(*port));
}

// Until Ctrl-C.
Status ReplayJob::RunServer() {
  const Result<GdbListener> listener = Listen();
  if (!listener) return Fail(listener.error());
  if (!options_.listen.empty() && !options_.listen.starts_with("127."))
    Warn(
        fmt::format("whoever can reach {} can read this recording and its files", listener->name()),
        {"leave --listen out, and reach the port by ssh -L"});
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGTERM);
  sigprocmask(SIG_BLOCK, &ends, nullptr);
  const Descriptor until(signalfd(-1, &ends, SFD_CLOEXEC));
  std::fputs(fmt::format("listening: gdb -iex 'source flowback-gdb.py' -ex 'target remote {}'\n"
                         "flowback replay --gdb-init > flowback-gdb.py makes that file\n",
                         listener->name())
                 .c_str(),
             stderr);
  Serve(*listener, *until);
  return {};
}

Status ReplayJob::RunGdb() {
  const Result<GdbFolder> folder = GdbFolder::Make();
  if (!folder) return Fail(folder.error());
  const Result<GdbListener> listener = GdbListener::OnPath(folder->SocketPath());
  if (!listener) return Fail(listener.error());
  Result<GdbProgram> program = GdbProgram::Start(*folder, options_.gdb_words);
  if (!program) return Fail(program.error());
  if (!IsQuiet())
    std::fputs(
        "Step back with reverse-step, reverse-next, reverse-finish, reverse-continue. "
        "`monitor help` lists more.\n",
        stderr);
  Serve(*listener, program->descriptor());
  gdb_status_ = program->Wait();
  return {};
}

void ReplayJob::Serve(const GdbListener& listener, int until) {
  ImageMemory images;
  const auto parse_time = [this](const std::string& word) {
    return ParseTime("goto", word, opened_.recording(), opened_.clock());
  };
  for (;;) {
    std::array<pollfd, 2> waited = {{{.fd = listener.descriptor(), .events = POLLIN, .revents = 0},
                                     {.fd = until, .events = POLLIN, .revents = 0}}};
    if (poll(waited.data(), waited.size(), -1) < 0 && errno != EINTR) return;
    if (waited[0].revents != 0) {
      Descriptor client = listener.Accept();
      if (*client < 0) continue;
      GdbConnection(std::move(client), listener, until)
          .Serve({.session = opened_,
                  .machine = *machine_,
                  .stacks = *stacks_,
                  .images = images,
                  .core = core_ ? &*core_ : nullptr,
                  .parse_time = parse_time,
                  .keep_on = {}});
    } else if (waited[1].revents != 0) {
      return;
    }
  }
}

}  // namespace flowback::cli
