// SPDX-License-Identifier: MIT
#include "cli/replay/replay_job.h"

#include <errno.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <utility>

#include "cli/options/arguments.h"
#include "cli/replay/end_signals.h"
#include "cli/replay/gdb_choice.h"
#include "cli/replay/gdb_connection.h"
#include "cli/replay/gdb_program.h"
#include "cli/text/status.h"
#include "cli/text/terminal_session.h"

namespace flowback::cli {
namespace {

// Recorded paths lie under --symfs: gdb looks for sources there first.
std::vector<std::string> GdbWords(const ReplayOptions& options) {
  std::vector<std::string> words = options.gdb_words;
  if (const std::string& root = options.reader.search.symfs; !root.empty())
    words.insert(words.begin(), {"-iex", "directory \"" + root + "\""});
  return words;
}

// Becomes readable when one of the two is.
Descriptor EitherOf(int one, int other) {
  Descriptor either(epoll_create1(EPOLL_CLOEXEC));
  for (const int each : {one, other}) {
    epoll_event event{.events = EPOLLIN, .data = {.fd = each}};
    epoll_ctl(*either, EPOLL_CTL_ADD, each, &event);
  }
  return either;
}

}  // namespace

int ReplayJob::Execute() {
  if (Status status = replay_.Prepare(); !status) return Report(status.error());
  if (Status status = Run(); !status) return replay_.EndWithout(status.error());
  const int status = replay_.End();
  return gdb_status_ != 0 ? gdb_status_ : status;
}

Status ReplayJob::Run() {
  if (Status status = replay_.OpenMachine(); !status) return status;
  return options_.gdb_server ? RunServer() : RunGdb();
}

// Returns the mode of the program that the machine stands in.
CodeMode ReplayJob::Mode() {
  ReplayedMachine& machine = replay_.Input().machine;
  return machine.At(machine.current()).instruction.mode;
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
    return Fail(Error(ErrorCode::kUsage, fmt::format("--gdb-server {}: not a port", word))
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
  const Descriptor until = EndSignals();
  std::fputs(fmt::format("listening: {} -iex 'source flowback-gdb.py' -ex 'target remote {}'\n"
                         "flowback replay --gdb-init > flowback-gdb.py makes that file\n",
                         UsualGdbFor(Mode()), listener->name())
                 .c_str(),
             stderr);
  Serve(*listener, *until);
  return {};
}

Status ReplayJob::RunGdb() {
  const Result<std::string> gdb = GdbFor(Mode());
  if (!gdb) return Fail(gdb.error());
  const Descriptor ends = EndSignals({SIGTERM, SIGHUP});  // which leave no folder behind
  const Result<GdbFolder> folder = GdbFolder::Make();
  if (!folder) return Fail(folder.error());
  const Result<GdbListener> listener = GdbListener::OnPath(folder->SocketPath());
  if (!listener) return Fail(listener.error());
  Result<GdbProgram> program = GdbProgram::Start(*gdb, *folder, GdbWords(options_));
  if (!program) return Fail(program.error());
  const Descriptor until = EitherOf(program->descriptor(), *ends);
  if (*until < 0)
    return Fail(Error(ErrorCode::kSystem, fmt::format("epoll_create1: {}", std::strerror(errno))));
  if (!IsQuiet())
    std::fputs(
        "Step back with reverse-step, reverse-next, reverse-finish, reverse-continue. "
        "`monitor help` lists more.\n",
        stderr);
  Serve(*listener, *until);
  signalfd_siginfo came{};
  const bool is_signal = read(*ends, &came, sizeof came) == sizeof came;
  gdb_status_ = is_signal ? program->End(static_cast<int>(came.ssi_signo)) : program->Wait();
  if (is_signal) gdb_status_ = 128 + static_cast<int>(came.ssi_signo);
  return {};
}

void ReplayJob::Serve(const GdbListener& listener, int until) {
  for (;;) {
    std::array<pollfd, 2> waited = {{{.fd = listener.descriptor(), .events = POLLIN, .revents = 0},
                                     {.fd = until, .events = POLLIN, .revents = 0}}};
    if (poll(waited.data(), waited.size(), -1) < 0 && errno != EINTR) return;
    if (waited[0].revents != 0) {
      Descriptor client = listener.Accept();
      if (*client < 0) continue;
      GdbConnection(std::move(client), listener, until).Serve(replay_.Input());
    } else if (waited[1].revents != 0) {
      return;
    }
  }
}

}  // namespace flowback::cli
