// SPDX-License-Identifier: MIT
#include <sys/wait.h>

#include <nlohmann/json.hpp>

#include "base/hex.h"
#include "cli/crash/crash_text.h"
#include "cli/text/json_value.h"
#include "cli/text/process_ends.h"
#include "replay/crash/crash_threads.h"
#include "replay/values/chain_words.h"

namespace flowback::cli {
namespace {

using Json = nlohmann::ordered_json;

Json HexOrNull(const std::optional<uint64_t>& value) {
  return value ? Json(Hex(*value)) : Json(nullptr);
}

Json PlaceJson(const CrashPlace& place) {
  return {{"address", Hex(place.address)},
          {"function", TextOrNull(place.function)},
          {"offset", place.function.empty() ? Json(nullptr) : Json(place.offset)},
          {"object", TextOrNull(place.object)},
          {"object_offset", place.object.empty() ? Json(nullptr) : Json(Hex(place.in_object))},
          {"file", TextOrNull(place.file)},
          {"line", place.line == 0 ? Json(nullptr) : Json(place.line)}};
}

Json InstructionJson(const CrashInstruction& one) {
  return {{"number", one.number}, {"text", one.text}, {"place", PlaceJson(one.place)}};
}

template <class Range, class Make>
Json ListOf(const Range& range, const Make& make) {
  Json list = Json::array();
  for (const auto& each : range) list.push_back(make(each));
  return list;
}

Json WhyJson(const CrashWhy& why) {
  return {
      {"of", why.name},
      {"value", HexOrNull(why.value)},
      {"chain", ListOf(why.links,
                       [](const CrashLink& link) -> Json {
                         Json json = InstructionJson(link.instruction);
                         json["gave"] = values::GaveWords(link.link);
                         json["value"] = HexOrNull(link.link.value);
                         json["memory"] = HexOrNull(link.link.address);
                         return json;
                       })},
      {"ends_because", values::EndWords(why.end)},
      {"memory", TextOrNull(why.memory)},
      {"stored_by", why.stored ? Json{{"tid", why.stored->tid},
                                      {"number", why.stored->instruction.number},
                                      {"proven", why.stored->is_proven},
                                      {"place", PlaceJson(why.stored->instruction.place)},
                                      {"caller", why.stored->caller ? PlaceJson(*why.stored->caller)
                                                                    : Json(nullptr)}}
                               : Json(nullptr)},
      {"before_ns", why.before_ns ? Json(*why.before_ns) : Json(nullptr)}};
}

Json CoreStackJson(const CoreStack& stack) {
  const bool differs = stack.end == CoreStack::End::kDisagree;
  return {{"frames", ListOf(stack.addresses, [](uint64_t address) { return Hex(address); })},
          {"agrees", stack.compared},
          {"first_difference", differs ? Json(stack.compared) : Json(nullptr)},
          {"ends_because", Name(stack.end)}};
}

Json FreesJson(const CrashFrees& frees) {
  return {{"block", HexOrNull(frees.block)},
          {"same_block", frees.is_same_block},
          {"calls", ListOf(frees.calls, [](const CrashFree& one) -> Json {
             return {{"number", one.number},
                     {"block", HexOrNull(one.block)},
                     {"place", PlaceJson(one.place)}};
           })}};
}

// Where a thread stood in the dump of a process that ran on.
Json LivingJson(const CrashReport& report, Session& session) {
  return ListOf(report.living->threads, [&](const DumpedThread& thread) -> Json {
    const bool is_known = thread.fit == DumpFit::kProven || thread.fit == DumpFit::kOnce;
    return {{"tid", thread.tid},
            {"fit", Name(thread.fit)},
            {"number", is_known ? Json(thread.number) : Json(nullptr)},
            {"at_end", thread.is_end},
            {"system_call", thread.call ? Json(*thread.call) : Json(nullptr)},
            {"place", PlaceJson(PlaceOf(session, thread.space, thread.counter, false))}};
  });
}

Json StayJson(const CrashReport& report, Session& session) {
  if (!report.stay) return nullptr;
  const uint64_t tsc = report.stay->tsc;
  return {{"place", PlaceJson(report.stay->place)},
          {"instructions", report.stay->instructions},
          {"since", tsc == 0 ? Json(nullptr) : Json(session.clock().Value(tsc))}};
}

class ThreadJson {
 public:
  explicit ThreadJson(Session& session) : session_(session) {}

  Json Of(const CrashThread& thread) {
    const char* state = thread.state == ThreadState::kEnded      ? "ended"
                        : thread.state == ThreadState::kNotBegun ? "not-begun"
                                                                 : "running";
    return {
        {"tid", thread.tid},
        {"name", TextOrNull(thread.name)},
        {"state", state},
        {"time", thread.tsc == 0 ? Json(nullptr) : Json(session_.clock().Value(thread.tsc))},
        {"place", PlaceJson(thread.place)},
        {"stack", ListOf(FramesOf(session_, thread.stack), PlaceJson)},
        {"calls", ListOf(thread.calls, [this](const LastCall& call) { return CallJson(call); })},
        {"system_calls",
         ListOf(thread.system_calls,
                [this](const CrashSystemCall& call) { return SystemCallJson(call); })},
        {"holds",
         ListOf(thread.holds, [this](const CrashMutex& mutex) { return MutexJson(mutex); })},
        {"waits_for", thread.waits_for ? MutexJson(*thread.waits_for) : Json(nullptr)},
        {"lines", ListOf(thread.lines, PlaceJson)},
        {"instructions", ListOf(thread.instructions, InstructionJson)}};
  }

 private:
  Json CallJson(const LastCall& call) {
    return {{"number", call.number},
            {"instructions", call.end_number - call.number},
            {"time", call.tsc == 0 ? Json(nullptr) : Json(session_.clock().Value(call.tsc))},
            {"depth", call.depth},
            {"returned", call.has_returned},
            {"left_by_jump", call.was_left},
            {"entry", PlaceJson(PlaceOf(session_, call.space, call.entry, false))}};
  }

  Json MutexJson(const CrashMutex& mutex) {
    return {{"address", Hex(mutex.address)},
            {"name", TextOrNull(mutex.name)},
            {"owner", mutex.owner},
            {"locked_in", mutex.site == 0
                              ? Json(nullptr)
                              : PlaceJson(PlaceOf(session_, mutex.space, mutex.site, false))}};
  }
  Json SystemCallJson(const CrashSystemCall& call) {
    return {{"number", call.number},
            {"time", call.tsc == 0 ? Json(nullptr) : Json(session_.clock().Value(call.tsc))},
            {"name", TextOrNull(call.name)},
            {"text", CallWords(call)},
            {"returned", call.has_returned},
            {"result", call.result ? Json(*call.result) : Json(nullptr)},
            {"place", PlaceJson(PlaceOf(session_, call.space, call.address, false))}};
  }

  Session& session_;
};

}  // namespace

std::string CrashJson(const CrashReport& report, Session& session) {
  const bool killed = report.end && WasKilled(*report.end);
  Json json = {
      {"schema", "flowback.crash/1"},
      {"input", session.options().InputName()},
      {"sentence", FirstSentence(report, session)},
      {"kind", Name(report.kind)},
      {"signal", killed ? Json(SignalName(WTERMSIG(report.end->wait_status))) : Json(nullptr)},
      {"exit_status",
       report.end && !killed ? Json(WEXITSTATUS(report.end->wait_status)) : Json(nullptr)},
      {"fault_address", HexOrNull(report.end ? report.end->fault_address : std::nullopt)},
      {"has_core", report.has_core},
      {"core_contradicts", report.core_contradicts}};
  json["hung"] = report.hung;
  json["dump"] = report.living ? LivingJson(report, session) : Json(nullptr);
  json["stay"] = StayJson(report, session);
  json["fault"] = report.fault ? InstructionJson(*report.fault) : Json(nullptr);
  json["missing_code"] = report.missing ? Json{{"file", TextOrNull(report.missing->file)},
                                               {"offset", HexOrNull(report.missing->offset)},
                                               {"why", TextOrNull(report.missing->why)}}
                                        : Json(nullptr);
  json["operands"] = ListOf(report.operands, [](const CrashOperand& operand) -> Json {
    return {{"name", operand.name},
            {"value", HexOrNull(operand.value)},
            {"is_address", operand.is_address}};
  });
  json["why"] = report.why ? WhyJson(*report.why) : Json(nullptr);
  json["cause"] = report.cause ? PlaceJson(*report.cause) : Json(nullptr);
  json["thrown"] = report.thrown ? PlaceJson(*report.thrown) : Json(nullptr);
  json["thrown_type"] = TextOrNull(report.thrown_type);
  json["message"] = TextOrNull(report.message);
  json["depth"] = report.depth;
  json["frees"] = report.kind == CrashKind::kHeap ? FreesJson(report.frees) : Json(nullptr);
  json["returned_last"] = ListOf(report.returned_last, [](const CrashSuspect& suspect) {
    Json place = PlaceJson(suspect.function);
    place["last_store"] = suspect.last_store ? PlaceJson(*suspect.last_store) : Json(nullptr);
    return place;
  });
  json["from_outside"] = report.from_outside;
  json["refused"] = report.refused;
  json["unexplained"] = report.doubt != SignalDoubt::kNone;
  json["core_stack"] = report.core_stack ? CoreStackJson(*report.core_stack) : Json(nullptr);
  json["recursion"] = report.recursion;
  json["deadlock"] =
      ListOf(report.deadlock, [&](size_t thread) -> Json { return report.threads[thread].tid; });
  ThreadJson threads(session);
  json["threads"] =
      ListOf(report.threads, [&](const CrashThread& thread) { return threads.Of(thread); });
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace flowback::cli
