// SPDX-License-Identifier: MIT
// Instructions and calls of each function as valgrind's callgrind writes them, for
// callgrind_annotate and KCachegrind. Calls are counted, and their instructions are exact.
//
//   fl=(2) /usr/bin/gzip        the functions of a file of code
//   fn=(3) deflate
//   0 123456                    its own instructions
//   cfn=(4) longest_match
//   calls=17 0
//   0 98765                     those of these calls, with all that they called
#include <fmt/format.h>

#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "replay/writers/calls/exported_calls.h"
#include "replay/writers/text/printable.h"
#include "replay/writers/writers.h"

namespace flowback {
namespace {

class CallgrindCalls final : public CallsTeller {
 public:
  struct Called {
    uint64_t times = 0;
    uint64_t instructions = 0;
  };
  struct Function {
    uint64_t self = 0;
    std::map<uint32_t, Called> called;
  };

  explicit CallgrindCalls(const TextSink& sink) : sink_(sink) {}

  void OnThread(const ExportedThread&) override { open_.clear(); }
  void OnEnter(const ExportedEntry& entry) override { open_.push_back(entry.function); }
  void OnExit(const ExportedExit& exit) override {
    open_.pop_back();
    if (exit.goes_on) return;
    functions[exit.function].self += exit.self;
    if (open_.empty()) return;
    Called& called = functions[open_.back()].called[exit.function];
    ++called.times;
    called.instructions += exit.instructions;
  }
  bool Done() const override { return sink_.closed(); }

  std::map<uint32_t, Function> functions;

 private:
  const TextSink& sink_;
  std::vector<uint32_t> open_;
};

// Names are given once; later their numbers stand for them. Each key has a number of its own:
// functions of one name in two files are two.
template <class Key>
class Names {
 public:
  std::string Of(const Key& key, const std::string& name) {
    const auto [at, is_new] = numbers_.try_emplace(key, numbers_.size() + 1);
    if (!is_new) return fmt::format("({})", at->second);
    return fmt::format("({}) {}", at->second, name);
  }

 private:
  std::unordered_map<Key, size_t> numbers_;
};

class CallgrindText {
 public:
  CallgrindText(const std::vector<ExportedFunction>& functions, TextSink& sink)
      : functions_(functions), sink_(sink) {}

  void Write(uint32_t number, const CallgrindCalls::Function& function) {
    out() += '\n';
    Name("", number);
    fmt::format_to(std::back_inserter(out()), "0 {}\n", function.self);
    for (const auto& [called, sums] : function.called) {
      Name("c", called);
      fmt::format_to(std::back_inserter(out()), "calls={} 0\n0 {}\n", sums.times,
                     sums.instructions);
    }
    sink_.Commit();
  }

 private:
  std::string& out() { return sink_.buffer(); }

  // Writes the function's object, source file (which is missing) and name: those of the current
  // one, or with the prefix "c" those of a called one.
  void Name(std::string_view prefix, uint32_t number) {
    const ExportedFunction& function = functions_[number];
    const std::string& object = function.object.empty() ? kUnknown : function.object;
    const std::string_view file = prefix.empty() ? "fl" : "cfi";
    fmt::format_to(std::back_inserter(out()), "{}ob={}\n{}={}\n{}fn={}\n", prefix,
                   objects_.Of(object, object), file, files_.Of(kUnknown, kUnknown), prefix,
                   names_.Of(number, function.name));
  }

  static inline const std::string kUnknown = "???";

  const std::vector<ExportedFunction>& functions_;
  TextSink& sink_;
  Names<std::string> objects_, files_;
  Names<uint32_t> names_;
};

}  // namespace

Status WriteCallgrind(const CallsExport& input, TextSink& sink) {
  CallgrindCalls sums(sink);
  ExportedCalls calls(input, sums);
  const Status status = calls.Tell();
  uint64_t all = 0;
  for (const auto& [number, function] : sums.functions) all += function.self;
  fmt::format_to(std::back_inserter(sink.buffer()),
                 "# callgrind format\nversion: 1\ncreator: flowback\ncmd: {}\npositions: line\n"
                 "events: Ir\nsummary: {}\n",
                 Printable(input.session.recording().machine.command_line), all);
  CallgrindText text(calls.functions(), sink);
  for (const auto& [number, function] : sums.functions) text.Write(number, function);
  fmt::format_to(std::back_inserter(sink.buffer()), "\ntotals: {}\n", all);
  sink.Commit();
  return status;
}

}  // namespace flowback
