// SPDX-License-Identifier: MIT
// `monitor why`: the chain of instructions that gave a register or memory its value.
#include <fmt/format.h>

#include <string>

#include "base/path_text.h"
#include "decode/instruction/disassemble.h"
#include "replay/gdb/gdb_server.h"
#include "replay/values/chain_words.h"
#include "replay/writers/text/printable.h"

namespace flowback::gdb {
namespace {

using values::ChainLink;

// The innermost line of the source, of an inlined function too.
std::string LineText(Session& session, const AddressSpace& space, uint64_t address) {
  const SourcePlace place = session.lines().Find(space, address);
  if (!place.known() || place.frames.front().line == 0) return "";
  return fmt::format(" ({}:{})", Printable(LastPart(place.frames.front().file)),
                     place.frames.front().line);
}

}  // namespace

std::string GdbServer::MonitorWhy(const std::string& words) {
  const MachineThread thread = view_.machine().At(general());
  const CodeMode mode = thread.instruction.mode;
  const auto question = ValueQuestion::In(words, mode);
  const auto names = GeneralRegisters(mode);
  if (!question)
    return fmt::format(
        "flowback: why takes a register, such as {}, or an address, such as 0x7ffe0010\n",
        names.empty() ? "pc" : names.front());
  const auto at = view_.past() == nullptr ? std::nullopt : view_.past()->At(thread);
  if (!at)
    return fmt::format(
        "flowback: no value is proven here. Values follow from a core dump (--core), of the last "
        "{} instructions before it.\n",
        PastValues::kMostInstructions);
  if (at->history.contradiction())
    return "flowback: the core dump does not fit to the flow, so nothing follows from it: another "
           "process may have written to the memory of this one\n";
  const values::ValueChain chain = question->Why(*at);
  std::string text;
  Disassembler disassembler;
  for (const ChainLink& link : chain.links) {
    const values::PathInstruction& one = at->history.path().instructions[link.instruction];
    MachineThread there;
    there.pc = one.address;
    there.instruction.space = at->space;
    text += fmt::format("#{} {}{}: {}: {}\n", at->first + link.instruction, view_.PlaceText(there),
                        LineText(view_.session(), *at->space, one.address),
                        disassembler.Text({one.bytes.data(), one.length}, one.address, one.mode),
                        values::GaveWords(link));
  }
  return text + fmt::format("The chain ends here: {}.\n", values::EndWords(chain.end));
}

}  // namespace flowback::gdb
