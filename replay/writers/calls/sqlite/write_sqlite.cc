// SPDX-License-Identifier: MIT
// Each call as a row of a SQLite database, for SQL and for the scripts that view what perf exports.
#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "replay/writers/calls/exported_paths.h"
#include "replay/writers/calls/sqlite/calls_database.h"
#include "replay/writers/writers.h"

namespace flowback {
namespace {

// Number 0 is not known, and call path 1 is the root of all.
constexpr uint64_t kFirst = 1;
constexpr uint64_t kRootPath = 1;

std::string BuildIdOf(const std::string& object, const RecordingCode& code) {
  for (const ImageStatus& image : code.images())
    if (image.path == object && image.usable)
      return (image.found.empty() ? image.recorded : image.found).ToHex();
  return {};
}

class SqliteCalls final : public CallsTeller {
 public:
  SqliteCalls(CallsDatabase& database, TextSink& sink)
      : database_(database), sink_(sink), paths_(false, sink) {}

  void OnThread(const ExportedThread& thread) override {
    paths_.OnThread(thread);
    first_call_ += calls_;
    calls_ = 0;
    open_.clear();
    thread_ = thread.number + kFirst;
    const auto [process, is_new] = processes_.try_emplace(thread.pid, thread_);
    database_.AddThread(thread_, process->second, thread.pid, thread.tid);
    database_.AddComm(thread_, thread.name, thread_);
  }
  void OnEnter(const ExportedEntry& entry) override {
    calls_ = std::max(calls_, entry.call + 1);
    const uint64_t above = PathId(paths_.at());
    paths_.OnEnter(entry);
    open_.push_back({first_call_ + entry.call + kFirst, above});
  }
  void OnExit(const ExportedExit& exit) override {
    const Open call = open_.back();
    open_.pop_back();
    if (!exit.goes_on)
      database_.AddCall({.id = call.id,
                         .thread = thread_,
                         .comm = thread_,
                         .path = PathId(paths_.at()),
                         .begin = exit.begin,
                         .end = exit.time,
                         .parent_path = call.parent_path,
                         .parent = open_.empty() ? 0 : open_.back().id,
                         .instructions = exit.instructions,
                         .self = exit.self});
    paths_.OnExit(exit);
  }
  void OnLoss(std::string_view cause, uint64_t time) override {
    database_.AddLoss(thread_, time, cause);
  }
  bool Done() const override { return sink_.closed(); }

  // Writes what the calls refer to.
  void Finish(const std::vector<ExportedFunction>& functions, const RecordingCode& code) {
    std::unordered_map<std::string, uint64_t> objects;
    for (size_t i = 0; i < functions.size(); ++i) {
      const ExportedFunction& function = functions[i];
      uint64_t object = 0;
      if (!function.object.empty()) {
        const auto [at, is_new] = objects.try_emplace(function.object, objects.size() + kFirst);
        object = at->second;
        if (is_new) database_.AddDso(object, function.object, BuildIdOf(function.object, code));
      }
      database_.AddSymbol(i + kFirst, object, function.entry_ip, function.name);
    }
    const std::vector<ExportedPath>& paths = paths_.paths();
    for (size_t i = 0; i < paths.size(); ++i) {
      if (paths[i].IsRoot()) continue;
      const bool is_cut = paths[i].function == ExportedPath::kCut;
      database_.AddPath(PathId(static_cast<uint32_t>(i)), PathId(paths[i].parent),
                        is_cut ? 0 : paths[i].function + kFirst,
                        is_cut ? 0 : functions[paths[i].function].entry_ip);
    }
  }

 private:
  struct Open {
    uint64_t id = 0;
    uint64_t parent_path = 0;
  };

  uint64_t PathId(uint32_t path) const {
    return paths_.paths()[path].IsRoot() ? kRootPath : path + kRootPath + 1;
  }

  CallsDatabase& database_;
  TextSink& sink_;
  ExportedPaths paths_;
  std::unordered_map<int32_t, uint64_t> processes_;  // the first thread of each
  uint64_t first_call_ = 0;                          // calls of the threads before
  // Of the thread.
  uint64_t calls_ = 0;
  uint64_t thread_ = 0;
  std::vector<Open> open_;
};

}  // namespace

Status WriteSqlite(const CallsExport& input, TextSink& sink) {
  const Result<std::unique_ptr<CallsDatabase>> database = CallsDatabase::Make();
  if (!database) return Fail(database.error());
  SqliteCalls sqlite(**database, sink);
  ExportedCalls calls(input, sqlite);
  const Status status = calls.Tell();
  sqlite.Finish(calls.functions(), input.session.code());
  const Status written = (*database)->MoveTo(sink);
  return status ? written : status;
}

}  // namespace flowback
