// SPDX-License-Identifier: MIT
#include "cli/listing/listing.h"

#include <algorithm>
#include <atomic>
#include <vector>

#include "cli/listing/listing_part.h"

namespace flowback::cli {
namespace {

class SerialListing final : public Listing {
 public:
  SerialListing(PrinterMaker make_printer, const std::vector<StreamOwner>& owners,
                const PrintSettings& settings, Output& output)
      : owners_(owners), settings_(settings), output_(output), printer_(make_printer(settings)) {
    printer_->WriteTo(text_);
    printer_->Use(tools_);
  }

  void OnThreadBegin(const ThreadFlow&, size_t number) override {
    printer_->Begin(owners_[number]);
  }
  void OnStayBegin(const FlowPiece& stay) override { printer_->BeginPiece(*stay.stream); }
  void OnThreadEnd(const ThreadFlow&, size_t) override {
    printer_->End();
    Commit();
  }
  void Finish() override { Commit(); }
  void OnBlock(const BlockRun& run) override {
    printer_->OnBlock(run);
    MaybeCommit();
  }
  void OnBlocks(const BlockBatch& batch) override {
    if (!printer_->TakesBatches()) return ExecutionConsumer::OnBlocks(batch);
    printer_->OnBlocks(batch);
    MaybeCommit();
  }
  void OnEvent(const TraceEvent& event) override {
    printer_->OnEvent(event);
    MaybeCommit();
  }
  void OnLoss(const DataLoss& loss) override {
    if (settings_.ContainsLoss(loss)) settings_.losses->Add(loss);
    printer_->OnLoss(loss);
    MaybeCommit();
  }
  void OnUnknown(const UnknownFlow& unknown) override {
    printer_->OnUnknown(unknown);
    MaybeCommit();
  }
  bool Done() const override { return output_.closed(); }

 private:
  static constexpr size_t kEnough = 64 * 1024;
  static constexpr unsigned kItems = 512;  // items between two looks at the clock

  void MaybeCommit() {
    if (text_.text.size() >= kEnough || ++items_ >= kItems) Commit();
  }
  void Commit() {
    items_ = 0;
    output_.Write(text_.text);
    text_.Clear();
  }

  const std::vector<StreamOwner>& owners_;
  const PrintSettings& settings_;
  Output& output_;
  PrintTools tools_{settings_};
  ListingText text_;
  std::unique_ptr<FlowPrinter> printer_;
  unsigned items_ = 0;
};

// The decoder's items are kept in parts; printers on several threads, each with caches of its own,
// turn parts into text.
class ParallelListing final : public Listing {
 public:
  ParallelListing(const ListingPlan& plan, const std::vector<StreamOwner>& owners,
                  const PrintSettings& settings, Output& output)
      : owners_(owners),
        settings_(settings),
        output_(output),
        pipeline_(plan.threads, plan.in_flight, plan.order,
                  {.work = [this](Job& job, size_t worker) { Print(job, worker); },
                   .deliver = [this](Job& job) { Deliver(job); }}) {
    // Where lines depend on each other one printer prints them all.
    printers_.resize(plan.order == WorkOrder::kAny ? plan.threads : 1);
    for (Printer& printer : printers_) {
      printer.tools = std::make_unique<PrintTools>(settings);
      printer.printer = plan.make_printer(settings);
      printer.printer->Use(*printer.tools);
    }
    NewJob();
  }

  void OnThreadBegin(const ThreadFlow&, size_t number) override {
    owner_ = &owners_[number];
    stream_ = owner_->stream;
    job_->part.Begin(*owner_);
  }
  void OnStayBegin(const FlowPiece& stay) override {
    stream_ = stay.stream;
    job_->part.BeginPiece(*stream_);
  }
  void OnThreadEnd(const ThreadFlow&, size_t) override {
    job_->part.End();
    MaybeSend();
  }
  void Finish() override {
    Send();
    pipeline_.Finish();
  }
  void OnBlock(const BlockRun& run) override {
    job_->part.Add(run);
    MaybeSend();
  }
  void OnEvent(const TraceEvent& event) override {
    job_->part.Add(event);
    MaybeSend();
  }
  void OnLoss(const DataLoss& loss) override {
    if (settings_.ContainsLoss(loss)) settings_.losses->Add(loss);
    job_->part.Add(loss);
    MaybeSend();
  }
  void OnUnknown(const UnknownFlow& unknown) override {
    job_->part.Add(unknown);
    MaybeSend();
  }
  bool Done() const override { return closed_.load(std::memory_order_relaxed); }

 private:
  // The first parts are small, so that the first lines are out at once.
  static constexpr uint64_t kFirstWeight = 128;
  static constexpr uint64_t kFullWeight = 4096;

  struct Job {
    ListingPart part;
    ListingText text;
  };
  struct Printer {
    std::unique_ptr<PrintTools> tools;
    std::unique_ptr<FlowPrinter> printer;
  };

  void MaybeSend() {
    if (job_->part.weight() >= full_) Send();
  }
  void Send() {
    if (job_->part.empty()) return;
    full_ = std::min(2 * full_, kFullWeight);
    pipeline_.Add(std::move(job_));
    NewJob();
  }
  void NewJob() {
    job_ = pipeline_.Take();
    job_->text.Clear();
    job_->part.Restart(owner_, stream_);
  }

  void Print(Job& job, size_t worker) {
    if (Done()) return;
    FlowPrinter& printer = *printers_[printers_.size() == 1 ? 0 : worker].printer;
    printer.WriteTo(job.text);
    job.part.Print(printer);
  }
  void Deliver(Job& job) {
    output_.Write(job.text.text);
    if (output_.closed()) closed_.store(true, std::memory_order_relaxed);
  }

  const std::vector<StreamOwner>& owners_;
  const PrintSettings& settings_;
  Output& output_;
  std::vector<Printer> printers_;
  std::atomic<bool> closed_ = false;
  const StreamOwner* owner_ = nullptr;
  const Stream* stream_ = nullptr;
  std::unique_ptr<Job> job_;
  uint64_t full_ = kFirstWeight;
  OrderedPipeline<Job> pipeline_;  // its threads use all of the above
};

}  // namespace

std::unique_ptr<Listing> MakeListing(const ListingPlan& plan,
                                     const std::vector<StreamOwner>& owners,
                                     const PrintSettings& settings, Output& output) {
  if (plan.threads < 2)
    return std::make_unique<SerialListing>(plan.make_printer, owners, settings, output);
  ListingPlan whole = plan;
  // More would not make it faster, and hold more memory.
  constexpr size_t kMostUseful = 48;
  if (whole.in_flight == 0)
    whole.in_flight = std::min<size_t>(2 * size_t{plan.threads} + 2, kMostUseful);
  return std::make_unique<ParallelListing>(whole, owners, settings, output);
}

}  // namespace flowback::cli
