// SPDX-License-Identifier: MIT
#include "replay/samples/call_paths.h"

#include <algorithm>
#include <functional>
#include <tuple>
#include <utility>

#include "base/hex.h"
#include "base/path_text.h"
#include "flowback/decode/code_image.h"

namespace flowback {
namespace {

using Path = std::vector<std::string_view>;  // the outermost first

// The longest path; of deeper ones the innermost functions are kept. Stacks of a program are seldom
// so deep, those that follow junk are.
constexpr size_t kMostFunctions = 1000;
constexpr std::string_view kDeeper = "(deeper)";

// Samples come from the same places again and again: each is looked up once.
class FunctionNames {
 public:
  FunctionNames(StackNames& names, std::deque<std::string>& places)
      : names_(names), places_(places) {}

  // The innermost first.
  const std::vector<std::string_view>& Of(const StackFrame& frame) {
    const auto [known, is_new] = known_.try_emplace({frame.space, frame.address, frame.is_exact});
    if (is_new)
      for (const NamedFrame& named : names_.Of(frame))
        known->second.push_back(named.function.empty() ? PlaceOf(named, frame) : named.function);
    return known->second;
  }

 private:
  // Where it is in its file, as perf prints it for code without a name: object+offset.
  std::string_view PlaceOf(const NamedFrame& named, const StackFrame& frame) {
    const uint64_t at = frame.is_exact ? frame.address : frame.address - 1;
    const CodeMapping* mapping = frame.space == nullptr ? nullptr : frame.space->Find(at);
    if (mapping == nullptr || named.object.empty()) return kNoFunction;
    return places_.emplace_back(std::string(LastPart(named.object)) + "+" +
                                Hex(frame.address - mapping->FileBase()));
  }

  StackNames& names_;
  std::deque<std::string>& places_;
  std::map<std::tuple<const AddressSpace*, uint64_t, bool>, std::vector<std::string_view>> known_;
};

// Reuses the path's memory.
void PathOf(const SampledStack& stack, FunctionNames& names, Path& path) {
  path.clear();
  for (const SampledFrame& frame : stack.frames) {
    if (frame.is_doubted) continue;
    const std::vector<std::string_view>& functions = names.Of(NameableFrame(frame, stack));
    path.insert(path.end(), functions.begin(), functions.end());
    if (path.size() > kMostFunctions) {
      path.resize(kMostFunctions);
      path.push_back(kDeeper);
      break;
    }
  }
  std::ranges::reverse(path);
}

void Add(const Path& path, PathNode& root) {
  PathNode* node = &root;
  ++node->samples;
  for (const std::string_view function : path) {
    node = &node->called[function];
    ++node->samples;
  }
  ++node->self;
}

using Children = std::vector<const std::pair<const std::string_view, PathNode>*>;

Children ByCount(const std::map<std::string_view, PathNode>& nodes) {
  Children sorted;
  for (const auto& each : nodes) sorted.push_back(&each);
  std::ranges::stable_sort(sorted, std::ranges::greater(),
                           [](const auto* each) { return each->second.samples; });
  return sorted;
}

// Calls visit(path, node) for each node, callers ahead of what they called. Paths may be thousands
// deep: so it keeps its own stack.
void ForEachNode(std::string_view comm, const PathNode& root, const VisitPath& visit) {
  struct Level {
    Children children;
    size_t next = 0;
  };
  Path path = {comm};
  visit(path, root);
  std::vector<Level> levels;
  levels.push_back({ByCount(root.called)});
  while (!levels.empty()) {
    Level& level = levels.back();
    if (level.next == level.children.size()) {
      levels.pop_back();
      path.pop_back();
      continue;
    }
    const auto& [name, node] = *level.children[level.next++];
    path.push_back(name);
    visit(path, node);
    levels.push_back({ByCount(node.called)});
  }
}

}  // namespace

CallPaths SumPaths(SampledThreads& threads, StackNames& names) {
  CallPaths paths;
  Path path;
  FunctionNames functions(names, paths.places);
  for (const SampledThread& thread : threads.threads())
    threads.ForEachStack(thread, thread.samples.size(), [&](size_t i, const SampledStack& stack) {
      ++paths.samples;
      paths.without += stack.frames.empty() ? 1 : 0;
      paths.disagreeing += stack.Disagreements() == 0 ? 0 : 1;
      paths.stitched += stack.stitch == SampledStack::Stitch::kStitched ? 1 : 0;
      paths.ambiguous += stack.stitch == SampledStack::Stitch::kAmbiguous ? 1 : 0;
      PathOf(stack, functions, path);
      Add(path, paths.comms[threads.CommOf(thread, *thread.samples[i])]);
      return true;
    });
  return paths;
}

void ForEachPath(const CallPaths& paths, const VisitPath& visit,
                 const std::function<bool()>& is_over) {
  for (const auto* comm : ByCount(paths.comms)) {
    ForEachNode(comm->first, comm->second, visit);
    if (is_over()) return;
  }
}

}  // namespace flowback
