// SPDX-License-Identifier: MIT
#include "cli/replay/dap_job.h"

#include <errno.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>
#include <utility>

#include "cli/options/arguments.h"
#include "cli/reading/bundle_input.h"
#include "cli/reading/stream_report.h"
#include "cli/replay/end_signals.h"
#include "cli/replay/gdb_listener.h"
#include "cli/text/status.h"

namespace flowback::cli {
namespace {

constexpr size_t kMostWaiting = 64;

}  // namespace

int DapJob::Execute() {
  signal(SIGPIPE, SIG_IGN);  // a client that goes away ends the session, not the program
  dap::DapServer& server = server_.emplace(
      [this](const dap::Wanted& wanted) { return Open(wanted); },
      [this](const dap::Json& message) { Send(message); }, [this] { return MayGoOn(); });
  while (!server.is_over() && !gone_) {
    if (waiting_.empty()) {
      if (ended_ || !WaitForBytes(-1)) break;
      continue;
    }
    const dap::ReceivedMessage received = std::move(waiting_.front());
    waiting_.pop_front();
    if (received.kind == dap::ReceivedMessage::Kind::kMessage)
      IsCancelled(received.message) ? server.HandleCancelled(received.message)
                                    : server.Handle(received.message);
    else
      server.Complain(received.problem);
    if (received.kind == dap::ReceivedMessage::Kind::kBadHeader) break;
  }
  return replay_ ? replay_->End() : kDone;
}

// Whether the client has taken the request back, which is answered after it.
bool DapJob::IsCancelled(const dap::Json& message) const {
  const int64_t number = dap::NumberIn(message, "seq", -1);
  return std::ranges::any_of(waiting_, [&](const dap::ReceivedMessage& each) {
    return dap::TextIn(each.message, "command") == "cancel" && number >= 0 &&
           dap::NumberIn(dap::MemberOf(each.message, "arguments"), "requestId", -1) == number;
  });
}

// Whether what waits ends the run that is under way.
bool DapJob::IsEnded() const {
  return std::ranges::any_of(waiting_, [this](const dap::ReceivedMessage& each) {
    return each.kind == dap::ReceivedMessage::Kind::kMessage && server_->EndsRun(each.message);
  });
}

Result<const gdb::ServerInput*> DapJob::Open(const dap::Wanted& wanted) {
  options_ = given_;
  if (!wanted.at.empty()) options_.at = wanted.at;
  if (!wanted.recording.empty()) {
    Result<ReaderOptions> reader = OptionsForInput(given_.reader, wanted.recording);
    if (!reader) return Fail(reader.error());
    options_.reader = *std::move(reader);
  }
  Result<Recording> recording = OpenInput(options_.reader);
  if (!recording) return Fail(recording.error());
  WarnOfDamage(*recording);
  replay_.emplace(options_, *std::move(recording));
  Status opened = replay_->Prepare();
  if (opened) opened = replay_->OpenMachine();
  if (!opened) {
    replay_.reset();
    return Fail(opened.error());
  }
  input_.emplace(replay_->Input());
  input_->keep_on = [this] { return MayGoOn(); };
  return &*input_;
}

// Takes what has come. False: nothing more will.
bool DapJob::WaitForBytes(int milliseconds) {
  const int others = listener_ == nullptr ? -1 : listener_->descriptor();
  std::array<pollfd, 3> waited = {{{.fd = in_, .events = POLLIN, .revents = 0},
                                   {.fd = others, .events = POLLIN, .revents = 0},
                                   {.fd = until_, .events = POLLIN, .revents = 0}}};
  const int ready = poll(waited.data(), waited.size(), milliseconds);
  if (ready < 0) return errno == EINTR;
  if (waited[2].revents != 0) {
    gone_ = true;
    return false;
  }
  if (waited[1].revents != 0) RefuseOthers();
  return waited[0].revents == 0 || Receive();
}

// Answers the first request of another editor, so that its user reads why it is turned away.
void DapJob::RefuseOthers() const {
  const Descriptor other = listener_->Accept();
  if (*other < 0) return;
  Warn("a second editor wanted to connect and was turned away: one at a time");
  constexpr std::chrono::milliseconds kPatience(1000);  // so long the first editor waits, too
  const auto until = std::chrono::steady_clock::now() + kPatience;
  dap::MessageReader reader;
  std::optional<dap::ReceivedMessage> asked;
  std::array<char, 4096> bytes;
  while (!asked) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        until - std::chrono::steady_clock::now());
    pollfd waited{.fd = *other, .events = POLLIN, .revents = 0};
    if (left.count() <= 0 || poll(&waited, 1, static_cast<int>(left.count())) <= 0) break;
    const ssize_t size = recv(*other, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (size <= 0) break;
    reader.Add({bytes.data(), static_cast<size_t>(size)});
    asked = reader.Next();
  }
  const Error why = Error(ErrorCode::kUsage, "this flowback already serves an editor")
                        .Remedy("end that session first, or start another flowback");
  const bool is_request = asked && asked->kind == dap::ReceivedMessage::Kind::kMessage;
  const std::string text = dap::Framed(
      is_request
          ? dap::Refusal(asked->message, why, 1)
          : dap::Json{{"seq", 1},
                      {"type", "event"},
                      {"event", "output"},
                      {"body",
                       {{"category", "stderr"}, {"output", "flowback: " + why.message() + "\n"}}}});
  (void)send(*other, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

bool DapJob::Receive() {
  std::array<char, 65536> bytes;
  const ssize_t size = read(in_, bytes.data(), bytes.size());
  if (size < 0 && (errno == EINTR || errno == EAGAIN)) return true;
  if (size == 0) {
    ended_ = true;
    return true;
  }
  if (size < 0) {
    gone_ = true;
    return false;
  }
  reader_.Add({bytes.data(), static_cast<size_t>(size)});
  while (auto received = reader_.Next()) waiting_.push_back(*std::move(received));
  return true;
}

void DapJob::Send(const dap::Json& message) {
  const std::string text = dap::Framed(message);
  for (size_t sent = 0; sent < text.size() && !gone_;) {
    const ssize_t size = write(out_, text.data() + sent, text.size() - sent);
    if (size < 0 && errno == EINTR) continue;
    gone_ = gone_ || size <= 0;
    if (size > 0) sent += static_cast<size_t>(size);
  }
}

int ServeEditor(const ReplayOptions& options) {
  if (options.dap) return DapJob(options, STDIN_FILENO, STDOUT_FILENO).Execute();
  const std::string& word = *options.dap_server;
  const auto port = ParseNumber(word);
  if (port && *port > UINT16_MAX)
    return Report(Error(ErrorCode::kUsage, fmt::format("--dap-server {}: not a port", word))
                      .Remedy("a number up to 65535"));
  const Result<GdbListener> listener =
      port ? GdbListener::OnPort("127.0.0.1", static_cast<uint16_t>(*port))
           : GdbListener::OnPath(word);
  if (!listener) return Report(listener.error());
  std::fputs(fmt::format("listening: an editor may connect to {}\n", listener->name()).c_str(),
             stderr);
  const Descriptor until = EndSignals();
  for (;;) {
    std::array<pollfd, 2> waited = {{{.fd = listener->descriptor(), .events = POLLIN, .revents = 0},
                                     {.fd = *until, .events = POLLIN, .revents = 0}}};
    if (poll(waited.data(), waited.size(), -1) < 0 && errno != EINTR) return kDone;
    if (waited[1].revents != 0) return kDone;
    if (waited[0].revents == 0) continue;
    const Descriptor client = listener->Accept();
    if (*client >= 0) return DapJob(options, *client, *client, &*listener, *until).Execute();
  }
}

// A client that sends no more may still wait for its answers, as one does that is a pipe.
bool DapJob::ClientListens() {
  pollfd listening{.fd = out_, .events = 0, .revents = 0};
  gone_ = gone_ || (poll(&listening, 1, 0) > 0 && (listening.revents & (POLLERR | POLLHUP)) != 0);
  return !gone_;
}

// Asking the kernel takes longer than a step.
bool DapJob::MayGoOn() {
  constexpr std::chrono::milliseconds kBetween(10);
  const auto now = std::chrono::steady_clock::now();
  if (now - looked_ < kBetween) return !gone_;
  looked_ = now;
  if (ended_) return ClientListens() && !IsEnded();
  // A client that sends so much during a run does not wait for its end.
  if (waiting_.size() > kMostWaiting) return false;
  return WaitForBytes(0) && !IsEnded();
}

}  // namespace flowback::cli
