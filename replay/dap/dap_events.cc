// SPDX-License-Identifier: MIT
// Sends the client the current program and threads, if they changed since the last stop. Going
// backward over its begin, a thread goes as it comes going forward.
#include <algorithm>

#include "replay/dap/dap_server.h"

namespace flowback::dap {
namespace {

// Whether the thread's flow has begun at the moment and has not ended, by the index: nothing is
// decoded for it. A thread that waits in the kernel to the end is there, too.
bool IsThere(const gdb::MachineView& view, const IndexedThread& thread) {
  const uint64_t order = view.machine().moment().order;
  const auto has_time = [](uint64_t tsc) { return tsc != 0; };
  const auto first = std::ranges::find_if(thread.shares, has_time, &FlowShare::first_tsc);
  if (first == thread.shares.end()) return true;
  uint64_t last = 0;
  for (const FlowShare& share : thread.shares) last = std::max(last, share.last_tsc);
  // Before an instruction, the order is its time and one more.
  if (order <= first->first_tsc) return false;
  return last == 0 || order <= last + 1 || !view.HasExited(thread.tid);
}

}  // namespace

void DapServer::TellChanges() {
  TellProgram();
  ReplayedMachine& machine = opened_->view.machine();
  for (size_t thread = 0; thread < machine.size(); ++thread) {
    const bool is_there =
        thread == machine.current() || IsThere(opened_->view, machine.thread(thread));
    if (is_there == opened_->there.contains(thread)) continue;
    SendEvent("thread", {{"reason", is_there ? "started" : "exited"},
                         {"threadId", opened_->view.NumberOf(thread).tid}});
    if (is_there)
      opened_->there.insert(thread);
    else
      opened_->there.erase(thread);
  }
}

// An exec makes the process another program.
void DapServer::TellProgram() {
  const gdb::MachineView& view = opened_->view;
  const size_t thread = view.machine().current();
  const CursorInstruction at = view.machine().At(thread).instruction;
  if (at.space == opened_->space) return;
  opened_->space = at.space;
  std::string program = view.ProgramFile();
  if (program.empty() || program == opened_->program) return;
  SendEvent("process", {{"name", program},
                        {"systemProcessId", view.NumberOf(thread).pid},
                        {"isLocalProcess", false},
                        {"startMethod", "launch"},
                        {"pointerSize", TraitsOf(at.mode).bits}});
  opened_->program = std::move(program);
}

}  // namespace flowback::dap
