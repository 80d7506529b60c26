// SPDX-License-Identifier: MIT
// `decode --as packets`: `OFFSET NAME PAYLOAD`, offsets in hexadecimal without 0x.
//
// Reading packets is fast, putting them into words is not. One thread reads; batches of packets are
// printed on several.
#include <fmt/compile.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <iterator>
#include <memory>

#include "base/ordered_pipeline.h"
#include "cli/decode/listings.h"
#include "cli/reading/losses.h"
#include "flowback/decode/trace_source.h"
#include "replay/writers/text/json.h"

namespace flowback::cli {
namespace {

struct PacketPage {
  std::unique_ptr<PacketBatch> packets;
  std::string text;
};

// Renders batches; any thread.
class PacketText {
 public:
  PacketText(const Stream& stream, const PrintSettings& settings)
      : stream_(stream), settings_(settings) {}

  void Render(PacketPage& page) const {
    const PacketBatch& packets = *page.packets;
    for (size_t i = 0; i < packets.size(); ++i) {
      if (packets[i].lost)
        AppendLoss(page.text, LossOf(packets[i]));
      else if (IsSelected(packets[i]))
        AppendPacket(page.text, packets, i);
    }
  }

  DataLoss LossOf(const TracePacket& unread) const {
    const uint64_t end = unread.offset + unread.size;
    return {.cause = *unread.lost,
            .begin = unread.offset,
            .end = end,
            .tsc = unread.tsc,
            .detail = Bytes8(unread.offset, end)};
  }

 private:
  bool IsSelected(const TracePacket& packet) const {
    if (settings_.times.all) return true;
    return packet.tsc != 0 &&
           settings_.times.span.Contains(settings_.trace.clock->Value(packet.tsc));
  }

  void AppendPacket(std::string& out, const PacketBatch& packets, size_t i) const {
    const std::string payload = packets.Payload(i);
    if (settings_.layout.json) {
      JsonLine line(out);
      line.Text("type", "packet").Number("stream", stream_.index);
      line.Number("offset", packets[i].offset).Number("size", packets[i].size);
      line.Text("packet", packets.Name(i)).Text("payload", payload).End();
    } else {
      fmt::format_to(std::back_inserter(out), FMT_COMPILE("{:08x} {}{}{}\n"), packets[i].offset,
                     packets.Name(i), payload.empty() ? "" : " ", payload);
    }
  }

  void AppendLoss(std::string& out, const DataLoss& loss) const {
    if (!settings_.layout.json) {
      out += "# " + LossText(loss) + '\n';
      return;
    }
    JsonLine line(out);
    line.Text("type", "loss").Number("stream", stream_.index);
    line.Text("cause", Name(loss.cause)).Number("offset", loss.begin);
    line.Number("bytes", loss.bytes());
    line.Text("detail", loss.detail).Text("remedy", Remedy(loss.cause)).End();
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
};

class PacketPrinter {
 public:
  PacketPrinter(const Stream& stream, const PrintSettings& settings, const PacketPlan& plan,
                Output& output)
      : settings_(settings),
        reader_(settings.trace.source->Packets(stream)),
        text_(stream, settings),
        pipeline_(plan.threads, InFlightOf(plan), WorkOrder::kAny,
                  {.work =
                       [this](PacketPage& page, size_t) {
                         if (!closed_) text_.Render(page);
                       },
                   .deliver =
                       [this, &output](PacketPage& page) {
                         output.Write(page.text);
                         closed_ = output.closed();
                       }}) {}

  void Run() {
    // The first batches are small, so that the first lines are out at once.
    constexpr size_t kFirst = 128;
    constexpr size_t kFull = 4096;
    bool more = true;
    for (size_t count = kFirst; more && !closed_; count = std::min(2 * count, kFull)) {
      std::unique_ptr<PacketPage> page = pipeline_.Take();
      page->text.clear();
      if (page->packets == nullptr) page->packets = reader_->NewBatch();
      page->packets->Clear();
      more = reader_->Read(*page->packets, count);
      TakeLosses(*page->packets);
      pipeline_.Add(std::move(page));
    }
    pipeline_.Finish();
  }

 private:
  // With one thread there is nothing to wait for.
  static size_t InFlightOf(const PacketPlan& plan) {
    if (plan.threads == 1) return 1;
    constexpr size_t kMostUseful = 48;
    return plan.in_flight != 0 ? plan.in_flight
                               : std::min<size_t>(2 * size_t{plan.threads} + 2, kMostUseful);
  }

  void TakeLosses(const PacketBatch& packets) {
    for (size_t i = 0; i < packets.size(); ++i)
      if (packets[i].lost) settings_.losses->Add(text_.LossOf(packets[i]));
  }

  const PrintSettings& settings_;
  std::unique_ptr<PacketReader> reader_;
  PacketText text_;
  std::atomic<bool> closed_ = false;
  OrderedPipeline<PacketPage> pipeline_;
};

}  // namespace

void PrintPackets(const StreamOwner& owner, const PrintSettings& settings, const PacketPlan& plan,
                  Output& output) {
  if (settings.layout.thread_headers && !settings.layout.json)
    output.Write(fmt::format("# stream {}: {}, {} bytes\n", owner.stream->index, owner.label,
                             owner.stream->bytes.size()));
  PacketPrinter(*owner.stream, settings, plan, output).Run();
}

}  // namespace flowback::cli
