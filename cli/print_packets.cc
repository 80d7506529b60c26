// SPDX-License-Identifier: MIT
// `decode --as packets`: `OFFSET NAME PAYLOAD`, offsets in hexadecimal without 0x.
//
// Reading packets is fast, putting them into words is not. One thread reads; batches of packets,
// each with the Last IP that is its own, are printed on several.
#include <fmt/compile.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <iterator>
#include <vector>

#include "cli/json.h"
#include "cli/listings.h"
#include "cli/ordered_pipeline.h"
#include "cli/packet_walk.h"
#include "decode/pt/clock.h"

namespace flowback::cli {
namespace {

struct PacketBatch {
  struct Entry {
    uint64_t offset = 0;
    uint64_t size = 0;
    uint64_t last_ip = 0;  // before the packet
    pt::Packet packet;
  };
  struct Loss {
    size_t before = 0;  // the entry that it comes before
    DataLoss loss;
  };
  std::vector<Entry> entries;
  std::vector<Loss> losses;
  std::string text;

  size_t size() const { return entries.size() + losses.size(); }
  void Clear() {
    entries.clear();
    losses.clear();
    text.clear();
  }
};

// Renders batches; any thread.
class PacketText {
 public:
  PacketText(const Stream& stream, bool json) : stream_(stream), json_(json) {}

  void Render(PacketBatch& batch) const {
    auto loss = batch.losses.begin();
    for (size_t i = 0; i <= batch.entries.size(); ++i) {
      for (; loss != batch.losses.end() && loss->before == i; ++loss)
        AppendLoss(batch.text, loss->loss);
      if (i < batch.entries.size()) AppendPacket(batch.text, batch.entries[i]);
    }
  }

 private:
  void AppendPacket(std::string& out, const PacketBatch::Entry& entry) const {
    pt::LastIp last_ip;
    last_ip.Set(entry.last_ip);
    const std::string payload = Describe(entry.packet, &last_ip);
    if (json_) {
      JsonLine line(out);
      line.Text("type", "packet").Number("stream", stream_.index);
      line.Number("offset", entry.offset).Number("size", entry.size);
      line.Text("packet", NameOf(entry.packet)).Text("payload", payload).End();
    } else {
      fmt::format_to(std::back_inserter(out), FMT_COMPILE("{:08x} {}{}{}\n"), entry.offset,
                     NameOf(entry.packet), payload.empty() ? "" : " ", payload);
    }
  }

  void AppendLoss(std::string& out, const DataLoss& loss) const {
    if (!json_) {
      out += "# " + LossText(loss) + '\n';
      return;
    }
    JsonLine line(out);
    line.Text("type", "loss").Number("stream", stream_.index);
    line.Text("cause", Name(loss.cause)).Number("offset", loss.begin);
    line.Number("bytes", loss.bytes());
    line.Text("detail", loss.detail).Text("remedy", Remedy(loss.cause)).End();
  }

  const Stream& stream_;
  bool json_;
};

class PacketPrinter {
 public:
  PacketPrinter(const Stream& stream, const PrintSettings& settings, const PacketPlan& plan,
                Output& output)
      : stream_(stream),
        settings_(settings),
        clock_(*settings.config),
        text_(stream, settings.json),
        pipeline_(plan.threads, WindowOf(plan), WorkOrder::kAny,
                  {.work =
                       [this](PacketBatch& batch, size_t) {
                         if (!closed_) text_.Render(batch);
                       },
                   .deliver =
                       [this, &output](PacketBatch& batch) {
                         output.Write(batch.text);
                         closed_ = output.closed();
                       }}),
        batch_(pipeline_.Take()) {}

  bool Packet(size_t offset, size_t size, const pt::Packet& packet) {
    clock_.OnAny(packet);
    const uint64_t last_ip = last_ip_.value();
    Follow(packet, last_ip_);
    if (!Selected()) return true;
    batch_->entries.push_back({offset, size, last_ip, packet});
    return MaybeSend();
  }

  bool Loss(LossCause cause, size_t begin, size_t end) {
    DataLoss loss{.cause = cause, .begin = begin, .end = end, .tsc = clock_.tsc(), .detail = {}};
    loss.detail = Bytes8(begin, end);
    settings_.losses->Add(loss);
    batch_->losses.push_back({batch_->entries.size(), std::move(loss)});
    return MaybeSend();
  }

  void Finish() {
    Send();
    pipeline_.Finish();
  }

 private:
  // The first batches are small, so that the first lines are out at once.
  static constexpr size_t kFirstSize = 128;
  static constexpr size_t kFullSize = 4096;

  // With one thread there is nothing to wait for.
  static size_t WindowOf(const PacketPlan& plan) {
    if (plan.threads == 1) return 1;
    constexpr size_t kMostUseful = 48;
    return plan.window != 0 ? plan.window
                            : std::min<size_t>(2 * size_t{plan.threads} + 2, kMostUseful);
  }

  bool MaybeSend() {
    if (batch_->size() >= full_) Send();
    return !closed_;
  }
  void Send() {
    full_ = std::min(2 * full_, kFullSize);
    pipeline_.Add(std::move(batch_));
    batch_ = pipeline_.Take();
    batch_->Clear();
  }

  bool Selected() const {
    if (settings_.all_times) return true;
    const uint64_t tsc = clock_.tsc();
    return tsc != 0 && settings_.span.Contains(settings_.clock->Value(tsc));
  }

  std::string Bytes8(size_t begin, size_t end) const {
    std::array<uint8_t, 8> bytes{};
    const size_t size =
        StreamWindow(stream_.bytes, stream_.joined)
            .Copy(begin, std::span(bytes).first(std::min(end - begin, bytes.size())));
    return fmt::format("{:02x}{}", fmt::join(bytes.begin(), bytes.begin() + size, " "),
                       end - begin > size ? " ..." : "");
  }

  const Stream& stream_;
  const PrintSettings& settings_;
  pt::LastIp last_ip_;
  pt::Clock clock_;
  PacketText text_;
  std::atomic<bool> closed_ = false;
  size_t full_ = kFirstSize;
  OrderedPipeline<PacketBatch> pipeline_;
  std::unique_ptr<PacketBatch> batch_;
};

}  // namespace

void PrintPackets(const StreamOwner& owner, const PrintSettings& settings, const PacketPlan& plan,
                  Output& output) {
  if (settings.thread_headers && !settings.json)
    output.Write(fmt::format("# stream {}: {}, {} bytes\n", owner.stream->index, owner.label,
                             owner.stream->bytes.size()));
  PacketPrinter printer(*owner.stream, settings, plan, output);
  PacketWalk(
      *owner.stream, settings.config->cpu,
      [&](size_t offset, size_t size, const pt::Packet& packet) {
        return printer.Packet(offset, size, packet);
      },
      [&](LossCause cause, size_t begin, size_t end) { return printer.Loss(cause, begin, end); })
      .Run();
  printer.Finish();
}

}  // namespace flowback::cli
