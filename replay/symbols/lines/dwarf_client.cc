// SPDX-License-Identifier: MIT
// LLVM reads DWARF well, but damaged DWARF can crash it, keep it busy for ever, or make it allocate
// without bound; and loading it takes time that most commands need not spend. So it lives in a
// program of its own, started when the first source line of a file is asked for. If that process
// fails, this one goes on without those lines and says so.
//
// The program is looked for beside flowback, as it was built or installed: folders move, but bin/
// and lib/ move together. Programs that link the library and lie elsewhere find it where it was
// installed.
#include "replay/symbols/lines/dwarf_client.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "replay/symbols/lines/dwarf_wire.h"

extern char** environ;

namespace flowback::symbols {
namespace {

constexpr char kProgram[] = "flowback-dwarf";
constexpr int kPatienceMs = 120'000;  // the largest units take some seconds

std::string FolderOfProgram() {
  std::array<char, 4096> path{};
  const ssize_t size = readlink("/proc/self/exe", path.data(), path.size());
  if (size <= 0 || static_cast<size_t>(size) == path.size()) return {};
  const std::string whole(path.data(), static_cast<size_t>(size));
  return whole.substr(0, whole.rfind('/'));
}

// Empty when it is not installed; `problem` then says where it should be.
std::string FindProgram(std::string& problem) {
  std::vector<std::string> places;
  const std::string folder = FolderOfProgram();
  if (!folder.empty())
    for (const char* lib : {"/../lib/flowback/", "/../" FLOWBACK_LIBDIR "/flowback/"})
      places.push_back(folder + lib + kProgram);
  places.push_back(std::string(FLOWBACK_FULL_LIBDIR "/flowback/") + kProgram);
  for (const std::string& place : places)
    if (access(place.c_str(), X_OK) == 0) return place;
  problem = std::string("source lines can't be read: ") + kProgram + " is neither in " +
            places.front().substr(0, places.front().rfind('/')) +
            " nor in " FLOWBACK_FULL_LIBDIR "/flowback; install flowback anew (cmake --install)";
  return {};
}

// Runs `program` with `end` as its standard input; its messages, LLVM's last words, go nowhere.
int Spawn(const std::string& program, int end, pid_t& process) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, end, STDIN_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::string name = program;
  std::string version = kDwarfVersion;
  char* arguments[] = {name.data(), version.data(), nullptr};
  const int error = posix_spawn(&process, program.c_str(), &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

std::string EndOf(pid_t process) {
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status))
    return std::string("their reader failed (") + strsignal(WTERMSIG(status)) + ")";
  return "their reader failed (exit status " + std::to_string(WEXITSTATUS(status)) + ")";
}

}  // namespace

std::string DwarfClient::Program() {
  std::string problem;
  return FindProgram(problem);
}

std::unique_ptr<DwarfClient> DwarfClient::Open(const DwarfRequest& request, std::string& problem) {
  std::unique_ptr<DwarfClient> client(new DwarfClient);
  if (!client->Start(problem)) return nullptr;
  struct stat info{};
  if (stat(request.path.c_str(), &info) == 0)
    client->most_message_ += kMostDwarfMessagePerByte * static_cast<uint64_t>(info.st_size);
  WireWriter writer;
  writer.Put(DwarfCommand::kOpen);
  writer.Put(request.path);
  writer.Put(request.program_path);
  writer.Put(request.folders);
  std::string reply;
  if (!client->Ask(writer.bytes(), reply)) {
    problem = client->problems_.back();
    return nullptr;
  }
  WireReader reader(reply);
  const bool has_dwarf = reader.Get<bool>();
  reader.Get(problem);
  reader.Get(client->units_);
  reader.Get(client->problems_);
  return has_dwarf ? std::move(client) : nullptr;
}

bool DwarfClient::Start(std::string& problem) {
  const std::string program = FindProgram(problem);
  if (program.empty()) return false;
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    problem = std::string("socketpair: ") + std::strerror(errno);
    return false;
  }
  socket_ = Descriptor(ends[0]);
  const Descriptor program_end(ends[1]);
  const int error = Spawn(program, *program_end, process_);
  if (error == 0) return true;
  process_ = -1;
  problem = program + ": " + std::strerror(error);
  return false;
}

DwarfClient::~DwarfClient() {
  socket_.Close();
  if (process_ < 0) return;
  kill(process_, SIGKILL);
  EndOf(process_);
}

void DwarfClient::End(const std::string& problem) {
  socket_.Close();
  if (!problem.empty()) kill(process_, SIGKILL);
  const std::string end = EndOf(std::exchange(process_, -1));
  problems_.push_back(problem.empty() ? end : problem);
}

bool DwarfClient::Receive(char* data, size_t size) {
  while (size > 0) {
    pollfd wait{.fd = *socket_, .events = POLLIN, .revents = 0};
    const int ready = poll(&wait, 1, kPatienceMs);
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) {
      End("their reader came to no end");
      return false;
    }
    const ssize_t got = recv(*socket_, data, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      End("");
      return false;
    }
    data += got;
    size -= static_cast<size_t>(got);
  }
  return true;
}

bool DwarfClient::Ask(const std::string& request, std::string& reply) {
  if (process_ < 0) return false;
  WireWriter message;
  message.Put(request);
  const std::string& bytes = message.bytes();
  for (size_t sent = 0; sent < bytes.size();) {
    const ssize_t count = send(*socket_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      End("");
      return false;
    }
    sent += static_cast<size_t>(count);
  }
  uint64_t size = 0;
  if (!Receive(reinterpret_cast<char*>(&size), sizeof size)) return false;
  if (size > most_message_) {
    End("their reader went astray");
    return false;
  }
  reply.resize(size);
  return Receive(reply.data(), size);
}

VariablesInfo DwarfClient::VariablesAt(uint64_t address) {
  WireWriter writer;
  writer.Put(DwarfCommand::kVariables);
  writer.Put(address);
  std::string reply;
  VariablesInfo info;
  if (!Ask(writer.bytes(), reply)) return info;
  WireReader reader(reply);
  reader.Get(info);
  return reader.complete() ? info : VariablesInfo();
}

UnitInfo DwarfClient::ReadUnit(uint32_t number) {
  WireWriter writer;
  writer.Put(DwarfCommand::kUnit);
  writer.Put(number);
  std::string reply;
  UnitInfo info;
  if (!Ask(writer.bytes(), reply)) return info;
  WireReader reader(reply);
  reader.Get(info);
  reader.Get(problems_);
  return reader.complete() ? info : UnitInfo();
}

bool DwarfClient::HasMd5(const std::string& path, const std::array<uint8_t, 16>& md5) {
  WireWriter writer;
  writer.Put(DwarfCommand::kCheck);
  writer.Put(path);
  writer.Put(md5);
  std::string reply;
  return Ask(writer.bytes(), reply) && WireReader(reply).Get<bool>();
}

}  // namespace flowback::symbols
