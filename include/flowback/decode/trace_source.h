// SPDX-License-Identifier: MIT
// A kind of trace: it answers all questions about its streams, so that no other code asks which
// hardware wrote them.
//
//   stream     |S-------S------------S-----S-------|    S: sync points, where decoding can begin
//   times       t0      t1           t2    t3           told there, or soon behind
//   pauses         |___|     |___|         |_|          tracing was off, or the flow was lost
//
// None of these needs the code. Index finds all of them in one pass over the bytes; the other
// functions read little to find one of them. With the code, an engine makes the flow (decoder.h).
//
// A new kind is a folder under decode/ and a row of decode/sources.def.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "flowback/base/error.h"
#include "flowback/model/execution.h"
#include "flowback/model/machine.h"
#include "flowback/model/recording.h"

namespace flowback {

class Decoder;
struct Pause;        // decode/stream_index.h
struct StreamIndex;  // decode/stream_index.h

// Part of a stream, half-open.
struct StreamRange {
  uint64_t begin = 0;
  uint64_t end = 0;
};

// What a stream is made of, as it was read: a packet, or bytes that can't be read.
struct TracePacket {
  uint64_t offset = 0;
  uint64_t size = 0;
  uint64_t tsc = 0;                 // the time after it, if known; 0: unknown
  std::optional<LossCause> lost{};  // why these bytes are no packet
};

// Some of them, in the order of the stream. Reading packets is fast, putting them into words is
// not: a batch is read by one thread, and may be put into words by another.
class PacketBatch {
 public:
  virtual ~PacketBatch() = default;
  virtual size_t size() const = 0;
  virtual const TracePacket& operator[](size_t i) const = 0;
  // REQUIRES of both: it is a packet.
  virtual std::string_view Name(size_t i) const = 0;  // "TIP.PGE"; lives forever
  virtual std::string Payload(size_t i) const = 0;    // may be empty
  virtual void Clear() = 0;
};

// The unit in which a source counts its trace: bytes, or records of `bytes` bytes each. Decoded
// units, padding and lost ones add up to a stream's units (the law of the account).
struct TraceUnit {
  std::string_view plural = "bytes";
  uint64_t bytes = 1;

  uint64_t In(const Stream& stream) const { return (stream.bytes.size() + bytes - 1) / bytes; }
};

// A sample that a stream holds: records of what a thread did up to a moment.
struct StreamSample {
  uint64_t offset = 0;   // of its first record
  uint64_t records = 0;  // of executed flow
  uint64_t tsc = 0;      // when it was taken; 0: unknown
  uint64_t order = 0;    // the same, for mappings alone, which may be ordered without a clock
  uint64_t ip = 0;       // where it was taken, as its recorder says; 0: unknown
  uint64_t to = 0;       // where its newest record led; 0: unknown
};

// How a recording was made, as its source puts it.
struct TraceSetting {
  std::string_view key;                                // in JSON; empty: not there
  std::string_view name;                               // in text; empty: not there
  std::string text;                                    // "on"
  std::variant<std::monostate, bool, uint64_t> value;  // for JSON; monostate: null
};

// Goes through all packets of a stream. The packets and the unreadable bytes together cover the
// whole stream. Belongs to one thread.
class PacketReader {
 public:
  virtual ~PacketReader() = default;
  virtual std::unique_ptr<PacketBatch> NewBatch() const = 0;
  // Adds up to `count` more. False: that was the end of the stream. REQUIRES: one of NewBatch's.
  virtual bool Read(PacketBatch& batch, size_t count) = 0;
};

// Serves one recording, which must outlive it. Any thread may use it.
class TraceSource {
 public:
  virtual ~TraceSource() = default;

  // As the user reads it: "Intel PT".
  virtual std::string_view Name() const = 0;
  virtual TraceUnit Unit() const { return {}; }
  // Its streams hold samples: between them is flow that was not recorded (UnknownFlow), so counts
  // are lower bounds, and no call's begin or end need be there.
  virtual bool samples() const { return false; }
  // Why no flow follows from its streams, which then have no decoder; empty: it does.
  virtual std::string_view WhyNoFlow() const { return {}; }
  // The settings it was recorded with, those that are known in text and all in JSON, in their
  // order.
  virtual std::vector<TraceSetting> Settings() const = 0;
  // Returns all settings as numbers. Equal settings give equal numbers: they are a key for cached
  // results.
  virtual std::vector<uint64_t> SettingNumbers() const = 0;
  // Returns everything that one pass over the stream's bytes finds. Calls `visit`, if not empty,
  // for each pause as it comes, until it returns false.
  virtual std::shared_ptr<const StreamIndex> Index(
      const Stream& stream, const std::function<bool(const Pause&)>& visit = {}) const = 0;
  // Returns the last sync point before `offset` from which decoding gives the same flow behind
  // `offset` as the whole stream does; 0: the stream's begin.
  virtual uint64_t SyncPointBefore(const Stream& stream, uint64_t offset) const = 0;
  // Returns the first time from a sync point (the range's begin) on, but not across a gap; 0: no
  // packet has one soon.
  virtual uint64_t FirstTime(const Stream& stream, StreamRange range) const = 0;
  // Returns the first and the last time in the stream; zeros: none.
  virtual TscInterval Times(const Stream& stream) const = 0;
  // Calls `visit` for each pause, in stream order; the stream's begin, its end and each gap are
  // some. Stops when it returns false. Returns false if the stream has no times. REQUIRES:
  // time.known().
  virtual bool VisitPauses(const Stream& stream, const TimeConversion& time,
                           const std::function<bool(const Pause&)>& visit) const = 0;
  virtual std::unique_ptr<PacketReader> Packets(const Stream& stream) const = 0;

  // An engine that decodes such streams, by name; "": the usual one. Errors: kUsage for an unknown
  // name, kUnsupported for one left out of this build.
  virtual Result<std::unique_ptr<Decoder>> MakeDecoder(std::string_view engine) const = 0;

  // For sources of samples: calls `visit` for each sample that ends in the range, in stream order.
  virtual void VisitSamples(const Stream& /*stream*/, StreamRange /*range*/,
                            const std::function<void(const StreamSample&)>& /*visit*/) const {}
  // Samples of the recording without any record: they are in no stream.
  virtual uint64_t EmptySamples() const { return 0; }
};

// Wraps the source and keeps the index of each stream once it was requested or its pauses were
// visited, for its own lifetime. Later requests for the stream's pauses and times use the index, so
// its bytes are read once. Costs the memory of the indexes. Any thread may use it.
std::shared_ptr<const TraceSource> KeepIndexes(std::shared_ptr<const TraceSource> source);

// The source of the recording's kind. Errors: kUnsupported when this build does not have it.
Result<std::shared_ptr<const TraceSource>> OpenSource(const Recording& recording);

// From a sync point on the flow is right at once. Its times also depend on earlier packets: how
// fast the thread runs, at which frequency. This many bytes of a stream contain all of that.
inline constexpr uint64_t kRunUp = uint64_t{1} << 20;

// Returns the part of a stream that can lie in a span of time, which two functions of a time-stamp
// define: all flow before `begin` is too early, and all that begins behind `end` too late. `begin`
// is a sync point from which decoding gives the same flow as the whole stream does, `run_up` or
// more bytes ahead of it. Reads little of the stream, however long it is.
StreamRange RangeOfTimes(const TraceSource& source, const Stream& stream,
                         const std::function<bool(uint64_t tsc)>& too_early,
                         const std::function<bool(uint64_t tsc)>& too_late,
                         uint64_t run_up = kRunUp);

}  // namespace flowback
