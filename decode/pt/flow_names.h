// SPDX-License-Identifier: MIT
// The neutral parts of flow (decode/flow), by their own names.
#pragma once

#include "decode/flow/block_graph.h"
#include "decode/flow/block_lists.h"
#include "decode/flow/block_stretch.h"
#include "decode/flow/code_view.h"
#include "decode/flow/step_buffer.h"

namespace flowback::pt {

using flow::BlockGraph;
using flow::BlockLists;
using flow::BlockStretch;
using flow::CodeView;
using flow::GraphCache;
using flow::HasNoCode;
using flow::NeedsNoPacket;
using flow::Node;
using flow::NodeInfo;
using flow::NodeKind;
using flow::RunOf;
using flow::StepBuffer;

}  // namespace flowback::pt
