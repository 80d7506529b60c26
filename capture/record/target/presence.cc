// SPDX-License-Identifier: MIT
#include "capture/record/target/presence.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "capture/record/target/process_maps.h"

namespace flowback::record {
namespace {

constexpr size_t kPageBytes = 4096;

}  // namespace

void PresenceTable::Enter(pid_t pid) {
  for (std::atomic<int32_t>& entry : executing) {
    int32_t none = 0;
    if (entry.compare_exchange_strong(none, pid)) return;
  }
}

void PresenceTable::Leave(pid_t pid) {
  for (std::atomic<int32_t>& entry : executing) {
    int32_t own = pid;
    entry.compare_exchange_strong(own, 0);
  }
}

std::set<pid_t> PresenceTable::Executing() {
  std::set<pid_t> result;
  for (std::atomic<int32_t>& entry : executing) {
    const pid_t pid = entry.load();
    if (pid == 0) continue;
    if (ThreadLives(pid, pid))
      result.insert(pid);
    else
      Leave(pid);
  }
  return result;
}

void ShowPresence(const PresenceTable& table, const std::string& folder) {
  const Descriptor page(open((folder + std::to_string(table.page)).c_str(), O_RDWR | O_CLOEXEC));
  // It stays mapped as long as the process has its memory.
  if (*page >= 0)
    static_cast<void>(mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, *page, 0));
}

PresencePage::PresencePage(PresenceTable& table)
    : page_(memfd_create("flowback-presence", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
  if (*page_ >= 0 && ftruncate(*page_, kPageBytes) == 0) table.page = *page_;
}

bool PresencePage::IsHeld() const {
  return fcntl(*page_, F_ADD_SEALS, F_SEAL_WRITE) != 0 && errno == EBUSY;
}

}  // namespace flowback::record
