// SPDX-License-Identifier: MIT
// Numbers of the perf.data format: magic, record types, flag bits, header features. Readers and
// writers share them. Sources: perf_event_open(2) and perf.data-file-format.txt of the Linux tree.
#pragma once

#include <cstddef>
#include <cstdint>

namespace flowback::perf {

inline constexpr char kMagic[] = "PERFILE2";         // little-endian host, little-endian file
inline constexpr char kForeignMagic[] = "2ELIFREP";  // written by a big-endian machine: all
                                                     // numbers but the trace's are swapped
inline constexpr char kMagicVersion1[] = "PERFFILE";

inline constexpr uint64_t kFileHeaderSize = 104;
inline constexpr uint64_t kFileHeaderSizeWithoutFeatures = 72;
inline constexpr uint64_t kPipeHeaderSize = 16;
inline constexpr uint64_t kSectionSize = 16;  // offset and size, 64 bits each
inline constexpr uint64_t kRecordHeaderSize = 8;
inline constexpr uint64_t kMinAttrSize = 64;       // perf_event_attr's first published size
inline constexpr uint64_t kAuxtraceSize = 48;      // PERF_RECORD_AUXTRACE without its data
inline constexpr uint64_t kAuxtraceAlignment = 8;  // perf pads AUX data with zeros to this

enum RecordType : uint32_t {
#define FLOWBACK_PERF_RECORD(constant, number, name) constant = number,
#include "capture/formats/perf_records/perf_records.def"
#undef FLOWBACK_PERF_RECORD
};

// perf_event_header::misc; the meaning of the high bits depends on the record's type.
inline constexpr uint16_t kMiscCpuModeMask = 7;
inline constexpr uint16_t kMiscKernel = 1;
inline constexpr uint16_t kMiscGuestKernel = 4;
inline constexpr uint16_t kMiscGuestUser = 5;
inline constexpr uint16_t kMiscMmapData = 1 << 13;   // MMAP: not executable
inline constexpr uint16_t kMiscCommExec = 1 << 13;   // COMM: by execve
inline constexpr uint16_t kMiscSwitchOut = 1 << 13;  // SWITCH, SWITCH_CPU_WIDE
inline constexpr uint16_t kMiscSwitchOutPreempt = 1 << 14;
inline constexpr uint16_t kMiscMmapBuildId = 1
                                             << 14;  // MMAP2: build-id instead of device and inode
inline constexpr uint16_t kMiscBuildIdSize = 1 << 15;  // build-id table: size byte is valid

// perf_event_attr::sample_type.
inline constexpr uint64_t kSampleIp = 1 << 0;
inline constexpr uint64_t kSampleTid = 1 << 1;
inline constexpr uint64_t kSampleTime = 1 << 2;
inline constexpr uint64_t kSampleAddr = 1 << 3;
inline constexpr uint64_t kSampleRead = 1 << 4;
inline constexpr uint64_t kSampleCallchain = 1 << 5;
inline constexpr uint64_t kSampleId = 1 << 6;
inline constexpr uint64_t kSampleCpu = 1 << 7;
inline constexpr uint64_t kSamplePeriod = 1 << 8;
inline constexpr uint64_t kSampleStreamId = 1 << 9;
inline constexpr uint64_t kSampleRaw = 1 << 10;
inline constexpr uint64_t kSampleBranchStack = 1 << 11;
inline constexpr uint64_t kSampleRegsUser = 1 << 12;
inline constexpr uint64_t kSampleStackUser = 1 << 13;
inline constexpr uint64_t kSampleWeight = 1 << 14;
inline constexpr uint64_t kSampleDataSource = 1 << 15;
inline constexpr uint64_t kSampleIdentifier = 1 << 16;
inline constexpr uint64_t kSampleTransaction = 1 << 17;
inline constexpr uint64_t kSampleRegsIntr = 1 << 18;
inline constexpr uint64_t kSamplePhysicalAddress = 1 << 19;
inline constexpr uint64_t kSampleAux = 1 << 20;
inline constexpr uint64_t kSampleCgroup = 1 << 21;
inline constexpr uint64_t kSampleDataPageSize = 1 << 22;
inline constexpr uint64_t kSampleCodePageSize = 1 << 23;
inline constexpr uint64_t kSampleWeightStruct = 1 << 24;

// perf_event_attr::branch_sample_type: which branches, and what a stack holds beside its entries.
inline constexpr uint64_t kBranchUser = 1 << 0;
inline constexpr uint64_t kBranchKernel = 1 << 1;
inline constexpr uint64_t kBranchHypervisor = 1 << 2;
inline constexpr uint64_t kBranchAny = 1 << 3;
inline constexpr uint64_t kBranchCallStack = 1 << 11;
inline constexpr uint64_t kBranchHardwareIndex = 1 << 17;
inline constexpr uint64_t kBranchCounters = 1 << 19;
inline constexpr uint64_t kBranchEntrySize = 24;

// perf_event_attr's bit field at byte 40.
inline constexpr uint64_t kAttrExcludeUser = 1 << 4;
inline constexpr uint64_t kAttrExcludeKernel = 1 << 5;
inline constexpr uint64_t kAttrSampleIdAll = 1 << 18;
inline constexpr uint64_t kAttrUseClockId = 1 << 25;

// perf_event_attr::read_format: what each counter value of a sample comes with.
inline constexpr uint64_t kReadTimeEnabled = 1 << 0;
inline constexpr uint64_t kReadTimeRunning = 1 << 1;
inline constexpr uint64_t kReadId = 1 << 2;
inline constexpr uint64_t kReadGroup = 1 << 3;
inline constexpr uint64_t kReadLost = 1 << 4;

inline constexpr uint32_t kTypeTracepoint = 2;  // perf_event_attr::type

// Places in perf_event_attr; older recorders' may end before them.
inline constexpr size_t kBranchSampleTypeAt = 72;
inline constexpr size_t kRegsUserAt = 80;
inline constexpr size_t kClockIdAt = 92;
inline constexpr size_t kRegsIntrAt = 96;

inline constexpr uint64_t kEventUpdateName = 2;     // EVENT_UPDATE's type: a name
inline constexpr uint64_t kMaxCallchain = 1 << 16;  // more is damage
inline constexpr uint16_t kKsymbolUnregister = 1;   // KSYMBOL's flags

// PERF_RECORD_AUX flags.
inline constexpr uint64_t kAuxTruncated = 0x01;
inline constexpr uint64_t kAuxOverwrite = 0x02;
inline constexpr uint64_t kAuxPartial = 0x04;
inline constexpr uint64_t kAuxCollision = 0x08;

inline constexpr uint32_t kProtExec = 4;  // MMAP2's prot

// PERF_RECORD_AUXTRACE_INFO's type.
inline constexpr uint32_t kAuxtraceIntelPt = 1;

// Places in the private array of an Intel PT AUXTRACE_INFO, in 64-bit units.
enum PtInfo : size_t {
  kPtPmuType,
  kPtTimeShift,
  kPtTimeMult,
  kPtTimeZero,
  kPtCapUserTimeZero,
  kPtTscBit,
  kPtNoRetCompBit,
  kPtHaveSchedSwitch,
  kPtSnapshotMode,
  kPtPerCpuMmaps,
  kPtMtcBit,
  kPtMtcFreqBits,
  kPtTscCtcNumerator,
  kPtTscCtcDenominator,
  kPtCycBit,
  kPtMaxNonturboRatio,
  kPtFilterLength,  // the filter's text follows, padded to 64-bit units
  kPtFilterText,
};

// Optional header features: bit numbers, in the order of their sections after the data.
enum Feature : unsigned {
  kFeatureTracingData = 1,
  kFeatureBuildId = 2,
  kFeatureHostname = 3,
  kFeatureOsRelease = 4,
  kFeatureVersion = 5,
  kFeatureArch = 6,
  kFeatureCpuCount = 7,
  kFeatureCpuDescription = 8,
  kFeatureCpuid = 9,
  kFeatureCommandLine = 11,
  kFeatureEventDescriptions = 12,
  kFeatureAuxtrace = 18,
  kFeatureCompressed = 27,
  kFeatureClockData = 29,
  // Our recorder's own, far from perf's, which passes over what it doesn't know.
  kFeatureProcessEnds = 192,
};
inline constexpr unsigned kFeatureBits = 256;

// What a recording that is a folder holds: the file of records, the copy of the kernel's code.
inline constexpr const char* kFolderData = "data";
inline constexpr const char* kFolderKernel = "kcore_dir";

}  // namespace flowback::perf
