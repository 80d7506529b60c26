// SPDX-License-Identifier: MIT
#include "cli/reading/spike_moment.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "cli/options/arguments.h"

namespace flowback::cli {
namespace {

constexpr std::string_view kPrefix = "spike:";

// Without it no instance has a number.
Status CheckCache(const std::string& words, const OpenedRecording& opened) {
  const SessionOptions& options = opened.Session::options();
  std::string why;
  if (options.search.cache.empty()) why = "--no-cache";
  if (!options.index) why = "--no-index";
  if (options.engine != "native") why = "--engine " + options.engine;
  if (why.empty()) return {};
  return Fail(Error(ErrorCode::kUsage,
                    fmt::format("{}: the cache has the instances' numbers, and {} leaves it out",
                                words, why))
                  .Remedy(fmt::format("leave {} out", why)));
}

Error NoNumber(const std::string& option, const std::string& word) {
  return Error(ErrorCode::kUsage, fmt::format("{}: can't understand '{}'", option, word))
      .Remedy(option + (NamesSpike(word) ? " spike:1 (the slowest), spike:2, ..."
                                         : " 1 (the slowest), 2, ..."));
}

Error TooFew(const std::string& option, const std::string& word, const LastSpikes& spikes) {
  if (spikes.slow.empty())
    return Error(ErrorCode::kUsage,
                 fmt::format("{} {}: the last `spikes` of the recording found no slow instance of "
                             "{}",
                             option, word, spikes.region))
        .Remedy("`flowback spikes` with --over p99, or of another function");
  return Error(ErrorCode::kUsage,
               fmt::format("{} {}: the last `spikes` of the recording {} {} slow instance{} of {}",
                           option, word,
                           spikes.slow.size() == LastSpikes::kMost ? "has kept the" : "found",
                           spikes.slow.size(), spikes.slow.size() == 1 ? "" : "s", spikes.region))
      .Remedy(fmt::format("a number from 1 to {}", spikes.slow.size()));
}

}  // namespace

bool NamesSpike(const std::string& word) { return word.starts_with(kPrefix); }

Result<NamedSpike> FindSpike(const std::string& option, const std::string& word,
                             const OpenedRecording& opened) {
  const auto number = ParseNumber(NamesSpike(word) ? word.substr(kPrefix.size()) : word);
  if (!number || *number == 0) return Fail(NoNumber(option, word));
  if (Status status = CheckCache(option + " " + word, opened); !status) return Fail(status.error());
  Result<LastSpikes> spikes =
      LoadLastSpikes(opened.recording(), opened.CacheFor(CachedResult::kIndex));
  if (!spikes) return Fail(spikes.error());
  if (*number > spikes->slow.size()) return Fail(TooFew(option, word, *spikes));
  NamedSpike spike{.number = *number,
                   .all = spikes->slow.size(),
                   .region = std::move(spikes->region),
                   .instance = spikes->slow[*number - 1]};
  for (const StreamOwner& owner : opened.threads().owners())
    if (spike.instance.IsOf(owner)) spike.thread = &owner;
  if (spike.thread != nullptr) return spike;
  return Fail(Error(ErrorCode::kUsage,
                    fmt::format("{} {}: the instance is thread {}'s, which is not among the chosen "
                                "threads",
                                option, word, spike.instance.tid))
                  .Remedy(fmt::format("--tid {}", spike.instance.tid)));
}

}  // namespace flowback::cli
