// SPDX-License-Identifier: MIT
#include "cli/decode/decode_kinds.h"

#include <fmt/format.h>

namespace flowback::cli {
namespace {

constexpr char kThreadFields[] = "comm,pid,tid,cpu,time";

constexpr Kind kKinds[] = {
    {"instructions", &MakeInstructionPrinter, "comm,tid,cpu,time,ip,sym,symoff,dso,insn",
     ",ip,insn,bytes,sym,symoff,dso,srcline,flags", true},
    {"lines", &MakeLinePrinter, "comm,tid,cpu,time,sym,srcline,source",
     ",ip,sym,dso,srcline,source", true, WorkOrder::kOneByOne},
    {"blocks", &MakeBlockPrinter, "", ",srcline"},
    {"branches", &MakeBranchPrinter, "", ""},
    {"calls", &MakeCallPrinter, "comm,tid,cpu,time", ",srcline", true, WorkOrder::kOneByOne, true,
     true},
    {"events", &MakeEventPrinter, "time", ""},
    {"samples", &MakeSamplePrinter, "time", "", false, WorkOrder::kOneByOne},
    {"packets", nullptr, "", ""},
    {"digest", nullptr, "", ""},
    {"summary", nullptr, "", ""},
};

// A line between those of other threads names its thread and time.
std::string UsualFields(const Kind& kind, bool by_time) {
  return std::string(by_time && !kind.has_layout ? "tid,time" : kind.default_fields);
}

}  // namespace

Result<const Kind*> FindKind(const std::string& name) {
  std::string all;
  for (const Kind& kind : kKinds) {
    if (kind.name == name) return &kind;
    all += (all.empty() ? "" : ", ") + std::string(kind.name);
  }
  return Fail(Error(ErrorCode::kUsage, fmt::format("decode: no kind '{}'", name))
                  .Remedy("--as with one of " + all));
}

bool HasUsualLayout(const Kind& kind, const std::string& words, const Fields& fields) {
  if (!kind.has_layout || words.empty()) return kind.has_layout;
  const Result<Fields> usual = Fields::Parse(std::string(kind.default_fields));
  return Fields::Change(words) && usual && fields.Include(*usual);
}

Result<Fields> FieldsFor(const Kind& kind, const std::string& words, bool by_time) {
  const std::string usual = UsualFields(kind, by_time);
  if (words.empty()) return Fields::Changed(usual, "");
  Result<Fields> fields =
      Fields::Change(words) ? Fields::Changed(usual, words) : Fields::Parse(words);
  if (!fields) return fields;
  const std::string allowed =
      kind.make_printer == nullptr ? "" : kThreadFields + std::string(kind.own_fields);
  if (Status status = fields->CheckOnly(words, allowed, kind.name); !status)
    return Fail(status.error());
  return fields;
}

Status CheckByTime(const Kind& kind, bool by_time) {
  if (!by_time || kind.make_printer != nullptr) return {};
  std::string fitting;
  for (const Kind& each : kKinds)
    if (each.make_printer != nullptr)
      fitting += (fitting.empty() ? "" : ", ") + std::string(each.name);
  return Fail(
      Error(ErrorCode::kUsage, fmt::format("decode --as {}: --by-time does not apply", kind.name))
          .Remedy("use it with --as " + fitting));
}

}  // namespace flowback::cli
