// SPDX-License-Identifier: MIT
// Moves a cursor's position to the nearest element that is looked for. What the index knows of a
// share, or a segment of its items, is asked first, so that little is decoded.
#pragma once

#include <cstdint>

#include "flowback/replay/flow_index.h"
#include "replay/flow/cursor_position.h"

namespace flowback {

// Moves to the next or previous execution of the instruction at `address`. False: no execution lies
// there, and the position stays.
bool ToNextAt(CursorPosition& position, const FlowIndex& index, uint64_t address);
bool ToPreviousAt(CursorPosition& position, const FlowIndex& index, uint64_t address);

// Moves to the next or previous element of a kind, branch, or first instruction of a block run.
// False: none is left, and the position is at the end or at the first element.
bool ToNextOf(CursorPosition& position, CursorPosition::Kind kind);
bool ToPreviousOf(CursorPosition& position, CursorPosition::Kind kind);
bool ToNextBranch(CursorPosition& position);
bool ToPreviousBranch(CursorPosition& position);
bool ToNextRun(CursorPosition& position);
bool ToPreviousRun(CursorPosition& position);

// To the first element whose time is not before `tsc`.
void ToTime(CursorPosition& position, uint64_t tsc);

}  // namespace flowback
