// SPDX-License-Identifier: MIT
// The packet kinds: a new one is a struct in this folder, its header below, and its name in the
// list. Two packets that claim the same bytes do not compile.
#pragma once

#include "decode/pt/packets/bare.h"
#include "decode/pt/packets/context.h"
#include "decode/pt/packets/event_trace.h"
#include "decode/pt/packets/ip_packets.h"
#include "decode/pt/packets/mnt.h"
#include "decode/pt/packets/mode.h"
#include "decode/pt/packets/opcode_table.h"
#include "decode/pt/packets/pebs.h"
#include "decode/pt/packets/power.h"
#include "decode/pt/packets/psb.h"
#include "decode/pt/packets/ptw.h"
#include "decode/pt/packets/time_packets.h"
#include "decode/pt/packets/tnt.h"

namespace flowback::pt {

using Packets = PacketList<  //
    Pad,                     //
    ShortTnt,                //
    LongTnt,                 //
    Tip,                     //
    TipPge,                  //
    TipPgd,                  //
    Fup,                     //
    Psb,                     //
    PsbEnd,                  //
    ModeExec,                //
    ModeTsx,                 //
    Pip,                     //
    Vmcs,                    //
    Tsc,                     //
    Tma,                     //
    Mtc,                     //
    Cyc,                     //
    Cbr,                     //
    Ovf,                     //
    TraceStop,               //
    Mnt,                     //
    Ptw,                     //
    ExStop,                  //
    Mwait,                   //
    Pwre,                    //
    Pwrx,                    //
    Bbp,                     //
    Bip,                     //
    Bep,                     //
    Cfe,                     //
    Evd,                     //
    Trig>;

static_assert(OpcodesAreDistinct(Packets{}), "two packets claim the same opcode bytes");

// One packet of any kind.
using Packet = Packets::Variant;

}  // namespace flowback::pt
