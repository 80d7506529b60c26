// SPDX-License-Identifier: MIT
#include "replay/timeline/thread_times.h"

#include <algorithm>

#include "base/saturated.h"

namespace flowback {

Result<TimeAccounts> AccountTimes(const TimelineSources& sources) {
  Result<std::unique_ptr<Decoder>> decoder = sources.flow.make_decoder();
  if (!decoder) return Fail(decoder.error());
  Result<FlowAccounts> accounts =
      AccountFlow(sources.recording, sources.flow.inputs, **decoder, true);
  if (!accounts) return Fail(accounts.error());
  return std::move(accounts->times);
}

std::vector<const TimeAccount*> AccountsOf(const std::vector<const ThreadFlow*>& flows,
                                           const TimeAccounts& accounts) {
  std::map<int32_t, const TimeAccount*> by_tid;
  std::map<const Stream*, const TimeAccount*> by_stream;
  for (const TimeAccount& account : accounts.threads) {
    if (account.lifetime() == 0) continue;
    if (account.tid >= 0)
      by_tid[account.tid] = &account;
    else
      by_stream[account.stream] = &account;
  }
  const auto find = [](const auto& all, const auto& key) {
    const auto found = all.find(key);
    return found == all.end() ? nullptr : found->second;
  };
  std::vector<const TimeAccount*> found;
  for (const ThreadFlow* flow : flows) {
    const TimeAccount* account = nullptr;
    if (flow->tid >= 0)
      account = find(by_tid, flow->tid);
    else if (!flow->pieces.empty())
      account = find(by_stream, flow->pieces.front().stream);
    found.push_back(account);
  }
  return found;
}

TimeSpan LifeOf(const TimeAccount& account, const TimeSpan& wanted) {
  return {.begin = std::clamp(account.begin, wanted.begin, wanted.end),
          .end = std::clamp(account.end, wanted.begin, wanted.end)};
}

TimeSpan LivesOf(const std::vector<const TimeAccount*>& accounts, const TimeSpan& wanted) {
  TimeSpan all{.begin = ~uint64_t{0}, .end = 0};
  for (const TimeAccount* account : accounts) {
    if (account == nullptr) continue;
    const TimeSpan life = LifeOf(*account, wanted);
    all.begin = std::min(all.begin, life.begin);
    all.end = std::max(all.end, life.end);
  }
  return all.begin > all.end ? TimeSpan{.begin = 0, .end = 0} : all;
}

std::vector<bool> HaveStrips(const std::vector<const TimeAccount*>& accounts,
                             const TimelineOptions& options) {
  std::vector<bool> have(accounts.size());
  std::vector<std::pair<uint64_t, size_t>> lives;
  for (size_t i = 0; i < accounts.size(); ++i) {
    if (accounts[i] == nullptr) continue;
    const TimeSpan life = LifeOf(*accounts[i], options.span);
    if (life.begin < life.end) lives.emplace_back(~(life.end - life.begin), i);
  }
  std::ranges::sort(lives);
  for (size_t i = 0; i < std::min(lives.size(), options.most_strips); ++i)
    have[lives[i].second] = true;
  return have;
}

void FillTimes(const TimeAccount& account, const TimelineOptions& options, ThreadTimeline& thread) {
  const TimeSpan life = LifeOf(account, options.span);
  thread.begin = life.begin;
  thread.end = life.end;
  thread.causes = account.causes;
  thread.off_cpu_told = account.off_cpu_told;
  thread.condensed = account.spans->condensed;
  for (const ClassSpan& span : account.spans->spans) {
    const uint64_t begin = std::clamp(span.begin, life.begin, life.end);
    const uint64_t end = std::clamp(span.end, life.begin, life.end);
    thread.times[static_cast<size_t>(span.kind)] += end - begin;
    if (options.spans && begin < end) thread.spans.push_back(span);
  }
}

void LossSums::Add(const DataLoss& loss) {
  const int32_t tid = loss.stay == nullptr ? -1 : loss.stay->tid;
  const auto [known, added] = numbers_.try_emplace({tid, loss.cause, loss.code}, sums_.size());
  if (added)
    sums_.push_back({.tid = tid,
                     .cause = loss.cause,
                     .code = loss.code,
                     .ip = loss.last_ip,
                     .count = 0,
                     .bytes = 0});
  LossSum& sum = sums_[known->second];
  AddSaturated(sum.count, loss.count);
  sum.bytes += loss.bytes();
}

}  // namespace flowback
