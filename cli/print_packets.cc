// SPDX-License-Identifier: MIT
// `decode --as packets`: `OFFSET NAME PAYLOAD`, offsets in hexadecimal without 0x.
#include <fmt/format.h>

#include <iterator>

#include "cli/json.h"
#include "cli/listings.h"
#include "cli/packet_walk.h"
#include "decode/pt/clock.h"

namespace flowback::cli {
namespace {

class PacketPrinter {
 public:
  PacketPrinter(const StreamOwner& owner, const PrintSettings& settings, Output& output)
      : owner_(owner), settings_(settings), output_(output), clock_(*settings.config) {}

  bool Packet(size_t offset, size_t size, const pt::Packet& packet) {
    clock_.OnAny(packet);
    if (std::holds_alternative<pt::Psb>(packet)) last_ip_.Reset();
    const std::string payload = Describe(packet, &last_ip_);
    if (!Selected()) return true;
    std::string& out = output_.buffer();
    if (settings_.json) {
      JsonLine line(out);
      line.Text("type", "packet").Number("stream", owner_.stream->index);
      line.Number("offset", offset).Number("size", size);
      line.Text("packet", NameOf(packet)).Text("payload", payload).End();
    } else {
      fmt::format_to(std::back_inserter(out), "{:08x} {}{}{}\n", offset, NameOf(packet),
                     payload.empty() ? "" : " ", payload);
    }
    output_.Commit();
    return !output_.closed();
  }

  bool Loss(LossCause cause, size_t begin, size_t end) {
    DataLoss loss{.cause = cause, .begin = begin, .end = end, .tsc = clock_.tsc(), .detail = {}};
    loss.detail = Bytes8(begin, end);
    settings_.losses->Add(loss);
    if (settings_.json) {
      JsonLine line(output_.buffer());
      line.Text("type", "loss").Number("stream", owner_.stream->index);
      line.Text("cause", Name(cause)).Number("offset", begin).Number("bytes", end - begin);
      line.Text("detail", loss.detail).Text("remedy", Remedy(cause)).End();
    } else {
      output_.Write("# " + LossText(loss) + '\n');
    }
    return !output_.closed();
  }

 private:
  bool Selected() const {
    if (settings_.all_times) return true;
    const uint64_t tsc = clock_.tsc();
    return tsc != 0 && settings_.span.Contains(settings_.clock->Value(tsc));
  }

  std::string Bytes8(size_t begin, size_t end) const {
    const Bytes bytes = Slice(owner_.stream->bytes, begin, std::min<size_t>(end - begin, 8));
    return fmt::format("{:02x}{}", fmt::join(bytes.begin(), bytes.end(), " "),
                       end - begin > bytes.size() ? " ..." : "");
  }

  const StreamOwner& owner_;
  const PrintSettings& settings_;
  Output& output_;
  pt::LastIp last_ip_;
  pt::Clock clock_;
};

}  // namespace

void PrintPackets(const StreamOwner& owner, const PrintSettings& settings, Output& output) {
  PacketPrinter printer(owner, settings, output);
  if (settings.thread_headers && !settings.json)
    output.Write(fmt::format("# stream {}: {}, {} bytes\n", owner.stream->index, owner.label,
                             owner.stream->bytes.size()));
  PacketWalk(
      *owner.stream, settings.config->cpu,
      [&](size_t offset, size_t size, const pt::Packet& packet) {
        return printer.Packet(offset, size, packet);
      },
      [&](LossCause cause, size_t begin, size_t end) { return printer.Loss(cause, begin, end); })
      .Run();
}

}  // namespace flowback::cli
