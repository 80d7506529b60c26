// SPDX-License-Identifier: MIT
// Packets that have come but wait for others before they mean something.
//
// A FUP gives its address to the packets before it that wait for one (a PTW, a MODE.TSX ...). Or it
// is where an interrupt or another asynchronous transfer left the flow; the next TIP has the
// target. A MODE.Exec waits for the next TIP, TIP.PGE or FUP, whichever comes first.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "decode/pt/packets/packet.h"
#include "flowback/model/execution.h"

namespace flowback::pt {

class PacketCompound {
 public:
  // A packet that waits for the FUP with its address.
  struct Waiting {
    TraceEvent event;
    bool must_reach = true;    // the address lies ahead on the walk; else it only informs
    bool takes_fup = true;     // the FUP is this packet's alone; else it may begin a transfer too
    bool abort = false;        // a transaction abort: a TIP follows the FUP
    bool transaction = false;  // a MODE.TSX
    bool in_transaction = false;
  };
  struct Transfer {
    uint64_t from = 0;
    bool aborts = false;  // a transaction
    // Events of packets that only name `from`, to which the current code does not lead.
    std::vector<TraceEvent> events = {};
  };
  // What a FUP does beside giving its address to those that wait.
  struct FupUse {
    bool binds_mode = false;
    bool begins_transfer = false;
    bool aborts = false;  // ... of a transaction
  };

  // Nothing waits.
  bool empty() const { return !transfer_ && waiting_.empty() && !mode_; }
  // Something waits that a FUP may end.
  bool awaits_fup() const { return !waiting_.empty() || mode_.has_value(); }
  // A packet waits for its FUP.
  bool fup_is_due() const { return !waiting_.empty(); }
  // All but the MODE.Exec, which waits on.
  void Clear() {
    waiting_.clear();
    transfer_.reset();
  }

  void Wait(const Waiting& packet) { waiting_.push_back(packet); }
  std::vector<Waiting> TakeWaiting() { return std::exchange(waiting_, {}); }

  void BeginTransfer(Transfer transfer) { transfer_ = transfer; }
  bool in_transfer() const { return transfer_.has_value(); }
  // REQUIRES: in_transfer(). The event is handed on with its end.
  void TellWithTransfer(const TraceEvent& event) { transfer_->events.push_back(event); }
  // REQUIRES: in_transfer().
  Transfer EndTransfer() { return *std::exchange(transfer_, std::nullopt); }

  void SetMode(const ModeExec& packet) { mode_ = packet; }
  const std::optional<ModeExec>& mode() const { return mode_; }
  std::optional<ModeExec> TakeMode() { return std::exchange(mode_, std::nullopt); }

  // Returns what the FUP at hand does. `followed_by_tip` says whether a TIP or TIP.PGD is the next
  // packet about the flow. The function asks only where the answer matters, because an answer takes
  // a look at the packets ahead.
  template <class Ask>
  FupUse UseOfFup(const Ask& followed_by_tip) const {
    FupUse use;
    bool taken = false;
    for (const Waiting& packet : waiting_) {
      taken |= packet.takes_fup;
      use.aborts |= packet.abort;
    }
    // A MODE.Exec before the FUP means that CLI, STI or POPF changed the interrupt flag; the FUP
    // names the next instruction. The MODE.Exec of a transfer stands between its FUP and its TIP.
    // So a TIP behind MODE.Exec and FUP belongs to a later branch.  [SDM "MODE Packets"]
    use.binds_mode = mode_ && !taken && !use.aborts;
    use.begins_transfer =
        !taken && (waiting_.empty() ? !use.binds_mode : use.aborts || followed_by_tip());
    return use;
  }
  // While the flow is lost: whether execution stands where the FUP says. Not where its packet only
  // informs of a place, nor where that packet is not known.
  template <class Ask>
  bool FupTellsPlace(const Ask& followed_by_tip) const {
    bool taken = false;
    for (const Waiting& packet : waiting_) {
      if (packet.must_reach) return true;
      taken |= packet.takes_fup;
    }
    return !taken && (mode_.has_value() || followed_by_tip());
  }

  // All that it consists of, for a state to be written and read.
  template <class T, class Use>
  static void Parts(T& of, Use use) {
    auto& [waiting, transfer, mode] = of;
    use(waiting, transfer, mode);
  }

 private:
  std::vector<Waiting> waiting_;
  std::optional<Transfer> transfer_;
  std::optional<ModeExec> mode_;
};

}  // namespace flowback::pt
